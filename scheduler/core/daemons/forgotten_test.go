package daemons

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestDaemonsForgottenItemsAreNotSearchedAgain: if a job has fewer shards than before, only the present items are
// searched for runs.
func TestDaemonsForgottenItemsAreNotSearchedAgain(t *testing.T) {
	t.Parallel()
	d := New(state.New(&step.Shared{}), nil, nil)
	for item := range 100 {
		d.update("my_job", item, func(*Runs) {})
	}
	d.forgetFrom("my_job", 2)
	if d.items["my_job"] != 2 || len(d.runs) != 2 {
		t.Errorf("items up to %d, %d records; want 2 of both", d.items["my_job"], len(d.runs))
	}
	d.forgetFrom("my_job", 7)
	if d.items["my_job"] != 2 {
		t.Errorf("items up to %d without a record; want 2", d.items["my_job"])
	}
}
