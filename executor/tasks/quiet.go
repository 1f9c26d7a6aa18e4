package tasks

import (
	"context"
	"sync"
	"time"
)

const (
	// quietAfter is how long the program of an exclusive task writes nothing before people are told.
	quietAfter = 10 * time.Minute
	// quietInterval is the interval between two looks at its output.
	quietInterval = time.Minute
)

// beginWatchingOutput begins to watch the output of an exclusive task whose process was started at that time. If it is
// not known when something is written, nothing is watched. stop returns when the watch has ended.
func (t *task) beginWatchingOutput(started time.Time) (stop func()) {
	lastOutput := func() time.Time { return t.host.Outputs.LastWrite(t.number) }
	if lastOutput().IsZero() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(t.ctx)
	var watching sync.WaitGroup
	watching.Go(func() { t.watchOutput(ctx, started, lastOutput) })
	return func() { cancel(); watching.Wait() }
}

// watchOutput shows as the progress of an exclusive task that its program has written no output and reported no
// progress for quietAfter, because a lease only shows that the executor lives, not that the program works. lastOutput
// returns when the program last wrote something. watchOutput returns when ctx ends.
func (t *task) watchOutput(ctx context.Context, started time.Time, lastOutput func() time.Time) {
	ticker := time.NewTicker(quietInterval)
	defer ticker.Stop()
	// A sign of life counts from when it was noticed, by the monotonic clock, because the wall clock may leap.
	sign, noticed, isQuiet := started, time.Now(), false
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if isQuiet { // this progress stays with the task that has ended
				t.host.reports.message(t.id, "it had written no output since "+shortTime(sign))
			}
			return
		}
		progress := t.host.reports.lastProgress(t.id)
		for _, at := range []time.Time{lastOutput(), progress} {
			if at.After(sign) {
				sign, noticed = at, time.Now()
			}
		}
		wasQuiet := isQuiet
		switch isQuiet = time.Since(noticed) >= quietAfter; {
		case isQuiet && !wasQuiet:
			t.host.reports.message(t.id, "it holds its lease, and has written no output since "+shortTime(sign))
		case wasQuiet && !isQuiet && !sign.Equal(progress): // a progress has replaced the message
			t.host.reports.message(t.id, "it has written output again at "+shortTime(sign))
		}
	}
}

func shortTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }
