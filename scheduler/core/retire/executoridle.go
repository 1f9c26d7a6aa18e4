package retire

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// CheckIdle schedules the check of an executor without tasks for the time at which it will have been idle long enough
// (rule X9), or for now if it is obsolete. It is called whenever an executor may have become idle or obsolete.
func (r *Retirer) CheckIdle(x *executors.Executor) {
	if x.Tasks() > 0 || x.Pending() > 0 || x.IsClosing() {
		return
	}
	at := x.IdleSince().Add(r.st.Opt.ExecutorIdle)
	if r.obsolete(x) {
		at = r.st.Now()
	}
	if x.IdleCheckAt().Equal(at) {
		return
	}
	r.scheduleIdleCheck(x, at)
}

// scheduleIdleCheck schedules the one check of the executor for that time, in place of any earlier one.
func (r *Retirer) scheduleIdleCheck(x *executors.Executor, at time.Time) {
	r.st.Executors.ScheduleIdleCheck(x, at)
	id := x.ID()
	r.st.Timers.At(at, func(now time.Time) { r.checkIdle(id, at, now) })
}

// checkIdle closes an executor that has been idle long enough or is obsolete. If its app will need it soon, or an
// orphan may return to it, checkIdle schedules the next check instead. at is the time for which this check was
// scheduled.
func (r *Retirer) checkIdle(id string, at, now time.Time) {
	x := r.st.Executors.Get(id)
	if x == nil || !x.IdleCheckAt().Equal(at) {
		return // a later check has replaced this one
	}
	r.st.Executors.ScheduleIdleCheck(x, time.Time{})
	if x.IsClosing() || x.Tasks() > 0 || x.Pending() > 0 {
		return
	}
	if x.IdleSince().Add(r.st.Opt.ExecutorIdle).After(now) && !r.obsolete(x) {
		r.CheckIdle(x)
		return
	}
	if until := r.appBusyUntil(x); !until.IsZero() {
		r.scheduleIdleCheck(x, until)
		return
	}
	if r.keptForOrphans(x) {
		r.scheduleIdleCheck(x, now.Add(max(r.st.Opt.ExecutorIdle, time.Second)))
		return
	}
	r.st.Executors.Close(x)
}

// keptForOrphans reports whether an idle executor is kept because an orphan of it may be taken back. An executor that
// has been silent for long on a registered agent is not kept: it hangs, and while its agent counts as silent, nothing
// is placed there.
func (r *Retirer) keptForOrphans(x *executors.Executor) bool {
	hangs := !x.SilentSince().IsZero() && r.st.Now().Sub(x.SilentSince()) >= r.st.Opt.StagingLost &&
		r.st.Agents.Registered(x.Agent())
	return r.st.Orphans.MayReturn(x.ID()) && !hangs
}

// obsolete reports whether no task will run on an executor any more: its app was deleted (rule K2) or changed (rule
// X1), and no waiting shard of a launched execution needs an executor with its key (rule F7). Such an executor is not
// kept idle.
func (r *Retirer) obsolete(x *executors.Executor) bool {
	a := r.st.Config.App(x.App())
	if a == nil {
		return true
	}
	if a.ExecutorKey() == x.Key() {
		return false
	}
	for j := range a.Jobs() {
		first := r.st.Executions.First(j.Name())
		if first != nil && first.Launched() && first.Prepare().ExecutorKey() == x.Key() && first.Waiting() > 0 {
			return false
		}
	}
	return true
}

// CheckObsolete calls CheckIdle for all executors of an app that was changed or deleted.
func (r *Retirer) CheckObsolete(appName string) {
	for _, x := range r.st.Executors.Sorted() {
		if x.App() == appName {
			r.CheckIdle(x)
		}
	}
}

// appBusyUntil returns when an executor must be checked again because its app has an execution that needs executors,
// or a fire that is due within the idle time. It returns zero if the app needs no executor with this key now.
func (r *Retirer) appBusyUntil(x *executors.Executor) time.Time {
	a := r.st.Config.App(x.App())
	if a == nil || a.ExecutorKey() != x.Key() {
		return time.Time{}
	}
	// Whole seconds, so that one step checks all idle executors of all apps.
	nextCheck := r.st.Now().Add(max(r.st.Opt.ExecutorIdle, time.Second) + time.Second - 1).Truncate(time.Second)
	soon := r.st.Wall().Add(r.st.Opt.ExecutorIdle)
	if r.st.Opt.ExecutorIdle > 0 && a.NextDue().After(r.st.Wall()) && !a.NextDue().After(soon) {
		return nextCheck
	}
	// NextDue, which the iteration over the jobs sets, serves all executors of the app until its next fire.
	nextDueKnown := a.NextDue().After(soon)
	var next time.Time
	for j := range a.Jobs() {
		// A job that must not launch, such as one that an orphan blocks (rule E5) or a paused daemon, keeps no
		// executor.
		first := r.st.Executions.First(j.Name())
		if first != nil && !first.Unplaced().Never && !r.st.HeldBack(first) &&
			(first.IsBusyUntil(nextCheck) || !first.Launched() && r.st.CanLaunch(j)) {
			return nextCheck
		}
		if nextDueKnown || r.st.Opt.ExecutorIdle == 0 || !j.MakesFires() || r.st.Config.Inactive(j) != config.Active {
			continue
		}
		if at := j.Schedule().Next(r.st.Wall()); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if !nextDueKnown {
		r.st.Config.SetNextDue(a, next)
	}
	if next.IsZero() || next.After(soon) {
		return time.Time{}
	}
	return nextCheck
}
