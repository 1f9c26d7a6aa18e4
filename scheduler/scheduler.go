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
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// Options are the settings and the parts of a Scheduler.
type Options struct {
	Registry registry.Registry
	Driver   cluster.Driver
	// Framework describes the framework that subscribes; its ID comes from the registry (rule T7).
	Framework cluster.Framework
	Core      step.Options
	// Advertise is the address at which others reach this process.
	Advertise string
	// Clock is the wall clock; time.Now if nil.
	Clock func() time.Time
	// Random is the source of ids; a fresh ChaCha8 if nil.
	Random rand.Source
	Logger *slog.Logger
	// Notifier notifies people of failed runs. If it is nil, the log says that a notification could not be sent.
	Notifier Notifier
	// History stores the recorded rows (rule H1); without one nothing is recorded.
	History History
	// Audits, if not nil, has audit rows of changes outside of the scheduler (rule A1).
	Audits AuditOutbox
	// RefusedTimeout, if not 0, is how long a leader keeps the leadership while the cluster only refuses it (4xx).
	// After that Lead and Stand abdicate and return ErrRefused, so that another scheduler, with other credentials, may
	// lead.
	RefusedTimeout time.Duration
	// HoldFor is the time after which Core.Held no longer applies, if this server has not led meanwhile. It counts
	// from New, and again from the end of each term.
	HoldFor time.Duration
	// Point, if not nil, is called at each of Points, for tests that end the process there. It may be called
	// concurrently.
	Point func(name string)
}

// Scheduler answers requests and, while it leads, runs a Core. All methods may be called concurrently. Failed requests
// return a *problem.Error.
type Scheduler struct {
	opt Options

	mu     sync.RWMutex
	runner *termRunner // runs the present term; nil if this process does not lead
	why    string      // why it does not lead
	lost   bool        // set if it will not lead again: the registry cannot be used any more

	beginning        atomic.Int64 // number of the term that is beginning or led, else 0
	duplicateAddress atomic.Bool  // another process leads under this server's own address

	commits *commitStats
	hold    *hold

	reconcileMu sync.Mutex
	reconciled  time.Time // when it was last requested by a user
}

// New makes a Scheduler; Lead or Stand starts it.
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

// Held returns why this server launches nothing, or would launch nothing if it led now, and what to do
// (step.Options.Held); "" if it launches.
func (s *Scheduler) Held() string { return s.hold.text() }

// setRunner replaces the runner of the present term or, if r is nil, the reason why there is none.
func (s *Scheduler) setRunner(r *termRunner, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runner, s.why, s.lost = r, why, false
}

// current returns the runner of the present term, or a *problem.Error if this process does not lead.
func (s *Scheduler) current() (*termRunner, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.runner == nil {
		return nil, s.notLeading()
	}
	return s.runner, nil
}

// notLeading returns the error for requests while this process does not lead.
func (s *Scheduler) notLeading() *problem.Error {
	if s.lost {
		return problem.Errorf(problem.Unavailable, "registry_lost", "writes are refused and nothing is launched: %s",
			s.why)
	}
	return problem.Errorf(problem.Unavailable, "not_leading", "this server does not lead: %s; try again shortly",
		s.why)
}

// recordEnd records that a term has ended. If the registry cannot be used any more, no other term begins. err then
// says what to do, so it becomes the answer to requests.
func (s *Scheduler) recordEnd(err error) {
	s.setRunner(nil, "its term has ended")
	if errors.Is(err, registry.ErrUnusable) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost, s.why = true, err.Error()
	}
}

// Drain ends all tasks and executors on the cluster and returns when nothing is left, or when ctx ends (rule O4).
// Nothing is launched from then on.
func (s *Scheduler) Drain(ctx context.Context) error {
	r, err := s.current()
	if err != nil {
		return err
	}
	r.inbox.put((*term.Machine).Drain)
	select {
	case <-r.drained:
		return nil
	case <-r.stopped:
		return problem.Errorf(problem.Unavailable, "term_ended", "the term ended while tasks were being ended")
	case <-ctx.Done():
		return fmt.Errorf("end all tasks and executors: some are left: %w", ctx.Err())
	}
}

