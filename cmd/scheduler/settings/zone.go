package settings

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Zone is that of --time-zone. This machine's has its IANA name where that can be found: the executors of daemon jobs
// make fires in it on other machines, which may be elsewhere.
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

// gmtName is IANA's name of the zone that is always so many seconds east of Greenwich, "" if it has none. It is for
// machines whose /etc/localtime is a file of its own, as one that is mounted into a container is.
func gmtName(east int) string {
	if east%3600 != 0 {
		return ""
	}
	return fmt.Sprintf("Etc/GMT%+d", -east/3600)
}

// sameZone reports whether a zone agrees with this machine's, this winter and this summer.
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
