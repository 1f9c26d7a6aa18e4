package attempts

import (
	"cmp"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// abandon gives up an attempt that may still run, and keeps it as an orphan (rule E5). The orphan is not Returnable if
// its task is stuck in STAGING or its kill is wanted.
func (as *Attempts) abandon(ref executions.TaskRef, why reason.Reason) {
	e, s := ref.Exec, ref.Shard()
	o := as.newOrphan(ref)
	o.Silent = as.st.OnlySilent(s)
	if s.StuckStaging() {
		o.Staged = s.Launched()
	}
	o.Reported = o.Reported && !as.st.Opt.TaskExecutors // see killOrphan
	o.Returnable = !s.StuckStaging() && s.KillSince().IsZero()
	as.st.Orphans.Add(o)
	if o.Returnable {
		as.st.Executions.RecordGivenUp(ref)
	} else if as.st.Opt.TaskExecutors {
		as.killStored(&o)
	}
	as.st.Note(step.Note{Kind: step.NoteOrphan, Job: e.Job(), Execution: e.ID(), Task: s.TaskID(), Why: why,
		Problem: true})
	as.st.Executions.SetCause(ref, why)
	as.recording.TraceDecided(ref, cluster.Lost, why)
	as.endAttempt(ref, outcomeLost, 0)
	as.st.Executions.ForgetTask(o.TaskID)
	as.SupersedeAwaited(e.Job())
}

// Supersede records that the matching orphans of a job are no longer to be taken back. It kills those that a kill can
// reach: all of them if each task has its own executor, because that cluster keeps kills, otherwise those that were
// given up only because their executors were silent.
func (as *Attempts) Supersede(job string, match func(*orphans.Orphan) bool) {
	for _, o := range as.st.Orphans.Supersede(job, match) {
		switch {
		case as.st.Opt.TaskExecutors:
			as.killStored(&o)
		case o.Silent:
			as.killOrphan(&o)
		}
	}
}

// SupersedeAwaited supersedes the orphans of the shards that wait in the first execution of a job's queue. It does so
// only on a cluster where each task has its own executor: there an orphan blocks its shard until its kill is known to
// be kept, and it is killed only after it was superseded.
func (as *Attempts) SupersedeAwaited(job string) {
	first := as.st.Executions.First(job)
	if first == nil || !as.st.Opt.TaskExecutors {
		return
	}
	as.Supersede(job, func(o *orphans.Orphan) bool {
		return !first.Launched() || o.Item < first.NumShards() && first.Shard(o.Item).State() == executions.Waiting
	})
}

// takeBack makes an orphan the present attempt of its shard again, and returns whether that was possible (rule E5), so
// that a job of six hours is not run again because its agent was away for a minute. state is what was just reported
// of the orphan: a live state, or an end that its executor reported.
func (as *Attempts) takeBack(o *orphans.Orphan, state cluster.State) bool {
	e, j, x := as.st.Executions.Find(o.Execution), as.st.Config.Job(o.Job), as.st.Executors.Get(o.Executor)
	if !o.Returnable || as.st.Draining() || e == nil || o.Item >= e.NumShards() || !e.Kill().IsZero() {
		return false
	}
	switch ran, found := e.Shard(o.Item).GivenUp(o.TaskID); {
	case !found:
		return false
	case !ran && as.st.Orphans.BlocksBeside(o.Job, o.Item, o.TaskID):
		return false // it would begin beside another attempt
	case j == nil, !as.st.Config.MayRun(j):
		return false
	case state.Live() && o.Executor != "" && (x == nil || x.IsClosing()):
		return false // it would end with its executor
	}
	as.st.Orphans.Remove(o.TaskID)
	ref := e.Ref(o.Item)
	if o.Lease > 0 {
		as.st.Leases.Record(o.TaskID) // its executor may have asked an earlier leader, or asks only now
	}
	away := as.st.Now().Sub(as.st.Executions.TakeBack(ref)).Round(time.Second)
	as.st.Note(step.Note{Kind: step.NoteTaskReturned, Job: o.Job, Execution: o.Execution, Task: o.TaskID,
		Detail: fmt.Sprintf("agent %s was away for %s; its task goes on", o.Agent, away)})
	as.recording.Trace(ref, state, event.FromScheduler, "", reason.TakenBack(o.Agent, away), as.st.Wall(),
		fmt.Sprint("returned ", ref.Shard().Returns()))
	return true
}

// killOrphan kills an orphan. A cluster where each task has its own executor keeps kills for agents that are away, as
// Kubernetes keeps the deletion of a pod. There an orphan is killed as soon as its shard is to run again, and counts
// as reported only when its kill is known to be kept. Otherwise an agent that comes back could receive the task only
// then, and start it beside the next attempt.
func (as *Attempts) killOrphan(o *orphans.Orphan) {
	as.st.Kill(o.TaskID, o.Agent, cmp.Or(o.Grace, as.st.Opt.KillGrace),
		"it was given up while its agent did not answer")
}

// killStored kills an orphan on a cluster where each task has its own executor, and asks soon whether the kill is
// kept.
func (as *Attempts) killStored(o *orphans.Orphan) {
	as.killOrphan(o)
	as.st.Subscription.AskSoon()
}

// newOrphan returns the record of an attempt that may still run after it was given up.
func (as *Attempts) newOrphan(ref executions.TaskRef) orphans.Orphan {
	s := ref.Shard()
	o := orphans.Orphan{TaskID: s.TaskID(), Job: ref.Exec.Job(), Item: s.Item(), Agent: s.Agent(),
		Host: s.Host(), Executor: s.Executor(),
		Execution: ref.Exec.ID(), Attempt: s.Attempt(), Since: as.st.Now(), Framework: as.st.Subscription.FrameworkID(),
		Grace: as.st.Executions.TaskGrace(ref), After: as.st.Executions.UnreachableAfter(ref.Exec),
		Reported: s.Reported()}
	as.addLease(&o, ref)
	return o
}

// updateOrphan applies a status update of an orphan (rule E5). The orphan is taken back if it is alive, or if its
// executor reports its end. If it cannot be taken back and is alive, it is killed, and blocks its shard until it has
// ended or its agent has been away again for the time of rule E4.
func (as *Attempts) updateOrphan(o *orphans.Orphan, u cluster.Update) {
	if o.Silent && u.Source == cluster.FromMaster && u.State.Live() {
		return // the master reports what it remembers: no sign of life of a silent executor
	}
	goesOn := u.State.Live() && u.State != cluster.Killing
	endedItself := u.State.Terminal() && u.Source == cluster.FromExecutor
	if (goesOn || endedItself) && as.takeBack(o, u.State) {
		ref, _ := as.st.Executions.Task(o.TaskID)
		as.updateAttempt(ref, u)
		return
	}
	switch {
	case u.State != cluster.Unreachable, u.KillStored, !as.st.Opt.TaskExecutors:
		as.st.Orphans.MarkReported(o.TaskID)
	case !o.Returnable:
		as.killOrphan(o)
	}
	isStuck := as.recordStaged(o, u.State)
	switch u.State {
	case cluster.Unreachable:
		as.st.Orphans.MarkAway(o.TaskID, as.st.Now())
	case cluster.Unknown:
		if as.st.Agents.Registered(o.Agent) && o.Until.IsZero() {
			as.st.Orphans.EndUnseen(o.TaskID)
			return
		}
		as.st.Orphans.MarkAway(o.TaskID, as.st.Now())
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		as.st.Orphans.Supersede(o.Job, func(other *orphans.Orphan) bool { return other.TaskID == o.TaskID })
		if isStuck {
			as.st.Orphans.MarkAway(o.TaskID, as.st.Now())
		} else {
			as.st.Orphans.MarkAlive(o.TaskID)
		}
		as.killOrphan(o)
	default:
		// A master reports a removed task as gone before its processes have ended.
		if u.State.Terminal() && (o.Until.IsZero() || u.Source != cluster.FromMaster) {
			as.recording.TraceOrphan(o, u)
			switch {
			case as.knowsEnd(u):
				as.st.Orphans.Remove(o.TaskID)
			case o.Lease > 0 && u.Status != nil && u.Status.Unkilled:
				as.st.Orphans.MarkUnkilled(o.TaskID)
				as.cordonUnkilled(*o)
			default:
				as.st.Orphans.EndUnseen(o.TaskID)
			}
		}
	}
}

// recordStaged records since when an orphan was reported as STAGING and as nothing else, and returns whether it is
// stuck: it has been STAGING for as long as a live attempt may be. Like a live attempt that is stuck, such an orphan
// is treated as if its agent were away, because no executor takes the task, and the master reports STAGING for as long
// as the agent is registered. If the task starts nevertheless, its next update is a sign of life.
func (as *Attempts) recordStaged(o *orphans.Orphan, state cluster.State) (isStuck bool) {
	since := o.Staged
	switch {
	case state != cluster.Staging:
		since = time.Time{}
	case since.IsZero():
		since = as.st.Now()
	}
	as.st.Orphans.RecordStaged(o.TaskID, since)
	return !since.IsZero() && as.st.Now().Sub(since) >= as.st.Opt.StagingLost
}

// addEnding keeps an attempt that the cluster has removed as an orphan for as long as its processes may live. Until
// then no later attempt of its shard begins, not even in the next execution of its job (promise 2).
func (as *Attempts) addEnding(o orphans.Orphan, lingerTime time.Duration) {
	o.Blocks, o.Until = true, as.st.Now().Add(lingerTime)
	as.st.Orphans.Add(o)
}

// sweepOrphans removes the orphans that are too old, and unblocks the shards of those whose agent has been away for
// long enough (rules E4, E5). One that blocks its shard never gets too old: its age, by a clock that may have leapt,
// does not show that it has ended.
func (as *Attempts) sweepOrphans() {
	for _, o := range as.st.Orphans.All() {
		as.SupersedeAwaited(o.Job)
		as.st.Orphans.CountLease(o.TaskID)
		switch {
		case !o.IsBlocking() && as.st.Now().Sub(o.Since) > as.st.Opt.OrphanRetention:
			as.st.Orphans.Remove(o.TaskID)
		case !o.Until.IsZero() && !as.st.Now().Before(o.Until):
			as.st.Orphans.EndUnseen(o.TaskID)
		case o.Away.IsZero() || !as.st.Subscription.Open() || !o.Reported:
		case as.st.Now().Sub(o.Away) >= cmp.Or(o.After, as.st.Opt.UnreachableAfter):
			as.st.Orphans.Unblock(o.TaskID)
		}
	}
}
