package jobs

import (
	"cmp"
	"fmt"
	"time"
	_ "time/tzdata" // so that the meaning of a zone's name does not depend on the machine

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// Schedule returns the schedule of the job's cron, in the zone of Zone. It returns nil if there is no cron, so that
// the job runs only on trigger. The error is a sentence about the cron or the zone.
func Schedule(c Config, local *time.Location) (*cron.Schedule, error) {
	zone, err := Zone(c, local)
	if err != nil || c.Cron == "" {
		return nil, err
	}
	return cron.Parse(c.Cron, zone)
}

// Zone returns the time zone of the job's cron: that of the IANA name in the document. If the document names none, it
// returns local, which is the server's zone; a nil local is UTC [D25].
func Zone(c Config, local *time.Location) (*time.Location, error) {
	if c.TimeZone == "" {
		return cmp.Or(local, time.UTC), nil
	}
	// These names would mean a different zone on each machine.
	if c.TimeZone == "Local" || c.TimeZone == "localtime" {
		return nil, fmt.Errorf("%q is not a time zone; name one, such as Europe/Berlin, or leave it out for the server's",
			c.TimeZone)
	}
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q; use a name of the IANA database, "+
			"such as Asia/Shanghai or Etc/GMT-8 (which is UTC+8)", c.TimeZone)
	}
	return zone, nil
}

// ZoneName returns the IANA name of a zone; "" for time.Local, which has a name on this machine only.
func ZoneName(zone *time.Location) string {
	if zone == time.Local {
		return ""
	}
	return zone.String()
}
