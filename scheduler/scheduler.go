package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// Options are what a Scheduler is made of.
type Options struct {
	Registry registry.Registry
	Driver   cluster.Driver
	// Framework is who subscribes; its ID is filled in from the registry (rule T7).
	Framework cluster.Framework
	Core      core.Options
	// Advertise is the address that others find this process at.
	Advertise string
	// Clock is the wall clock; time.Now if nil.
	Clock func() time.Time
	// Random gives ids; a fresh ChaCha8 if nil.
	Random rand.Source
	Logger *slog.Logger
	// Notifier tells people of runs that failed; without one none is told, and the log says so.
	Notifier Notifier
	// History keeps what is recorded (rule H1); without one nothing is.
	History History
	// Audits, if not nil, has rows of changes that are made beside the scheduler (rule A1).
	Audits AuditOutbox
	// RefusedMost, if not 0, is how long a leader keeps the lead while the cluster does nothing but
	// refuse it (4xx): then Lead and Stand give it up and return ErrRefused, so that another
	// scheduler, with other credentials, may lead.
	RefusedMost time.Duration
	// HoldFor is how long this server has not led, from New on, when Core.Held is dropped.
	HoldFor time.Duration
	// Point, if not nil, is called at each of Points, for tests that end the process there. It
	// may be called concurrently.
	Point func(name string)
}

// Scheduler answers requests and, while it leads, runs a Core. All methods may
// be called concurrently. Failed requests give an *Error.
type Scheduler struct {
	opt Options

	mu     sync.RWMutex
	runner *termRunner // the present term's, or nil
	why    string      // why there is none
	lost   bool        // and will be none: the registry can't be used any more

	taking           atomic.Int64 // the number of the term that is being begun or led, else 0
	duplicateAddress atomic.Bool  // another process leads under this server's own address

	commits *commitStats
	hold    *hold

	reconcileMu sync.Mutex
	reconciled  time.Time // when it was last asked for by hand
}

// New makes a Scheduler; Lead makes it work.
func New(opt Options) *Scheduler {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Random == nil {
		var seed [32]byte
		for i := range seed {
			seed[i] = byte(rand.Uint32())
		}
		opt.Random = rand.NewChaCha8(seed)
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Point == nil {
		opt.Point = func(string) {}
	}
	return &Scheduler{opt: opt, commits: newCommitStats(), hold: newHold(opt.Core.Held, opt.HoldFor),
		why: "this process has not begun to lead"}
}

// Held says why this server launches nothing, or would if it led now, and what to do; or "" (core.Options.Held).
func (s *Scheduler) Held() string { return s.hold.text() }

func (s *Scheduler) set(r *termRunner, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runner, s.why, s.lost = r, why, false
}

func (s *Scheduler) current() (*termRunner, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.runner == nil {
		return nil, s.notLeading()
	}
	return s.runner, nil
}

// notLeading answers who asks where no term is.
func (s *Scheduler) notLeading() *core.Error {
	if s.lost {
		return core.Errorf(core.Unavailable, "registry_lost", "no change is taken and nothing is launched: %s", s.why)
	}
	return core.Errorf(core.Unavailable, "not_leading", "no leader here: %s; try again shortly", s.why)
}

// ended keeps why a term has ended. A registry that can't be used any more lets no other one begin by itself; its error says what
// to do, and so it is the answer to requests.
func (s *Scheduler) ended(err error) {
	s.set(nil, "its term has ended")
	if errors.Is(err, registry.ErrUnusable) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost, s.why = true, err.Error()
	}
}

// Drain ends all tasks and executors on the cluster and returns when nothing is left, or
// when ctx ends (rule O4). Nothing new is launched from then on.
func (s *Scheduler) Drain(ctx context.Context) error {
	r, err := s.current()
	if err != nil {
		return err
	}
	r.inbox.put((*term.Machine).Drain)
	select {
	case <-r.drained:
		return nil
	case <-r.ended:
		return core.Errorf(core.Unavailable, "term_ended", "the term ended while tasks were being ended")
	case <-ctx.Done():
		return fmt.Errorf("end all tasks and executors: some are left: %w", ctx.Err())
	}
}

// Apps lists all apps, by name.
func (s *Scheduler) Apps(ctx context.Context) ([]core.AppView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.AppView, error) { return c.Apps(), nil })
}

// App returns one app.
func (s *Scheduler) App(ctx context.Context, name string) (core.AppView, error) {
	return read(ctx, s, func(c *core.Core) (core.AppView, error) { return c.App(name) })
}

// RegisterApp adds an app. cfg must have been checked.
func (s *Scheduler) RegisterApp(ctx context.Context, cfg app.Config) (core.AppView, error) {
	return s.changeApp(ctx, "app registered", core.RegisterApp{Config: cfg})
}

