package settings

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Zone returns the time zone of --time-zone. For Local it returns this machine's zone with its IANA name, if the name
// can be determined: executors of daemons compute fires in this zone on other machines, whose local zone may differ.
func Zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || loc != time.Local {
		return loc, err
	}
	link, _ := os.Readlink("/etc/localtime")
	_, fromLink, _ := strings.Cut(link, "zoneinfo/")
	fromFile, _ := os.ReadFile("/etc/timezone")
	_, east := time.Now().Zone()
	fromVariable := strings.TrimPrefix(os.Getenv("TZ"), ":")
	for _, name := range []string{fromVariable, fromLink, strings.TrimSpace(string(fromFile)), "UTC", gmtName(east)} {
		if zone, err := time.LoadLocation(name); err == nil && name != "" && sameZone(zone, time.Now()) {
			return zone, nil
		}
	}
	return loc, nil
}

// gmtName returns the IANA name of the zone that is always this many seconds east of Greenwich, or "" if there is
// none. It is for machines whose /etc/localtime is a regular file, as in containers that mount it.
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
