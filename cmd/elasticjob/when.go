package main

import (
	"fmt"
	"strings"
	"time"
)

// timeText returns a time in the user's zone and its distance from now.
func (a *cli) timeText(t time.Time) string {
	return fmt.Sprintf("%s (%s)", t.In(a.zone).Format("2006-01-02 15:04:05 MST"), a.relative(t))
}

// fireText returns a fire in the zone of its job, with the zone's name, and its distance from now. t must be in that
// zone, as the server sends it.
func (a *cli) fireText(t time.Time, zone string) string {
	return fmt.Sprintf("%s (%s)", strings.TrimSpace(t.Format("2006-01-02 15:04:05 -07:00 ")+clean(zone)), a.relative(t))
}

// relative returns the distance of a time from now: in 25s, 3m20s ago.
func (a *cli) relative(t time.Time) string { return relativeIn(t.Sub(a.now()), coarse) }

// relativeShort is relative with one unit, for tables. It returns "" for no time.
func (a *cli) relativeShort(t *time.Time) string {
	if t == nil {
		return ""
	}
	return relativeIn(t.Sub(a.now()), coarsest)
}

func relativeIn(d time.Duration, words func(time.Duration) string) string {
	switch {
	case d > 0:
		return "in " + words(d)
	case d > -time.Second:
		return "now"
	}
	return words(-d) + " ago"
}

// coarsest formats a duration with one unit: 90s, 3m, 13h, 30d.
func coarsest(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int64((d+time.Second/2)/time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int64(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int64(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int64(d/(24*time.Hour)))
}

// coarse formats a duration with one or two units: 25s, 3m20s, 45m, 2h05m, 3d04h, 120d.
func coarse(d time.Duration) string {
	seconds := int64((d + time.Second/2) / time.Second)
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 24*3600:
		return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
	case seconds < 100*24*3600:
		return fmt.Sprintf("%dd%02dh", seconds/86400, seconds/3600%24)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// durationText formats how long something took, more exactly if it was short.
func durationText(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return coarse(d)
}

func millisText(millis *int64) string {
	if millis == nil {
		return ""
	}
	return durationText(time.Duration(*millis) * time.Millisecond)
}
