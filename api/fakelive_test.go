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
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// watching is a core that only a test drives, with the view of it that a scheduler has.
type watching struct {
	mu   sync.Mutex
	core *core.Core
	view *view.Jobs
	at   clock.Now
}

// newWatching loads apps, and jobs by app.
func newWatching(now time.Time, jobsOf map[string][]string) *watching {
	var entries []registry.Entry
	for name, of := range jobsOf {
		entries = append(entries, stored("/config/app/"+name, anApp(name)))
		for _, job := range of {
			entries = append(entries, stored("/config/job/"+job, aJob(job, name, 1)))
		}
	}
	w, _ := watch(now, entries)
	return w
}

func stored(path string, v any) registry.Entry {
	text, _ := json.Marshal(v)
	return registry.Entry{Path: path, Value: text}
}

func anApp(name string) app.Config {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = name, "http://127.0.0.1/p.tar", "run", 0.1, 32
	return a
}

func aJob(name, app string, cpus float64) jobs.Config {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.MemoryMB = name, app, jobs.Transient, 1, 64
	j.CPUCount = cpus
	return j
}

// watch creates a core from stored records. It also returns the core's first decision, in which everything is new.
func watch(now time.Time, entries []registry.Entry) (*watching, core.Decision) {
	w := &watching{core: core.New(step.DefaultOptions())}
	if err := w.core.Load(now, core.Stored{Entries: entries}); err != nil {
		panic(err)
	}
	w.view = view.New(func(_ context.Context, fn func(*core.Core)) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		fn(w.core)
		return nil
	})
	return w, w.happens(now)
}

type anyNumber struct{ n uint64 }

func (a *anyNumber) Uint64() uint64 { a.n++; return a.n }

// happens runs steps of the core.
func (w *watching) happens(now time.Time, events ...core.Event) core.Decision {
	w.mu.Lock()
	if !w.at.Wall.IsZero() {
		w.at.Elapsed += max(now.Sub(w.at.Wall), 0) + time.Millisecond
	}
	w.at.Wall = now
	d := w.core.Step(w.at, &anyNumber{uint64(w.at.Elapsed) << 32}, events)
	w.mu.Unlock()
	w.view.Note(d.Changed)
	return d
}

func (b *fakeScheduler) watched() *watching {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch == nil {
		b.watch = newWatching(time.Now(), nil)
	}
	return b.watch
}

func (b *fakeScheduler) JobPage(ctx context.Context, scope explain.Scope, q view.Query) (view.Page, error) {
	q.Now = time.Now()
	return b.watched().view.Page(ctx, scope, q)
}

func (b *fakeScheduler) Summary(ctx context.Context, scope explain.Scope) (view.Summary, error) {
	return b.watched().view.Summary(ctx, scope, time.Now())
}

func (b *fakeScheduler) Overview(ctx context.Context, scope explain.Scope) (view.Overview, error) {
	return b.watched().view.Overview(ctx, scope, time.Now())
}

// Follow opens a stream if the test has set streams, and fails otherwise.
func (b *fakeScheduler) Follow(_ context.Context, scope explain.Scope) (*view.Stream, error) {
	if !b.streams {
		return nil, refuse(problem.Unavailable, "term_ended", "nothing to watch")
	}
	return b.watched().view.Follow(scope)
}
