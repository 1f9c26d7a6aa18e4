package scheduler

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// TestMessagesTakeTurns (N2): four messages of an app and 64 of all apps are under way at once, and the waiting apps
// take turns, however many messages one of them has.
func TestMessagesTakeTurns(t *testing.T) {
	t.Parallel()
	const apps, ofEach = 100, 6
	m := messages{byApp: map[string]*appMessages{}}
	for app := range apps {
		for seq := range ofEach {
			n := notifications.Notification{Seq: int64(seq)}
			n.Job.AppName = fmt.Sprint("app", app)
			m.add(n)
		}
	}
	var underWay []string // apps, the oldest message first
	started, ofApp := map[string]int{}, map[string]int{}
	start := func() {
		for n, ok := m.next(); ok; n, ok = m.next() {
			app := n.Job.AppName
			underWay = append(underWay, app)
			started[app]++
			if ofApp[app]++; ofApp[app] > 4 {
				t.Fatalf("%d messages of %s are under way", ofApp[app], app)
			}
		}
	}
	end := func() {
		app := underWay[0]
		underWay = underWay[1:]
		ofApp[app]--
		m.finish(app)
	}
	for start(); len(underWay) > 0; start() {
		left := 0
		for app := range apps {
			left += ofEach - started[fmt.Sprint("app", app)]
		}
		if len(underWay) != 64 && left > 0 {
			t.Fatalf("%d messages are under way, and %d wait", len(underWay), left)
		}
		least, limit := ofEach, 0
		for app := range apps {
			of := started[fmt.Sprint("app", app)]
			least, limit = min(least, of), max(limit, of)
		}
		if limit-least > 4 {
			t.Fatalf("one app had %d turns, and another %d", limit, least)
		}
		end()
	}
	for app, n := range started {
		if n != ofEach {
			t.Errorf("%d messages of %s were started", n, app)
		}
	}
	if len(started) != apps || len(m.byApp) != 0 || m.inFlight != 0 {
		t.Errorf("%d apps had a turn; %d are left", len(started), len(m.byApp))
	}
}
