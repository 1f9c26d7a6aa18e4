package api_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// watching is a core that nobody drives but a test, with the view of it that a scheduler has.
type watching struct {
	mu   sync.Mutex
	core *core.Core
	view *view.Jobs
	step int64
}

// newWatching loads apps, and jobs by their apps.
func newWatching(now time.Time, jobsOf map[string][]string) *watching {
	var stored core.Stored
	put := func(path string, v any) {
		text, _ := json.Marshal(v)
		stored.Entries = append(stored.Entries, registry.Entry{Path: path, Value: text})
	}
	for name, of := range jobsOf {
		a := app.Default()
		a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = name, "http://127.0.0.1/p.tar", "run", 0.1, 32
		put("/config/app/"+name, a)
		for _, job := range of {
			j := jobs.Default()
			j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = job, name, jobs.Transient, 1, 1, 64
			put("/config/job/"+job, j)
		}
	}
	w := &watching{core: core.New(core.DefaultOptions())}
	if err := w.core.Load(now, stored); err != nil {
		panic(err)
	}
	w.view = view.New(func(_ context.Context, fn func(*core.Core)) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		fn(w.core)
		return nil
	})
	w.happens(now) // after the first step of a term all is new
	return w
}

type anyNumber struct{ n uint64 }

func (a *anyNumber) Uint64() uint64 { a.n++; return a.n }

// happens steps the core.
func (w *watching) happens(now time.Time, events ...core.Event) {
	w.mu.Lock()
	w.step++
	d := w.core.Step(core.Now{Wall: now, Elapsed: time.Duration(w.step) * time.Millisecond}, &anyNumber{uint64(w.step) << 32}, events)
	w.mu.Unlock()
	w.view.Note(d.Changed)
}

func (b *fakeScheduler) watched() *watching {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch == nil {
		b.watch = newWatching(time.Now(), nil)
	}
	return b.watch
}

func (b *fakeScheduler) JobPage(ctx context.Context, q view.Query) (view.Page, error) {
	q.Now = time.Now()
	p, err := b.watched().view.Page(ctx, q)
	for i := range p.Rows {
		if p.Rows[i].WaitingFor != "" && b.reason != "" {
			p.Rows[i].WaitingFor, p.Rows[i].LastRun = b.reason, &view.LastRun{Run: view.Run{State: core.Failed}, Why: core.Why{Reason: b.reason}}
		}
	}
	return p, err
}

func (b *fakeScheduler) Summary(ctx context.Context, covers func(string) bool) (view.Summary, error) {
	return b.watched().view.Summary(ctx, covers, time.Now())
}

func (b *fakeScheduler) Overview(ctx context.Context, covers func(string) bool) (view.Overview, error) {
	o, err := b.watched().view.Overview(ctx, covers, time.Now())
	for i := range o.Problems {
		if o.Problems[i].Kind == view.Waiting && b.reason != "" {
			o.Problems[i].Message = b.reason
		}
	}
	return o, err
}

// Follow opens a stream where a test wants one, which has no end.
func (b *fakeScheduler) Follow(_ context.Context, covers func(string) bool) (*view.Stream, error) {
	if !b.streams {
		return nil, refuse(core.Unavailable, "term_ended", "nothing to watch")
	}
	return b.watched().view.Follow(covers)
}
