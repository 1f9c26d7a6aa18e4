package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// TestCells: the cells are those of the requested executions, of that job alone.
func TestCells(t *testing.T) {
	t.Parallel()
	s, l := sandboxStage(t)
	id := s.execution(s.core.executions.Ref(l.TaskID).Exec.ID()).ExecutionID
	see := func(want map[string][]search.Cell, job string, ids ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.core.views.Cells(job, ids)); diff != "" {
			t.Error(diff)
		}
	}
	see(map[string][]search.Cell{id: {{State: "LAUNCHING", Attempt: 1, TaskID: l.TaskID}}}, "my_job", id, "none")
	s.update(l, cluster.Running, saysSandbox(t, runOf(l, "c-1")))
	waits := s.trigger()
	see(map[string][]search.Cell{id: {{State: "RUNNING", Attempt: 1, TaskID: l.TaskID}}, waits: {}}, "my_job", id,
		waits)
	s.update(l, cluster.Finished)
	ended := s.core.views.Cells("my_job", []string{id})[id][0]
	if ended.State != "FINISHED" || ended.DurationMillis == nil {
		t.Errorf("%+v", ended)
	}
	see(map[string][]search.Cell{}, "other", id)
}
