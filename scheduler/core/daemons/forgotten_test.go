package daemons

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestDaemonsForgottenItemsAreNotSearchedAgain checks that after the records of a job's former shards were forgotten,
// only the items of its present shards are searched for records.
func TestDaemonsForgottenItemsAreNotSearchedAgain(t *testing.T) {
	t.Parallel()
	d := New(state.New(&step.Shared{}), nil, nil)
	for item := range 100 {
		d.update("my_job", item, func(*Runs) {})
	}
	d.forgetFrom("my_job", 2)
	if d.items["my_job"] != 2 || len(d.runs) != 2 {
		t.Errorf("%d items are searched for %d records, want 2 of each", d.items["my_job"], len(d.runs))
	}
	d.forgetFrom("my_job", 7)
	if d.items["my_job"] != 2 {
		t.Errorf("%d items are searched, want 2 as before", d.items["my_job"])
	}
}
