package tasks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pipe"
)

// TestAQuietExclusiveTaskIsShown checks what the progress of an exclusive task says about its output: that there has
// been none for ten minutes, and then that there is some again. A progress that the program reports counts as output.
func TestAQuietExclusiveTaskIsShown(t *testing.T) {
	t.Parallel()
	const quiet, again = "it holds its lease, and has written no output since ", "it has written output again at "
	type signs []time.Duration // when the program gives a sign of life, after its start
	for name, test := range map[string]struct {
		writes, reports signs
		after           time.Duration
		want            string
	}{
		"it has just begun":        {nil, nil, 9 * time.Minute, ""},
		"it writes nothing":        {nil, nil, 12 * time.Minute, quiet + "2000-01-01T00:00:00Z"},
		"it stops writing":         {signs{5 * time.Minute}, nil, 17 * time.Minute, quiet + "2000-01-01T00:05:00Z"},
		"it writes again":          {signs{14 * time.Minute}, nil, 17 * time.Minute, again + "2000-01-01T00:14:00Z"},
		"it is quiet once more":    {signs{14 * time.Minute}, nil, 40 * time.Minute, quiet + "2000-01-01T00:14:00Z"},
		"it reports progress":      {nil, signs{5 * time.Minute}, 14 * time.Minute, "halfway"},
		"it reports none any more": {nil, signs{5 * time.Minute}, 17 * time.Minute, quiet + "2000-01-01T00:05:00Z"},
		"it reports progress late": {nil, signs{14 * time.Minute}, 17 * time.Minute, "halfway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				task := &task{id: "t", host: newHost(Options{})}
				started := time.Now()
				for _, at := range test.reports {
					time.AfterFunc(at, func() { task.host.reports.progress("t", pipe.Message{Message: "halfway"}) })
				}
				ctx, end := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					task.watchOutput(ctx, started, func() time.Time {
						last := started.Add(-time.Hour) // the files of an earlier task may be used again
						for _, at := range test.writes {
							if wrote := started.Add(at); !wrote.After(time.Now()) {
								last = wrote
							}
						}
						return last
					})
				}()
				time.Sleep(test.after)
				report, _ := task.host.reports.due(time.Now())
				got := ""
				if len(report.Tasks) > 0 && report.Tasks[0].Progress != nil {
					got = report.Tasks[0].Progress.Message
				}
				if got != test.want {
					t.Errorf("its progress says %q, want %q", got, test.want)
				}
				end()
				<-ended
			})
		})
	}
}

// TestAQuietTaskThatHasEnded checks that the progress of a task that has ended does not say that it holds a lease.
func TestAQuietTaskThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		task := &task{id: "t", host: newHost(Options{})}
		ctx, end := context.WithTimeout(t.Context(), 12*time.Minute)
		defer end()
		started := time.Now()
		task.watchOutput(ctx, started, func() time.Time { return started })
		const want = "it had written no output since 2000-01-01T00:00:00Z"
		if p := task.host.reports.remove("t"); p == nil || p.Message != want {
			t.Errorf("its progress is %+v", p)
		}
	})
}