// RegisterApp adds an app. cfg must have been checked.
func (s *Scheduler) RegisterApp(ctx context.Context, scope explain.Scope, cfg app.Config) (views.AppView, error) {
	ch := config.RegisterApp{Config: cfg}
	return s.changeApp(ctx, scope, explain.Reader.MayPublish, cfg.AppName, "app registered", ch)
}

// UpdateApp replaces an app's document by the result of change. If the document has changed meanwhile, it calls change
// again.
func (s *Scheduler) UpdateApp(
	ctx context.Context, scope explain.Scope, name string, change func(app.Config) (app.Config, error),
) (views.AppView, error) {
	return retryStale(func() (old views.AppView, err error) {
		err = s.Read(ctx, scope, func(r explain.Reader) error {
			old, err = r.App(name)
			return err
		})
		if err != nil {
			return old, err
		}
		cfg, err := change(old.Config)
		if err != nil {
			return old, err
		}
		ch := config.UpdateApp{Config: cfg, Version: old.Version}
		return s.changeApp(ctx, scope, explain.Reader.SeesApp, name, "app updated", ch)
	})
}

// retryStale repeats a change whose document has changed since it was read, up to a limit.
func retryStale[V any](change func() (V, error)) (V, error) {
	const limit = 100
	for tries := 1; ; tries++ {
		v, err := change()
		var stale *problem.Error
		if tries == limit || !errors.As(err, &stale) || stale.Code != config.StaleVersion {
			return v, err
		}
	}
}

// SetAppDisabled disables or enables an app (rule F6).
func (s *Scheduler) SetAppDisabled(
	ctx context.Context, scope explain.Scope, name string, disabled bool,
) (views.AppView, error) {
	ch := config.SetAppDisabled{Name: name, Disabled: disabled}
	return s.changeApp(ctx, scope, explain.Reader.SeesApp, name, "app "+enabledText(disabled), ch)
}

// DeleteApp deletes an app, and its jobs if withJobs is set. It returns the last view of the app.
func (s *Scheduler) DeleteApp(
	ctx context.Context, scope explain.Scope, name string, withJobs bool,
) (views.AppView, error) {
	ch := config.DeleteApp{Name: name, WithJobs: withJobs}
	return s.changeApp(ctx, scope, explain.Reader.SeesApp, name, "app deleted", ch)
}

// changeApp requests a change of an app, and writes message to the log once it was made.
func (s *Scheduler) changeApp(
	ctx context.Context, scope explain.Scope, allowed authorize, name, message string, ch config.Change,
) (views.AppView, error) {
	reply, err := s.request(ctx, scope, allowed, name, core.ChangeRequested{Change: ch, Actor: actorOf(ctx)})
	if err == nil {
		s.opt.Logger.Info(message, "app", reply.App.Config.AppName)
	}
	return reply.App, err
}

func enabledText(disabled bool) string {
	if disabled {
		return "disabled"
	}
	return "enabled"
}

// RegisterJob adds a job. cfg must have been checked.
func (s *Scheduler) RegisterJob(ctx context.Context, scope explain.Scope, cfg jobs.Config) (views.JobView, error) {
	ch := config.RegisterJob{Config: cfg}
	return s.changeJob(ctx, scope, explain.Reader.MayPublish, cfg.AppName, "job registered", ch)
}

// UpdateJob replaces a job's document by the result of change; see UpdateApp.
func (s *Scheduler) UpdateJob(
	ctx context.Context, scope explain.Scope, name string, change func(jobs.Config) (jobs.Config, error),
) (views.JobView, error) {
	return retryStale(func() (old views.JobView, err error) {
		err = s.Read(ctx, scope, func(r explain.Reader) error {
			old, err = r.JobToUpdate(name)
			return err
		})
		if err != nil {
			return old, err
		}
		update, err := scope.Update(old, change)
		if err != nil {
			return old, err
		}
		return s.changeJob(ctx, scope, explain.Reader.SeesJob, name, "job updated", update)
	})
}

