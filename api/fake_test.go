package api_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// fakeScheduler is a scheduler that stores documents and counts changes.
type fakeScheduler struct {
	mu       sync.Mutex
	apps     map[string]views.AppView
	jobs     map[string]views.JobView
	keys     map[string]string
	forgot   []string
	killed   []string
	own      []jobs.Overrides // of triggers
	changes  int
	filters  []views.ExecutionFilter
	audits   []event.Audit
	places   map[string]views.LogPlace
	queued   string // a task that has not begun
	health   scheduler.Health
	stats    stats.Stats
	leader   scheduler.LeaderView
	gap      time.Duration // how long reconciliation is refused as too soon
	explain  func(ctx context.Context, job string) (views.Explanation, error)
	failWith error             // the error of every change
	unread   error             // the error of every read
	watch    *watching         // the watched core; nil is an empty one
	streams  bool              // events are streamed
	live     map[string]string // jobs by execution
	reason   string            // why a checked job would wait
	cells    map[string][]search.Cell
	faulty   []views.FaultyView
	fires    []config.ScheduleView
	counted  int                      // how often fires were requested
	ownEnv   bool                     // executions had an env of their own
	lists    []views.ExecutionSummary // if not nil, the answer of Executions for my_job
}

func newFakeScheduler() *fakeScheduler {
	return &fakeScheduler{apps: map[string]views.AppView{}, jobs: map[string]views.JobView{},
		keys:   map[string]string{},
		places: map[string]views.LogPlace{}, health: scheduler.Health{Leading: true, Subscribed: true}}
}

func refuse(kind problem.Kind, code, format string, args ...any) error {
	return &problem.Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// fakeCore answers reads of a fakeScheduler for one request.
type fakeCore struct {
	*fakeScheduler
	ctx context.Context
}

func (b *fakeScheduler) Read(ctx context.Context, scope explain.Scope, look func(explain.Reader) error) error {
	r, err := explain.NewReader(fakeCore{b, ctx}, scope)
	b.mu.Lock()
	err = cmp.Or(err, b.unread)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return look(r)
}

// order is change for a caller who may see its subject.
func order[V any](
	b *fakeScheduler, scope explain.Scope, may func(explain.Reader, string) error, name string, do func() (V, error),
) (none V, err error) {
	if err := b.Read(context.Background(), scope, func(r explain.Reader) error { return may(r, name) }); err != nil {
		return none, err
	}
	return change(b, do)
}

// change runs one change under the lock. A change that fails changes nothing.
func change[V any](b *fakeScheduler, do func() (V, error)) (V, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failWith != nil {
		var none V
		return none, b.failWith
	}
	v, err := do()
	if err == nil {
		b.changes++
	}
	return v, err
}

func (b *fakeScheduler) changed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes
}

func find[V any](in map[string]V, what, name string) (V, error) {
	v, ok := in[name]
	if !ok {
		return v, refuse(problem.NotFound, what+"_not_found", "there is no %s %q", what, name)
	}
	return v, nil
}

func one[V any](b *fakeScheduler, in map[string]V, what, name string) (V, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return find(in, what, name)
}

func all[V any](b *fakeScheduler, in map[string]V) (list []V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(in)) {
		list = append(list, in[name])
	}
	return list
}

// alter changes an existing app or job.
func alter[V any](
	b *fakeScheduler, scope explain.Scope, may func(explain.Reader, string) error, in map[string]V, what, name string,
	do func(v *V) error,
) (V, error) {
	return order(b, scope, may, name, func() (V, error) {
		v, err := find(in, what, name)
		if err != nil {
			return v, err
		}
		if err := do(&v); err != nil {
			return v, fmt.Errorf("change %s %s: %w", what, name, err)
		}
		in[name] = v
		return v, nil
	})
}

func (b *fakeScheduler) Apps() []views.AppView { return all(b, b.apps) }

func (b *fakeScheduler) App(name string) (views.AppView, error) {
	return one(b, b.apps, "app", name)
}

func (b *fakeScheduler) RegisterApp(_ context.Context, scope explain.Scope, c app.Config) (views.AppView, error) {
	return order(b, scope, explain.Reader.MayPublish, c.AppName, func() (views.AppView, error) {
		if _, ok := b.apps[c.AppName]; ok {
			return views.AppView{}, refuse(problem.Conflict, "app_exists",
				"app '%s' already existed. PUT /api/app changes it", c.AppName)
		}
		b.apps[c.AppName] = views.AppView{Config: c}
		return b.apps[c.AppName], nil
	})
}

func (b *fakeScheduler) UpdateApp(
	_ context.Context, scope explain.Scope, name string, do func(app.Config) (app.Config, error),
) (views.AppView, error) {
	return alter(b, scope, explain.Reader.SeesApp, b.apps, "app", name, func(v *views.AppView) (err error) {
		v.Config, err = do(v.Config)
		return err
	})
}

func (b *fakeScheduler) SetAppDisabled(
	_ context.Context, scope explain.Scope, name string, disabled bool,
) (views.AppView, error) {
	return alter(b, scope, explain.Reader.SeesApp, b.apps, "app", name, func(v *views.AppView) error {
		v.Disabled = disabled
		return nil
	})
}

