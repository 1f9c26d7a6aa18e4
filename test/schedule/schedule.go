// Package schedule parses crons for tests.
package schedule

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// Of returns the schedule of a cron in a time zone, an IANA name or "" for UTC. It fails the test if the cron or the
// zone is invalid.
func Of(t testing.TB, expr, zone string) *cron.Schedule {
	t.Helper()
	z, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cron.Parse(expr, z)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
