package settings

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Zone returns the zone that --time-zone names. For Local it returns the zone with its IANA name where that can be
// determined, because the executors of daemon jobs compute fires in this zone on other machines, whose own zone may
// differ.
func Zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || loc != time.Local {
		return loc, err
	}
	link, _ := os.Readlink("/etc/localtime")
	_, linked, _ := strings.Cut(link, "zoneinfo/")
	written, _ := os.ReadFile("/etc/timezone")
	_, east := time.Now().Zone()
	variable := strings.TrimPrefix(os.Getenv("TZ"), ":")
	for _, name := range []string{variable, linked, strings.TrimSpace(string(written)), "UTC", gmtName(east)} {
		if named, err := time.LoadLocation(name); err == nil && name != "" && sameZone(named, time.Now()) {
			return named, nil
		}
	}
	return loc, nil
}

// gmtName returns the IANA name of the zone that is always this many seconds east of Greenwich; "" if there is none.
// It is for machines whose /etc/localtime is a regular file, as in containers that mount it.
func gmtName(east int) string {
	if east%3600 != 0 {
		return ""
	}
	return fmt.Sprintf("Etc/GMT%+d", -east/3600)
}

// sameZone reports whether a zone has the same offset as this machine's zone now and in half a year.
func sameZone(zone *time.Location, now time.Time) bool {
	for _, at := range []time.Time{now, now.AddDate(0, 6, 0)} {
		_, a := at.In(zone).Zone()
		_, b := at.Local().Zone()
		if a != b {
			return false
		}
	}
	return true
}
