package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// TestCells checks that Cells returns a cell for each launched shard of the requested executions, and leaves out
// executions of other jobs.
func TestCells(t *testing.T) {
	t.Parallel()
	s, l := sandboxStage(t)
	id := s.execution(s.core.executions.Ref(l.TaskID).Exec.ID()).ExecutionID
	expect := func(want map[string][]search.Cell, job string, ids ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.core.views.Cells(job, ids)); diff != "" {
			t.Error(diff)
		}
	}
	expect(map[string][]search.Cell{id: {{State: "LAUNCHING", Attempt: 1, TaskID: l.TaskID}}}, "my_job", id, "none")
	s.update(l, cluster.Running, withSandbox(t, sandboxOf(l, "c-1")))
	waiting := s.trigger()
	expect(map[string][]search.Cell{id: {{State: "RUNNING", Attempt: 1, TaskID: l.TaskID}}, waiting: {}}, "my_job", id,
		waiting)
	s.update(l, cluster.Finished)
	ended := s.core.views.Cells("my_job", []string{id})[id][0]
	if ended.State != "FINISHED" || ended.DurationMillis == nil {
		t.Errorf("after the end of the task its cell is %+v", ended)
	}
	expect(map[string][]search.Cell{}, "other", id)
}
