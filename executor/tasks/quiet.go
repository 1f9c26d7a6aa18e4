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

// watchOutput shows as the progress of an exclusive task that its program has written no output for quietAfter, because
// a lease only shows that the executor lives, not that the program works. lastOutput returns when the program last
// wrote something. watchOutput returns when ctx ends.
func (t *task) watchOutput(ctx context.Context, started time.Time, lastOutput func() time.Time) {
	ticker := time.NewTicker(quietInterval)
	defer ticker.Stop()
	for isQuiet := false; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		last := lastOutput()
		if last.Before(started) {
			last = started
		}
		if quiet := time.Since(last) >= quietAfter; quiet != isQuiet {
			isQuiet = quiet
			text := "it has written output again at "
			if isQuiet {
				text = "it holds its lease, and has written no output since "
			}
			t.host.reports.quiet(t.id, text+last.UTC().Format(time.RFC3339))
		}
	}
}
