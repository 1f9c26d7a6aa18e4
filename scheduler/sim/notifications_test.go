package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// A step may make a notification that is due, and only then find another failure of the job. Both are in one commit, so
// the failure must be counted in the record for the next notification.
func TestFailuresAreReportedOrCounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		untold  []string
		further int // of the message
		record  int // of the record that is written with it
		tells   []string
		fails   bool
	}{
		{"all", []string{"a", "b"}, 1, 1, []string{"a", "b"}, false},
		{"one that came after the message is counted", []string{"a", "b"}, 0, 1, []string{"a"}, false},
		{"one is lost", []string{"a", "b"}, 0, 0, []string{"a"}, true},
		{"one of three is lost", []string{"a", "b", "c"}, 0, 1, []string{"a"}, true},
		{"people were notified, but the answer was lost", nil, 1, 1, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(Config{Seed: 1}, &tracer{})
			w.check.untold["job"] = tt.untold
			w.store.entries[pathNotification+"/job"] = registry.Entry{Value: fmt.Appendf(nil, `{"further":%d}`,
				tt.record)}
			l := &leader{w: w, term: w.store.term,
				out: outgoing{telling: map[string]bool{}, told: map[string]time.Duration{}}}
			tells := w.check.checkNotification(l,
				notifications.Other{Job: "job", Report: notifications.Report{Further: tt.further}})
			if !slices.Equal(tells, tt.tells) || (w.failure != nil) != tt.fails {
				t.Errorf("it tells of %v, want %v; %v, want a failure: %v", tells, tt.tells, w.failure, tt.fails)
			}
		})
	}
}
