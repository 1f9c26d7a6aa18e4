package core

import (
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// App returns an app, or an *Error.
func (c *Core) App(name string) (AppView, error) {
	a := c.config.App(name)
	if a == nil {
		return AppView{}, problem.NoApp(name)
	}
	v := AppView{Config: *a.Config(), Disabled: a.Disabled(), Version: a.Version()}
	v.note(texts(a.Notes())...)
	if path := store.Under(store.PathApps, name); c.config.HasFault(path) {
		v.note(reason.LastGoodInForce(path, c.config.FaultAt(path).Why()))
	}
	return v, nil
}

// Apps returns all apps, by name.
func (c *Core) Apps() []AppView {
	out := make([]AppView, 0, c.config.NumApps())
	for _, name := range c.config.AppNames() {
		a := c.config.App(name)
		out = append(out, AppView{Config: *a.Config(), Disabled: a.Disabled()})
	}
	return out
}

// Job returns a job with what people should know of it, or an *Error.
func (c *Core) Job(name string) (JobView, error) {
	j := c.config.Job(name)
	if j == nil || j.Config() == nil {
		return JobView{}, problem.NoJob(name)
	}
	return c.jobView(j), nil
}

func (c *Core) jobView(j *config.Job) JobView {
	v := JobView{Config: *j.Config(), Disabled: j.Mark().Disables(), State: j.State(c.executions.Busy(j.Name())), Version: j.Version()}
	v.note(c.notesOf(j)...)
	return v
}

// Jobs returns all jobs, by name, without notes.
func (c *Core) Jobs() []JobView {
	out := make([]JobView, 0, len(c.config.Jobs()))
	for _, name := range c.config.JobNames() {
		if j := c.config.Job(name); j.Config() != nil {
			out = append(out, JobView{Config: *j.Config(), Disabled: j.Mark().Disables(), State: j.State(c.executions.Busy(j.Name()))})
		}
	}
	return out
}

// notesOf are hints about a job that is accepted as it is. Some may be none.
func (c *Core) notesOf(j *config.Job) []reason.Reason {
	notes := texts(j.Notes())
	a := c.config.App(j.Config().AppName)
	if a == nil {
		notes = append(notes, c.config.AppMissingReason(j.Config().AppName))
	}
	for _, path := range []string{store.Under(store.PathJobs, j.Name()), store.Under(store.PathApps, j.Config().AppName)} {
		if c.config.HasFault(path) && (a != nil || path == store.Under(store.PathJobs, j.Name())) {
			notes = append(notes, reason.LastGoodInForce(path, c.config.FaultAt(path).Why()))
		}
	}
	notes = append(notes, c.config.UnreadableMarks(j)...)
	if j.Schedule() != nil && j.Schedule().Next(c.Wall()).IsZero() {
		notes = append(notes, reason.CronNeverFires(j.Config().Cron, j.Config().JobExecutionType == jobs.Daemon))
	}
	if a != nil {
		notes = append(notes, c.neverFitsNote(*j.Config(), *a.Config()), c.tooSmallNote(*j.Config()))
	}
	if n, is := c.notifications.Unsent(j.Name()); is {
		notes = append(notes, reason.NotNotified(n.Execution, j.Config().JobErrorHandlerType, n.Tries, n.Problem))
	}
	return notes
}

// Explain says of a job what it is doing and why.
func (c *Core) Explain(name string) (Explanation, error) {
	j := c.config.Job(name)
	if j != nil && c.config.IsFaulty(j) {
		x := Explanation{
			JobName: name, State: "FAULTY", NextFires: []time.Time{}, Waiting: []WaitingView{}, Running: []RunningView{},
		}
		x.note(c.config.InactiveReason(j))
		for _, e := range c.executions.Queue(j.Name()) {
			c.explainExecution(&x, j, e)
		}
		return x, nil
	}
	if j == nil || j.Config() == nil {
		return Explanation{}, problem.NoJob(name)
	}
	x := Explanation{JobName: name, NextFires: []time.Time{}, Waiting: []WaitingView{}, Running: []RunningView{}}
	x.note(c.notesOf(j)...)
	if until := c.fires.BehindUntil(); !until.IsZero() {
		x.note(reason.ClockBehind(until))
	}
	if c.config.Paused(j) {
		x.note(c.config.InactiveReason(j))
	}
	if j.Schedule() != nil && c.config.Inactive(j) == config.Active {
		at := c.Wall()
		if made := c.fires.MadeUpTo(); made.After(at) {
			at = made
		}
		for range 5 {
			if at = j.Schedule().Next(at); at.IsZero() {
				break
			}
			x.NextFires = append(x.NextFires, at)
		}
	}
	for _, e := range c.executions.Queue(j.Name()) {
		c.explainExecution(&x, j, e)
	}
	x.note(c.clockNotes(x.Running)...)
	c.explainPast(&x, j)
	c.explainDaemon(&x, j)
	if len(x.Running) > 0 && !c.subscription.Open() {
		x.note(reason.ShownAsLastKnown(c.subscription.Reason()))
	}
	held := 0
	for _, r := range x.Running {
		if r.Reason != "" {
			held++
		}
	}
	x.State = c.jobState(j, len(x.Running)-held, len(x.Waiting)+held, len(x.NextFires) > 0)
	return x, nil
}

func (c *Core) explainExecution(x *Explanation, j *config.Job, e *executions.Execution) {
	if !e.Launched() {
		why, shards := c.waitReason(j, e), 1
		if j.Config() != nil { // else nobody knows how many
			shards = j.Config().ShardingTotalCount
		}
		for item := range min(shards, explainItems) {
			x.Waiting = append(x.Waiting, WaitingView{ExecutionID: e.ID(), Item: item, Since: c.Shown(e.Made()).Truncate(time.Millisecond), Why: whyOf(why)})
		}
		return
	}
	for i := range e.NumShards() {
		s := e.Shard(i)
		switch {
		case s.State() == executions.Waiting:
			x.Waiting = append(x.Waiting, WaitingView{ExecutionID: e.ID(), Item: s.Item(), Since: c.Shown(s.WaitSince()).Truncate(time.Millisecond), Why: whyOf(c.shardWaitReason(e, s))})
		case s.Live():
			x.Running = append(x.Running, RunningView{ExecutionID: e.ID(), Item: s.Item(), TaskID: s.TaskID(), State: s.State(), Agent: s.Agent(), Since: c.Shown(s.Launched()).Truncate(time.Millisecond), OptionalWhy: OptionalWhy(whyOf(reason.FromText(s.Waits()))), Progress: s.ShownProgress()})
			if why := c.runningNote(s).Or(c.st.QuietNote(e, s)); !why.IsZero() {
				x.note(reason.OfItem(s.Item(), why))
			}
		case s.State() != executions.Finished:
			x.Ended = append(x.Ended, EndedView{
				ExecutionID: e.ID(), Item: s.Item(), TaskID: s.TaskID(), State: s.State(), Agent: s.Agent(), Why: whyOf(s.Cause())})
		}
	}
}

// explainItems bounds how many shards of one waiting execution are listed.
const explainItems = 1000

func (c *Core) runningNote(s *executions.Shard) reason.Reason {
	switch {
	case s.TimedOut():
		return reason.TimeoutKillRequested(c.Shown(s.KillSince()))
	case s.Drain():
		return reason.EndsWithRun(s.Kill())
	case !s.KillSince().IsZero():
		return reason.KillRequested(c.Shown(s.KillSince()))
	case !s.Unreachable().IsZero():
		return reason.AgentSilent(s.Agent(), c.Shown(s.Unreachable()))
	case !s.EndUnclear().IsZero():
		return reason.CauseMissing(string(s.EndState()))
	}
	return reason.Reason{}
}

// waitReason says what an execution that was not launched yet waits for.
func (c *Core) waitReason(j *config.Job, e *executions.Execution) reason.Reason {
	if first := c.executions.Queue(j.Name())[0]; first != e {
		if j.Config() != nil && first.Launched() && first.Settings().Job.JobName == j.Name() && !first.Kill().IsZero() {
			return reason.BeingEnded(first.ID(), first.Kill())
		}
		if first.Daemon() {
			return reason.DaemonBeingEnded(first.ID())
		}
		return reason.OneAtATime(first.ID(), strings.ToLower(string(first.State())))
	}
	if why := c.config.InactiveReason(j); !why.IsZero() {
		return why
	}
	if o, blocks := c.orphans.BlockingAmong(j.Name(), j.Config().ShardingTotalCount); blocks {
		return c.orphanReason(&o)
	}
	return c.placeReason(e)
}

func (c *Core) shardWaitReason(e *executions.Execution, s *executions.Shard) reason.Reason {
	if !e.Kill().IsZero() {
		return e.Kill()
	}
	if j := c.config.Job(e.Job()); j != nil && c.st.HeldBack(e) {
		return c.config.InactiveReason(j)
	}
	if o, blocks := c.orphans.Blocking(e.Job(), s.Item()); blocks {
		return reason.AfterAttempt(c.orphanReason(&o), s.Cause())
	}
	why := c.placeReason(e)
	if s.NotBefore().After(c.Now()) {
		why = reason.RetryAt(c.Shown(s.NotBefore()))
	}
	return reason.AfterAttempt(why, s.Cause())
}

// placeReason says why the last match placed nothing.
func (c *Core) placeReason(e *executions.Execution) reason.Reason {
	switch why := c.noLaunches(); {
	case !why.IsZero():
		return why
	case c.placement.Held().Len() == 0 && !c.agents.AllClosed().IsZero():
		return c.agents.AllClosed()
	case !e.Unplaced().Why.IsZero():
		return e.Unplaced().Why
	case c.placement.Held().Len() == 0:
		return reason.Of(reason.NothingOffered)
	}
	return reason.Of(reason.AboutToPlace)
}

// noLaunches says why nothing at all can be launched now, if nothing can.
func (c *Core) noLaunches() reason.Reason {
	switch {
	case c.Draining():
		return reason.Of(reason.Stopping)
	case c.Opt.Held != "":
		return reason.LaunchesHeld(c.Opt.Held)
	case c.subscription.TakingOver():
		return c.subscription.TakeoverReason()
	case !c.subscription.Open():
		return reason.NotConnected(c.subscription.Reason())
	}
	return reason.Reason{}
}

// Execution returns an execution that lives or is among the last ended ones.
func (c *Core) Execution(id string) (ExecutionView, error) {
	e := c.executions.Find(id)
	if e == nil {
		return ExecutionView{}, c.executionNotFound(id)
	}
	v := ExecutionView{ExecutionID: e.ID(), JobName: e.Job(), FireTime: e.Fire().UTC(), Source: e.Source(), State: e.State(), Shards: []ShardView{},
		Overrides: c.shownOverrides(e)}
	if v.State.Terminal() {
		v.Why = whyOf(e.Reason())
	} else if j := c.config.Job(e.Job()); j != nil && !e.Launched() {
		v.Why = whyOf(c.waitReason(j, e))
		if j.Config() != nil {
			for i := range j.Config().ShardingTotalCount {
				v.Shards = append(v.Shards, ShardView{Item: i, State: executions.Waiting})
			}
		}
	}
	for i := range e.NumShards() {
		shard := viewShard(e.Shard(i))
		shard.Daemon = c.viewDaemon(e, i)
		if shard.State == executions.Waiting {
			shard.OptionalWhy = OptionalWhy(whyOf(c.shardWaitReason(e, e.Shard(i))))
		}
		v.Shards = append(v.Shards, shard)
	}
	return v, nil
}

func (c *Core) executionNotFound(id string) *problem.Error {
	if of := c.standingOf(id); of != nil {
		return problem.Errorf(problem.NotFound, "execution_not_found", "%q is a run of a daemon, which has one execution for all its runs: GET /api/execution/%s", id, of.ID())
	}
	kept := c.keptText()
	if c.Opt.History {
		kept = "those that the history has, which forgets what is older than --history-days"
	}
	return problem.Errorf(problem.NotFound, "execution_not_found", "there is no execution %q; GET /api/executions lists those that are kept: %s", id, kept)
}

func viewShard(s *executions.Shard) ShardView {
	v := ShardView{Item: s.Item(), State: s.State(), Attempt: s.Attempt(), Agent: s.Agent(), TaskID: s.TaskID(), ExitStatus: s.Exit(), PackageSHA256: s.Package(), Progress: s.ShownProgress()}
	if s.Live() {
		v.OptionalWhy = OptionalWhy(whyOf(reason.FromText(s.Waits())))
	}
	if s.State() != executions.Finished {
		v.setFailure(s.Cause())
	}
	for _, a := range s.Earlier() {
		if a.TaskID != s.TaskID() { // else it is the last one
			v.Earlier = append(v.Earlier, AttemptView{a.Attempt, a.TaskID})
		}
	}
	if !s.Start().IsZero() {
		t := s.Start().UTC().Truncate(time.Millisecond)
		v.StartTime = &t
	}
	if s.State().Terminal() && !s.Complete().IsZero() {
		t := s.Complete().UTC().Truncate(time.Millisecond)
		v.CompleteTime = &t
	}
	return v
}

// RunningTasks lists the tasks on the cluster, by id.
func (c *Core) RunningTasks() []TaskView {
	out := []TaskView{}
	for _, id := range c.executions.TaskIDs() {
		ref := c.executions.MustTask(id)
		s := ref.Shard()
		if !s.Live() {
			continue
		}
		kind := jobs.TaskReady
		if s.Type() == executions.FailoverSource {
			kind = jobs.TaskFailover
		}
		out = append(out, TaskView{TaskID: id, JobName: ref.Exec.Job(), Item: s.Item(), Type: string(kind), Agent: s.Agent(), ExecutionID: ref.Exec.ID(), State: s.State(), Progress: s.ShownProgress()})
	}
	return out
}

// ReadyJobs lists the jobs with executions that wait, and how many.
func (c *Core) ReadyJobs() []ReadyView {
	times := map[string]int{}
	for e := range c.executions.AllOpen() {
		if !e.Launched() {
			times[e.Job()]++
		}
	}
	out := []ReadyView{}
	for _, name := range step.SortedKeys(times) {
		out = append(out, ReadyView{JobName: name, Times: times[name]})
	}
	return out
}

// FailoverShards lists the shards that wait to be run again because their
// task was lost.
func (c *Core) FailoverShards() []FailoverView {
	out := []FailoverView{}
	for _, e := range c.executions.Launchable() {
		for i := range e.NumShards() {
			if s := e.Shard(i); s.State() == executions.Waiting && s.Type() == executions.FailoverSource {
				out = append(out, FailoverView{JobName: e.Job(), Item: s.Item(), OriginalTaskID: s.TaskID()})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b FailoverView) int { return strings.Compare(a.JobName, b.JobName) })
	return out
}

// orphanReason says what a shard waits for that an orphan blocks.
func (c *Core) orphanReason(o *orphans.Orphan) reason.Reason {
	of := reason.Orphaned{Task: o.TaskID, Agent: o.Agent}
	switch former := c.subscription.IsFormer(o); {
	case !o.Until.IsZero():
		return of.MayBeEnding(c.Shown(o.Until))
	case !former && !o.Blocks && !o.Staged.IsZero():
		return of.StuckStaging()
	case !former && !o.Blocks && c.Opt.TaskExecutors:
		return of.KillUnconfirmed()
	case !former && !o.Blocks:
		return of.Unanswered()
	case !former:
		return of.MayRun()
	case c.subscription.Open() && o.RemovedBy != c.subscription.MasterID():
		return of.OfOtherMaster(o.Framework)
	}
	return of.OfRemovedFramework(o.Framework, c.st.RemovedWait())
}

// Schedules are those of all jobs that fire, in no order.
func (c *Core) Schedules() []config.ScheduleView { return c.config.BySchedule() }

// Audits are the rows that the scheduler keeps, of those that are asked for.
func (c *Core) Audits(q search.Audits) []event.Audit { return c.audit.Find(q) }

// HistoryTerm is the number by which the history knows this term. It may be asked for concurrently once Load has returned.
func (c *Core) HistoryTerm() int64 { return c.recording.Term() }

// Activity is what this leader has done in each minute that began at a moment or later, as far as that is kept, the oldest first.
func (c *Core) Activity(from time.Time) []search.Activity { return c.minutes.Activity(from) }

// clockNotes say of the agents of what runs which clocks are off. Some may be none.
func (c *Core) clockNotes(running []RunningView) (notes []reason.Reason) {
	seen := map[string]bool{}
	for i := range running {
		if id := running[i].Agent; !seen[id] {
			seen[id] = true
			notes = append(notes, c.agents.ClockNote(id))
		}
	}
	return notes
}