// SetJobDisabled disables or enables a job (rule F6).
func (s *Scheduler) SetJobDisabled(
	ctx context.Context, scope explain.Scope, name string, disabled bool,
) (views.JobView, error) {
	ch := config.SetJobDisabled{Name: name, Disabled: disabled}
	return s.changeJob(ctx, scope, explain.Reader.SeesJob, name, "job "+enabledText(disabled), ch)
}

// DeregisterJob removes a job and returns its last view (rule K2).
func (s *Scheduler) DeregisterJob(ctx context.Context, scope explain.Scope, name string) (views.JobView, error) {
	return s.changeJob(ctx, scope, explain.Reader.SeesJob, name, "job deregistered", config.DeregisterJob{Name: name})
}

// changeJob requests a change of a job, and writes message to the log once it was made.
func (s *Scheduler) changeJob(
	ctx context.Context, scope explain.Scope, allowed authorize, name, message string, ch config.Change,
) (views.JobView, error) {
	reply, err := s.request(ctx, scope, allowed, name, core.ChangeRequested{Change: ch, Actor: actorOf(ctx)})
	if err == nil {
		s.opt.Logger.Info(message, "job", reply.Job.Config.JobName)
	}
	return reply.Job, err
}

// Trigger requests an execution now and returns its id once it is committed. A request for the same job with the same
// key returns the same execution.
func (s *Scheduler) Trigger(ctx context.Context, scope explain.Scope, job, idempotencyKey string) (string, error) {
	return s.TriggerWith(ctx, scope, job, idempotencyKey, jobs.Overrides{})
}

// TriggerWith is Trigger for an execution with settings of its own. They are checked like the job's; errors in them
// are answered as Invalid.
func (s *Scheduler) TriggerWith(
	ctx context.Context, scope explain.Scope, job, idempotencyKey string, own jobs.Overrides,
) (string, error) {
	reply, err := s.request(ctx, scope, explain.Reader.SeesJob, job, operator.TriggerRequested{
		Job: job, Key: idempotencyKey, Overrides: own, Actor: actorOf(ctx)})
	return reply.ExecutionID, err
}

// ForgetTask removes an orphan because an operator states that it has ended (rule E5).
func (s *Scheduler) ForgetTask(ctx context.Context, scope explain.Scope, taskID string) error {
	_, err := s.request(ctx, scope, explain.Reader.SeesTask, taskID,
		operator.ForgetRequested{TaskID: taskID, Actor: actorOf(ctx)})
	return err
}

// KillTask ends a task on the cluster; its job and the other shards of its execution go on.
func (s *Scheduler) KillTask(ctx context.Context, scope explain.Scope, taskID string) error {
	_, err := s.request(ctx, scope, explain.Reader.SeesTask, taskID,
		operator.KillRequested{TaskID: taskID, Actor: actorOf(ctx)})
	return err
}

// KillExecution ends the running and waiting shards of an execution; its job goes on.
func (s *Scheduler) KillExecution(ctx context.Context, scope explain.Scope, id string) error {
	_, err := s.request(ctx, scope, explain.Reader.SeesExecution, id,
		operator.KillRequested{ExecutionID: id, Actor: actorOf(ctx)})
	return err
}

// Leader returns the leader, as far as this process knows; false if none is known. It does no I/O.
func (s *Scheduler) Leader() (LeaderView, bool) {
	l, ok := s.opt.Registry.Leader()
	if !ok {
		return LeaderView{}, false
	}
	r, _ := s.current()
	return LeaderView{Address: l.Address, Term: l.Term, Since: l.Since, Self: r != nil && r.term.Number() == l.Term},
		true
}

// reachability is a registry whose Trouble returns why the registry cannot be reached now, or nil if it can be reached.
type reachability interface{ Trouble() error }

// Health reports whether this process can do its work. It never waits for a commit.
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

// Stats returns counters and gauges. While this process does not lead, they are zero, except those about its commits.
// Stats does not wait for a long commit, but returns the last values.
func (s *Scheduler) Stats() stats.Stats {
	st := stats.New()
	if r, err := s.current(); err == nil {
		st = r.measure()
		st.Term, st.Subscribed = r.term.Number(), r.subscribed.Load()
	}
	s.commits.addTo(&st)
	return st
}
