package jobs_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
)

func TestJavaZone(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		"GMT+8": "Etc/GMT-8", "GMT+08": "Etc/GMT-8", "GMT+0800": "Etc/GMT-8", " GMT+08:00 ": "Etc/GMT-8",
		"UTC+8": "Etc/GMT-8", "+08:00": "Etc/GMT-8", "GMT-5": "Etc/GMT+5", "GMT+10": "Etc/GMT-10",
		"GMT-03:00": "Etc/GMT+3", "GMT+00:00": "Etc/GMT", "GMT-0": "Etc/GMT", "UTC": "UTC", "GMT": "GMT",
		"Z": "Etc/UTC", "GMT+05:30": "Asia/Kolkata", "GMT-0930": "Pacific/Marquesas",
		"CST": "America/Chicago", "CTT": "Asia/Shanghai", "JST": "Asia/Tokyo", "PRC": "PRC", "EST": "EST",
		"Asia/Shanghai": "Asia/Shanghai", "Etc/GMT-8": "Etc/GMT-8",
		"GMT+25": "GMT+25", "GMT+8:17": "GMT+8:17", "somewhere": "somewhere", "": "",
	} {
		if got := jobs.JavaZone(zone); got != want {
			t.Errorf("%q: %q, want %q", zone, got, want)
		}
	}
}