func (b *fakeScheduler) DeleteApp(
	_ context.Context, scope explain.Scope, name string, withJobs bool,
) (views.AppView, error) {
	return order(b, scope, explain.Reader.SeesApp, name, func() (views.AppView, error) {
		v, err := find(b.apps, "app", name)
		if err != nil {
			return v, err
		}
		var users []string
		for _, job := range slices.Sorted(maps.Keys(b.jobs)) {
			if b.jobs[job].Config.AppName == name {
				users = append(users, job)
			}
		}
		if len(users) > 0 && !withJobs {
			return v, refuse(problem.Conflict, "app_has_jobs", "app %q has jobs: %s", name, users)
		}
		maps.DeleteFunc(b.jobs, func(_ string, j views.JobView) bool { return j.Config.AppName == name })
		delete(b.apps, name)
		return v, nil
	})
}

func (b *fakeScheduler) Jobs() []views.JobView { return all(b, b.jobs) }

func (b *fakeScheduler) Job(name string) (views.JobView, error) {
	return one(b, b.jobs, "job", name)
}

func (b *fakeScheduler) RegisterJob(_ context.Context, scope explain.Scope, c jobs.Config) (views.JobView, error) {
	return order(b, scope, explain.Reader.MayPublish, c.AppName, func() (views.JobView, error) {
		owner, err := find(b.apps, "app", c.AppName)
		switch _, exists := b.jobs[c.JobName]; {
		case err != nil:
			return views.JobView{}, err
		case owner.Disabled:
			return views.JobView{}, refuse(problem.Conflict, "app_disabled", "app %q is disabled", c.AppName)
		case exists:
			return views.JobView{}, refuse(problem.Conflict, "job_exists",
				"Job '%s' already existed. PUT /api/job/update changes it", c.JobName)
		}
		b.jobs[c.JobName] = views.JobView{Config: c, State: config.JobEnabled}
		return b.jobs[c.JobName], nil
	})
}

func (b *fakeScheduler) UpdateJob(
	_ context.Context, scope explain.Scope, name string, do func(jobs.Config) (jobs.Config, error),
) (views.JobView, error) {
	return alter(b, scope, explain.Reader.SeesJob, b.jobs, "job", name, func(v *views.JobView) error {
		update, err := scope.Update(*v, do)
		v.Config = update.Config
		return err
	})
}

func (b *fakeScheduler) CheckJob(ch config.Change) (views.JobCheck, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	why := views.Why{Reason: cmp.Or(b.reason, "no agent has offered anything yet")}
	switch ch := ch.(type) {
	case config.UpdateJob:
		v, err := find(b.jobs, "job", ch.Config.JobName)
		v.Config = ch.Config
		return views.JobCheck{Job: v, Placement: views.PlacementView{Shards: []views.PlacedShardView{}, Why: why}}, err
	case config.RegisterJob:
		if _, err := find(b.apps, "app", ch.Config.AppName); err != nil {
			return views.JobCheck{}, err
		}
		if _, exists := b.jobs[ch.Config.JobName]; exists {
			return views.JobCheck{}, refuse(problem.Conflict, "job_exists",
				"Job '%s' already existed. PUT /api/job/update changes it", ch.Config.JobName)
		}
		return views.JobCheck{Job: views.JobView{Config: ch.Config},
			Placement: views.PlacementView{Shards: []views.PlacedShardView{}, Why: why}}, nil
	}
	panic("no job is checked by it")
}

func (b *fakeScheduler) SetJobDisabled(
	_ context.Context, scope explain.Scope, name string, disabled bool,
) (views.JobView, error) {
	return alter(b, scope, explain.Reader.SeesJob, b.jobs, "job", name, func(v *views.JobView) error {
		if v.Disabled, v.State = disabled, config.JobEnabled; disabled {
			v.State = config.JobDisabled
		}
		return nil
	})
}

func (b *fakeScheduler) SetJobPaused(
	_ context.Context, scope explain.Scope, name string, paused bool,
) (views.JobView, error) {
	return alter(b, scope, explain.Reader.SeesJob, b.jobs, "job", name, func(v *views.JobView) error {
		if v.Disabled {
			return refuse(problem.Conflict, "job_disabled", "job %q is disabled", name)
		}
		v.State = config.JobEnabled
		if paused {
			v.State = config.JobPaused
		}
		return nil
	})
}

func (b *fakeScheduler) ShutDownJob(ctx context.Context, scope explain.Scope, name string) (views.JobView, error) {
	return b.SetJobDisabled(ctx, scope, name, true)
}

func (b *fakeScheduler) DeregisterJob(_ context.Context, scope explain.Scope, name string) (views.JobView, error) {
	return order(b, scope, explain.Reader.SeesJob, name, func() (views.JobView, error) {
		v, err := find(b.jobs, "job", name)
		delete(b.jobs, name)
		return v, err
	})
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (b *fakeScheduler) Leader() (scheduler.LeaderView, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leader, b.leader.Address != ""
}

func (b *fakeScheduler) Health() scheduler.Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.health
}

func (b *fakeScheduler) Stats() stats.Stats { return b.stats }

// follows makes it report another leader; with leads it leads itself.
func (b *fakeScheduler) follows(address string, leads bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leader = scheduler.LeaderView{Address: address, Term: b.leader.Term + 1, Since: noon, Self: leads}
	b.health = scheduler.Health{Leading: leads, Subscribed: leads}
}

// resign makes it report no leader.
func (b *fakeScheduler) resign() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unread = refuse(problem.Unavailable, "not_leading", "no leader here")
}

// add registers an app with a job.
func (b *fakeScheduler) add(appName, jobName string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.apps[appName] = views.AppView{Config: app.Config{AppName: appName}}
	b.jobs[jobName] = views.JobView{Config: jobs.Config{JobName: jobName, AppName: appName,
		JobExecutionType: jobs.Transient}, State: config.JobEnabled}
}
