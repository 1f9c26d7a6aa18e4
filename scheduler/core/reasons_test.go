package core

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestSentencesOfEarlierReleases loads reasons that earlier releases stored as sentences. They must get their codes. A
// sentence that no code stands for must stay text.
func TestSentencesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.startWithCPUs(10)
	var stored []registry.Entry
	found := false
	for _, e := range s.entries() {
		if strings.HasPrefix(e.Path, store.PathExecution+"/") {
			found = true
			value := strings.Replace(string(e.Value), `"job":"my_job"`,
				`"job":"my_job","killReason":"lost by shutdown of the scheduler"`, 1)
			e.Value = []byte(strings.Replace(value, `"s":"LAUNCHING"`,
				`"s":"LAUNCHING","kr":"killed on request","ca":"exit status 3"`, 1))
		}
		stored = append(stored, e)
	}
	c := New(s.opt)
	if err := c.Load(s.now, Stored{Entries: stored}); err != nil || !found {
		t.Fatalf("the state has an execution: %v; loading it: %v", found, err)
	}
	for e := range c.executions.AllOpen() {
		shard := e.Shard(0)
		if !e.Kill().Is(reason.ServerStopped) || !shard.Kill().Is(reason.KilledOnRequest) ||
			!shard.Cause().Equal(reason.FromText("exit status 3")) {
			t.Errorf("the execution was loaded with %s, its shard as %+v", e.Kill(), shard)
		}
	}
	if c.executions.NumOpen() != 1 {
		t.Errorf("%d executions are open, want 1", c.executions.NumOpen())
	}
}
