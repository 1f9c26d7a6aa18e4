package tasks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pipe"
)

// TestAQuietExclusiveTaskIsShown checks what the progress of an exclusive task says about its output: that there has
// been none for ten minutes, and then that there is some again. A progress that the program reports stays.
func TestAQuietExclusiveTaskIsShown(t *testing.T) {
	t.Parallel()
	const quiet = "it holds its lease, and has written no output since "
	for name, test := range map[string]struct {
		wroteAfter, shownAfter time.Duration
		progress               string // what the program reports at the beginning
		want                   string
	}{
		"it has just begun":      {0, 9 * time.Minute, "", ""},
		"it writes nothing":      {0, 12 * time.Minute, "", quiet + "2000-01-01T00:00:00Z"},
		"it stops writing":       {5 * time.Minute, 17 * time.Minute, "", quiet + "2000-01-01T00:05:00Z"},
		"it writes again":        {14 * time.Minute, 17 * time.Minute, "", "it has written output again at 2000-01-01T00:14:00Z"},
		"it reports progress":    {0, 12 * time.Minute, "halfway", "halfway"},
		"it is quiet after that": {14 * time.Minute, 40 * time.Minute, "", quiet + "2000-01-01T00:14:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				task := &task{id: "t", host: newHost(Options{})}
				if test.progress != "" {
					task.host.reports.progress("t", pipe.Message{Message: test.progress})
				}
				started := time.Now()
				ctx, end := context.WithTimeout(t.Context(), test.shownAfter)
				defer end()
				task.watchOutput(ctx, started, func() time.Time {
					if wrote := started.Add(test.wroteAfter); !wrote.After(time.Now()) {
						return wrote
					}
					return started.Add(-time.Hour) // files of an earlier task may be used again
				})
				got := ""
				if p := task.host.reports.remove("t"); p != nil {
					got = p.Message
				}
				if got != test.want {
					t.Errorf("its progress says %q, want %q", got, test.want)
				}
			})
		})
	}
}
