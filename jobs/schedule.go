package jobs

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// Schedule returns when the job fires by its cron, in its own zone or else in
// local (nil is UTC); nil when it has no cron and runs on trigger only. The
// error is a sentence about the cron or the zone.
func Schedule(c Config, local *time.Location) (*cron.Schedule, error) {
	zone, err := Zone(c, local)
	if err != nil || c.Cron == "" {
		return nil, err
	}
	return cron.Parse(c.Cron, zone)
}