// UpdateApp replaces an app's document by what change makes of it. change is called again when somebody else has changed the
// document meanwhile.
func (s *Scheduler) UpdateApp(ctx context.Context, name string, change func(app.Config) (app.Config, error)) (core.AppView, error) {
	return again(func() (core.AppView, error) {
		old, err := s.App(ctx, name)
		if err != nil {
			return old, err
		}
		cfg, err := change(old.Config)
		if err != nil {
			return old, err
		}
		return s.changeApp(ctx, "app updated", core.UpdateApp{Config: cfg, Version: old.Version})
	})
}

// again repeats a change of a document that has changed since it was read.
func again[V any](change func() (V, error)) (V, error) {
	const most = 100 // each time somebody else has changed it
	for tries := 1; ; tries++ {
		v, err := change()
		var stale *core.Error
		if tries == most || !errors.As(err, &stale) || stale.Code != core.StaleVersion {
			return v, err
		}
	}
}

// SetAppDisabled disables or enables an app (rule F6).
func (s *Scheduler) SetAppDisabled(ctx context.Context, name string, disabled bool) (core.AppView, error) {
	return s.changeApp(ctx, "app "+ableText(disabled), core.DisableApp{Name: name, Disabled: disabled})
}

// DeleteApp deletes an app, and its jobs if withJobs is set. It returns the app as it was.
func (s *Scheduler) DeleteApp(ctx context.Context, name string, withJobs bool) (core.AppView, error) {
	return s.changeApp(ctx, "app deleted", core.DeleteApp{Name: name, WithJobs: withJobs})
}

// changeApp asks for a change of an app, and logs one that was made.
func (s *Scheduler) changeApp(ctx context.Context, what string, ch core.Change) (core.AppView, error) {
	reply, err := s.ask(ctx, func(token uint64) core.Request {
		return core.ChangeRequested{Token: token, Change: ch, Actor: actorOf(ctx)}
	})
	if err == nil {
		s.opt.Logger.Info(what, "app", reply.App.Config.AppName)
	}
	return reply.App, err
}

func ableText(disabled bool) string {
	if disabled {
		return "disabled"
	}
	return "enabled"
}

// Jobs lists all jobs, by name.
func (s *Scheduler) Jobs(ctx context.Context) ([]core.JobView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.JobView, error) { return c.Jobs(), nil })
}

// Job returns one job.
func (s *Scheduler) Job(ctx context.Context, name string) (core.JobView, error) {
	return read(ctx, s, func(c *core.Core) (core.JobView, error) { return c.Job(name) })
}

// RegisterJob adds a job. cfg must have been checked.
func (s *Scheduler) RegisterJob(ctx context.Context, cfg jobs.Config) (core.JobView, error) {
	return s.changeJob(ctx, "job registered", core.RegisterJob{Config: cfg})
}

// UpdateJob replaces a job's document by what change makes of it; see UpdateApp.
func (s *Scheduler) UpdateJob(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) (core.JobView, error) {
	return again(func() (core.JobView, error) {
		old, err := s.Job(ctx, name)
		if missing := (*core.Error)(nil); errors.As(err, &missing) && missing.Kind == core.NotFound {
			return s.changeJob(ctx, "job updated", core.UpdateJob{Config: jobs.Config{JobName: name}}) // its refusal is the answer
		}
		if err != nil {
			return old, err
		}
		cfg, err := change(old.Config)
		if err != nil {
			return old, err
		}
		return s.changeJob(ctx, "job updated", core.UpdateJob{Config: cfg, Version: old.Version})
	})
}

// SetJobDisabled disables or enables a job (rule F6).
func (s *Scheduler) SetJobDisabled(ctx context.Context, name string, disabled bool) (core.JobView, error) {
	return s.changeJob(ctx, "job "+ableText(disabled), core.DisableJob{Name: name, Disabled: disabled})
}

// DeregisterJob removes a job and returns it as it was (rule K2).
func (s *Scheduler) DeregisterJob(ctx context.Context, name string) (core.JobView, error) {
	return s.changeJob(ctx, "job deregistered", core.DeregisterJob{Name: name})
}

// changeJob asks for a change of a job, and logs one that was made.
func (s *Scheduler) changeJob(ctx context.Context, what string, ch core.Change) (core.JobView, error) {
	reply, err := s.ask(ctx, func(token uint64) core.Request {
		return core.ChangeRequested{Token: token, Change: ch, Actor: actorOf(ctx)}
	})
	if err == nil {
		s.opt.Logger.Info(what, "job", reply.Job.Config.JobName)
	}
	return reply.Job, err
}

// Trigger asks for an execution now and returns its id once it is committed.
// The same key of the same job gives the same execution.
func (s *Scheduler) Trigger(ctx context.Context, job, idempotencyKey string) (string, error) {
	return s.TriggerWith(ctx, job, idempotencyKey, jobs.Overrides{})
}

// TriggerWith is Trigger for an execution with settings of its own. They are checked as the job's are; what is wrong with
// them is answered as Invalid.
func (s *Scheduler) TriggerWith(ctx context.Context, job, idempotencyKey string, own jobs.Overrides) (string, error) {
	reply, err := s.ask(ctx, func(token uint64) core.Request {
		return core.TriggerRequested{Token: token, Job: job, Key: idempotencyKey, Overrides: own, Actor: actorOf(ctx)}
	})
	return reply.ExecutionID, err
}

