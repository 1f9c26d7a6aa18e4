package views

import (
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// App returns an app with its notes, or a *problem.Error if it is not registered.
func (vs *Views) App(name string) (AppView, error) {
	a := vs.st.Config.App(name)
	if a == nil {
		return AppView{}, problem.NoApp(name)
	}
	v := AppView{Config: *a.Config(), Disabled: a.Disabled(), Version: a.Version()}
	v.Note(texts(a.Notes())...)
	if path := store.Under(store.PathApps, name); vs.st.Config.HasFault(path) {
		v.Note(reason.LastGoodInForce(path, vs.st.Config.FaultAt(path).Why()))
	}
	return v, nil
}

// Apps returns all apps, sorted by name, without notes.
func (vs *Views) Apps() []AppView {
	out := make([]AppView, 0, vs.st.Config.NumApps())
	for _, name := range vs.st.Config.AppNames() {
		a := vs.st.Config.App(name)
		out = append(out, AppView{Config: *a.Config(), Disabled: a.Disabled()})
	}
	return out
}

// Job returns a job with its notes, or a *problem.Error if it has no document in force.
func (vs *Views) Job(name string) (JobView, error) {
	j := vs.st.Config.Job(name)
	if j == nil || j.Config() == nil {
		return JobView{}, problem.NoJob(name)
	}
	return vs.jobView(j), nil
}

// jobView returns the view of a job with a document.
func (vs *Views) jobView(j *config.Job) JobView {
	v := JobView{Config: *j.Config(), Disabled: j.Mark().Disables(),
		State: j.State(vs.st.Executions.HasOpen(j.Name())), Version: j.Version()}
	v.Note(vs.notesOf(j)...)
	return v
}

// Jobs returns all jobs, sorted by name, without notes.
func (vs *Views) Jobs() []JobView {
	out := make([]JobView, 0, vs.st.Config.NumJobs())
	for _, name := range vs.st.Config.JobNames() {
		if j := vs.st.Config.Job(name); j.Config() != nil {
			out = append(out, JobView{Config: *j.Config(), Disabled: j.Mark().Disables(),
				State: j.State(vs.st.Executions.HasOpen(j.Name()))})
		}
	}
	return out
}

// notesOf returns notes about a job for its author: about its document, its app and its resources. Some may be zero.
func (vs *Views) notesOf(j *config.Job) []reason.Reason {
	notes := texts(j.Notes())
	a := vs.st.Config.App(j.Config().AppName)
	if a == nil {
		notes = append(notes, vs.st.Config.AppMissingReason(j.Config().AppName))
	}
	for _, path := range []string{store.Under(store.PathJobs, j.Name()),
		store.Under(store.PathApps, j.Config().AppName)} {
		if vs.st.Config.HasFault(path) && (a != nil || path == store.Under(store.PathJobs, j.Name())) {
			notes = append(notes, reason.LastGoodInForce(path, vs.st.Config.FaultAt(path).Why()))
		}
	}
	notes = append(notes, vs.st.Config.UnreadableMarks(j)...)
	if j.Schedule() != nil && j.Schedule().Next(vs.st.Wall()).IsZero() {
		notes = append(notes, reason.CronNeverFires(j.Config().Cron, j.Config().JobExecutionType == jobs.Daemon))
	}
	if a != nil {
		notes = append(notes, vs.neverFitsNote(*j.Config(), *a.Config()), vs.tooSmallNote(*j.Config()))
	}
	if n, found := vs.notifications.Unsent(j.Name()); found {
		notes = append(notes, reason.NotNotified(n.Execution, j.Config().JobErrorHandlerType, n.Tries, n.Problem))
	}
	return notes
}

// Execution returns an execution that is open or among the kept ended ones, or a *problem.Error.
func (vs *Views) Execution(id string) (ExecutionView, error) {
	e := vs.st.Executions.Find(id)
	if e == nil {
		return ExecutionView{}, vs.ExecutionNotFound(id)
	}
	v := ExecutionView{ExecutionID: e.ID(), JobName: e.Job(), FireTime: e.Fire().UTC(), Source: e.Source(),
		State: e.State(), Shards: []ShardView{}, Overrides: vs.shownOverrides(e)}
	if v.State.Terminal() {
		v.Why = WhyOf(e.Reason())
	} else if j := vs.st.Config.Job(e.Job()); j != nil && !e.Launched() {
		v.Why = WhyOf(vs.WaitReason(j, e))
		if j.Config() != nil {
			for i := range j.Config().ShardingTotalCount {
				v.Shards = append(v.Shards, ShardView{Item: i, State: executions.Waiting})
			}
		}
	}
	for i := range e.NumShards() {
		shard := vs.viewShard(e.Shard(i))
		shard.Daemon = vs.viewDaemon(e, i)
		if shard.State == executions.Waiting {
			shard.OptionalWhy = OptionalWhy(WhyOf(vs.ShardWaitReason(e, e.Shard(i))))
		}
		v.Shards = append(v.Shards, shard)
	}
	return v, nil
}

// ExecutionNotFound makes the error for an id that no kept execution has. For a run of a daemon it names the
// daemon's execution.
func (vs *Views) ExecutionNotFound(id string) *problem.Error {
	if e := vs.daemonOf(id); e != nil {
		return problem.Errorf(problem.NotFound, "execution_not_found",
			"%q is a run of a daemon, which has one execution for all its runs: GET /api/execution/%s", id, e.ID())
	}
	kept := vs.keptText()
	if vs.st.Opt.History {
		kept = "those in the history, which keeps --history-days"
	}
	return problem.Errorf(problem.NotFound, "execution_not_found",
		"there is no execution %q; GET /api/executions lists those that are kept: %s", id, kept)
}

// viewShard returns the view of a shard, without the fields that depend on its execution.
func (vs *Views) viewShard(s *executions.Shard) ShardView {
	v := ShardView{Item: s.Item(), State: s.State(), Attempt: s.Attempt(), Agent: s.Agent(), TaskID: s.TaskID(),
		ExitStatus: s.Exit(), PackageSHA256: s.Package(), Progress: s.ShownProgress()}
	if s.Live() {
		v.OptionalWhy = OptionalWhy(WhyOf(vs.liveReason(s)))
	}
	if s.State() != executions.Finished {
		v.setFailure(s.Cause())
	} else {
		v.Note, v.NoteCode, v.NoteArgs = partsOf(s.Cause())
	}
	for _, a := range s.Earlier() {
		if a.TaskID != s.TaskID() { // otherwise the attempt is the last one
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

// RunningTasks returns the live tasks on the cluster, sorted by id.
func (vs *Views) RunningTasks() []TaskView {
	out := []TaskView{}
	for _, id := range vs.st.Executions.TaskIDs() {
		ref := vs.st.Executions.Ref(id)
		s := ref.Shard()
		if !s.Live() {
			continue
		}
		kind := jobs.TaskReady
		if s.Source() == executions.FailoverSource {
			kind = jobs.TaskFailover
		}
		out = append(out, TaskView{TaskID: id, JobName: ref.Exec.Job(), Item: s.Item(), Type: string(kind),
			Agent: s.Agent(), ExecutionID: ref.Exec.ID(), State: s.State(), Progress: s.ShownProgress()})
	}
	return out
}

// ReadyJobs returns the jobs with executions that were not launched yet, sorted by name, with their number.
func (vs *Views) ReadyJobs() []ReadyView {
	times := map[string]int{}
	for e := range vs.st.Executions.AllOpen() {
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

// FailoverShards returns the shards that wait to be run again because their task was lost, sorted by job.
func (vs *Views) FailoverShards() []FailoverView {
	out := []FailoverView{}
	for _, e := range vs.st.Executions.Launchable() {
		for i := range e.NumShards() {
			if s := e.Shard(i); s.State() == executions.Waiting && s.Source() == executions.FailoverSource {
				out = append(out, FailoverView{JobName: e.Job(), Item: s.Item(), OriginalTaskID: s.TaskID()})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b FailoverView) int { return strings.Compare(a.JobName, b.JobName) })
	return out
}

// orphanReason returns the reason why a shard waits for the end of an orphan, which blocks it.
func (vs *Views) orphanReason(o *orphans.Orphan) reason.Reason {
	orphaned := reason.Orphaned{Task: o.TaskID, Agent: o.Agent}
	switch former := vs.st.Subscription.IsFormer(o); {
	case o.Unkilled:
		return orphaned.Unkilled()
	case o.HoldsLease():
		return orphaned.HoldsLease(vs.st.Shown(o.LeaseEnds()))
	case !o.Until.IsZero():
		return orphaned.MayBeEnding(vs.st.Shown(o.Until))
	case !former && !o.Blocks && !o.Staged.IsZero():
		return orphaned.StuckStaging()
	case !former && !o.Blocks && vs.st.Opt.TaskExecutors:
		return orphaned.KillUnconfirmed()
	case !former && !o.Blocks:
		return orphaned.Unanswered()
	case !former:
		return orphaned.MayRun()
	case vs.st.Subscription.Open() && o.RemovedBy != vs.st.Subscription.MasterID():
		return orphaned.OfOtherMaster(o.Framework)
	}
	return orphaned.OfRemovedFramework(o.Framework, vs.st.RemovedWait())
}

// Schedules returns the schedules of all jobs that fire, in no order.
func (vs *Views) Schedules() []config.ScheduleView { return vs.st.Config.BySchedule() }

// Audits returns the kept rows of the audit log that match q.
func (vs *Views) Audits(q search.Audits) []event.Audit { return vs.audit.Find(q) }

// Activity returns the activity of this leader in each kept minute that began at from or later, the oldest first.
func (vs *Views) Activity(from time.Time) []search.Activity { return vs.minutes.Activity(from) }

// clockNotes returns a note for each agent of running tasks whose clock is wrong. Some notes may be zero.
func (vs *Views) clockNotes(running []RunningView) (notes []reason.Reason) {
	seen := map[string]bool{}
	for i := range running {
		if id := running[i].Agent; !seen[id] {
			seen[id] = true
			notes = append(notes, vs.st.Agents.ClockNote(id))
		}
	}
	return notes
}

// shownOverrides returns an execution's own settings without secrets; nil if it has none, or if users who may see its
// job may not see them.
func (vs *Views) shownOverrides(e *executions.Execution) *jobs.Overrides {
	j := vs.st.Config.Job(e.Job())
	if e.Overrides() == nil || j == nil || j.Config() == nil || j.Config().AppName != e.OverridesOf() {
		return nil // users who may see the job may not know settings that were given while it belonged to another app
	}
	shown := e.Overrides().WithoutSecrets(*j.Config())
	return &shown
}

// LongestKillGrace returns the longest kill grace of any task on the cluster, and at least the server's. The end of
// all tasks may take that long.
func (vs *Views) LongestKillGrace() time.Duration { return vs.st.Executions.LongestKillGrace() }
