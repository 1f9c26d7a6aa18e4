package main

import (
	"os"
	"strings"
	"time"
)

// zone is that of --time-zone. This machine's has its IANA name where that can be found: the executors of daemon jobs make
// fires in it on other machines, which may be elsewhere.
func zone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || loc != time.Local {
		return loc, err
	}
	link, _ := os.Readlink("/etc/localtime")
	_, linked, _ := strings.Cut(link, "zoneinfo/")
	written, _ := os.ReadFile("/etc/timezone")
	for _, name := range []string{strings.TrimPrefix(os.Getenv("TZ"), ":"), linked, strings.TrimSpace(string(written)), "UTC"} {
		if named, err := time.LoadLocation(name); err == nil && name != "" && sameZone(named, time.Now()) {
			return named, nil
		}
	}
	return loc, nil
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