// ForgetTask removes an orphan because an operator says that it has ended (rule E5).
func (s *Scheduler) ForgetTask(ctx context.Context, taskID string) error {
	_, err := s.ask(ctx, func(token uint64) core.Request {
		return core.ForgetRequested{Token: token, TaskID: taskID, Actor: actorOf(ctx)}
	})
	return err
}

// FaultyDocuments lists the documents in the registry that can't be used, by path.
func (s *Scheduler) FaultyDocuments(ctx context.Context) ([]core.FaultyView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.FaultyView, error) { return c.FaultyDocuments(), nil })
}

// KillTask ends a task on the cluster; its job and the other shards of its execution go on.
func (s *Scheduler) KillTask(ctx context.Context, taskID string) error {
	_, err := s.ask(ctx, func(token uint64) core.Request {
		return core.KillRequested{Token: token, TaskID: taskID, Actor: actorOf(ctx)}
	})
	return err
}

// KillExecution ends what runs of an execution and what waits of it; its job goes on.
func (s *Scheduler) KillExecution(ctx context.Context, id string) error {
	_, err := s.ask(ctx, func(token uint64) core.Request {
		return core.KillRequested{Token: token, ExecutionID: id, Actor: actorOf(ctx)}
	})
	return err
}

// Explain says what a job is doing and why.
func (s *Scheduler) Explain(ctx context.Context, job string) (core.Explanation, error) {
	return read(ctx, s, func(c *core.Core) (core.Explanation, error) { return c.Explain(job) })
}

// Execution returns an execution that lives or is among the last that ended.
func (s *Scheduler) Execution(ctx context.Context, id string) (core.ExecutionView, error) {
	return read(ctx, s, func(c *core.Core) (core.ExecutionView, error) { return c.Execution(id) })
}

// Executions lists runs that live or are kept, the newest fire first.
func (s *Scheduler) Executions(ctx context.Context, f core.ExecutionFilter) ([]core.ExecutionSummary, error) {
	return read(ctx, s, func(c *core.Core) ([]core.ExecutionSummary, error) { return c.Executions(f) })
}

// RunningTasks lists the tasks on the cluster.
func (s *Scheduler) RunningTasks(ctx context.Context) ([]core.TaskView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.TaskView, error) { return c.RunningTasks(), nil })
}

// ReadyJobs lists the jobs with executions that wait.
func (s *Scheduler) ReadyJobs(ctx context.Context) ([]core.ReadyView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.ReadyView, error) { return c.ReadyJobs(), nil })
}

// FailoverShards lists the shards that wait to be run again after a loss.
func (s *Scheduler) FailoverShards(ctx context.Context) ([]core.FailoverView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.FailoverView, error) { return c.FailoverShards(), nil })
}

// LogPlace says where a task's output is.
func (s *Scheduler) LogPlace(ctx context.Context, taskID string) (core.LogPlace, error) {
	return read(ctx, s, func(c *core.Core) (core.LogPlace, error) { return c.LogPlace(taskID) })
}

// Leader is who leads, as far as this process knows; false when nobody is known
// to. It asks nobody.
func (s *Scheduler) Leader() (LeaderView, bool) {
	l, ok := s.opt.Registry.Leader()
	if !ok {
		return LeaderView{}, false
	}
	r, _ := s.current()
	return LeaderView{Address: l.Address, Term: l.Term, Since: l.Since, Self: r != nil && r.term.Number() == l.Term}, true
}

// reachability is a registry that knows why it can't be reached at present.
type reachability interface{ Trouble() error }

// Health says whether this process can do its work. It never waits for a commit.
func (s *Scheduler) Health() Health {
	r, err := s.current()
	if err != nil {
		if l, ok := s.opt.Registry.Leader(); ok && l.Address != s.opt.Advertise {
			return Health{Detail: "following the leader at " + l.Address}
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		h := Health{Detail: s.why}
		if s.duplicateAddress.Load() {
			h.Detail = duplicateText
		}
		if t, ok := s.opt.Registry.(reachability); ok && t.Trouble() != nil {
			h.Detail += ": " + t.Trouble().Error() + "; it is tried again"
		}
		return h
	}
	h := Health{Leading: true, Subscribed: r.subscribed.Load()}
	if !h.Subscribed {
		h.Detail = "no subscription to the cluster; it is tried again with growing intervals"
		if why := r.outage.Load().(string); why != "" {
			h.Detail += ": " + why
		}
	}
	return h
}

// Stats returns counters and gauges. While this process does not lead, they are zero but for those of its commits. It waits for no
// commit: during one that takes long it gives what was measured last.
func (s *Scheduler) Stats() core.Stats {
	st := core.NewStats()
	if r, err := s.current(); err == nil {
		st = r.measure()
		st.Term, st.Subscribed = r.term.Number(), r.subscribed.Load()
	}
	s.commits.addTo(&st)
	return st
}
