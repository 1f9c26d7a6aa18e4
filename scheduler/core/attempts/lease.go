package attempts

import (
	"cmp"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
)

// The task of an exclusive job runs only while its executor holds a lease for it (rule K5). Only a live attempt gets a
// lease. When an attempt ends and its executor has not reported that, its processes may live on until its lease and
// its grace are over. The attempt is then kept as an orphan, which blocks its shard for lease.NextAttempt after the
// lease was last asked for.
//
// A new leader doesn't know when that was, so it counts from its own election. Its predecessor gave no lease after
// that: an answer leaves only after the registry has confirmed the term.
//
// Where tasks can't ask for a lease (Options.LeaseURLs is empty), an exclusive attempt is Unleased. It is never given
// up: while its agent is away, its shard waits for the report of its end, or for an operator.

// RenewLeases answers a request for leases whose signature was checked; nil if the request is a copy. The caller
// confirms the term after the step before it sends the answer.
func (as *Attempts) RenewLeases(r lease.Request) *lease.Answer {
	if !as.st.Leases.Accept(r) {
		return nil
	}
	a := &lease.Answer{Start: r.Start, Number: r.Number, Term: as.st.Opt.Term}
	for _, id := range r.Tasks {
		switch as.renewLease(r, id) {
		case granted:
			a.Granted = append(a.Granted, id)
		case ended:
			a.Ended = append(a.Ended, id)
		case undecided:
		}
	}
	if x := as.st.Executors.Get(r.Holder); x != nil && len(a.Granted) > 0 {
		as.st.Executors.RecordHeartbeat(x) // it runs, although its agent may be cut off from the cluster
		as.endSilence(x)
	}
	return a
}

// renewal is the answer to a request about one of its tasks.
type renewal int

const (
	granted   renewal = iota // the task has a lease
	ended                    // the task must end
	undecided                // the task keeps the lease that it has
)

// renewLease decides about one task of a request. A task that was given up is taken back if that is possible.
func (as *Attempts) renewLease(r lease.Request, taskID string) renewal {
	if o, found := as.st.Orphans.Get(taskID); found && cmp.Or(o.Executor, taskID) == r.Holder {
		if r.Term != as.st.Opt.Term {
			return undecided
		}
		if !as.takeBack(&o, cluster.Running) {
			return ended
		}
	}
	ref, found := as.st.Executions.Task(taskID)
	if !found {
		return ended
	}
	s := ref.Shard()
	isEnding := !s.KillSince().IsZero() && !s.Drain()
	if !s.Live() || s.Lease() == 0 || cmp.Or(s.Executor(), taskID) != r.Holder || isEnding {
		return ended
	}
	if as.st.Leases.Record(taskID) {
		as.st.ExecutionChanged(ref.Exec.ID(), ref.Exec.Job())
	}
	return granted
}

// leaseAskedWithin is how soon after its launch an executor usually asks for the lease of an exclusive task.
const leaseAskedWithin = 15 * time.Second

// markLeaseOverdue records that the executor of an exclusive task has not asked for its first lease within
// leaseAskedWithin, so that users see why the task has not begun.
func (as *Attempts) markLeaseOverdue(ref executions.TaskRef) {
	s := ref.Shard()
	if s.Lease() > 0 && as.st.Leases.AskedAt(s.TaskID()).IsZero() &&
		as.st.Now().Sub(s.Launched()) >= leaseAskedWithin && as.st.Leases.MarkOverdue(s.TaskID()) {
		as.st.ExecutionChanged(ref.Exec.ID(), ref.Exec.Job())
	}
}

// ForgetUnleased ends an unreachable attempt that is exclusive and has no lease, because an operator confirms that it
// has ended (rule K5). It returns false for any other attempt. The cluster keeps the kill, so that the task ends if it
// does run when its agent is back.
func (as *Attempts) ForgetUnleased(taskID string, why reason.Reason) bool {
	ref, found := as.st.Executions.Task(taskID)
	if !found {
		return false
	}
	s := ref.Shard()
	if !s.Live() || !s.Unleased() || s.Unreachable().IsZero() {
		return false
	}
	if s.AcceptSeq() == 0 {
		as.st.Kill(taskID, s.Agent(), as.st.Executions.TaskGrace(ref), "an operator confirmed that it has ended")
	}
	as.st.Executions.SetCause(ref, why)
	as.recording.TraceDecided(ref, cluster.GoneByOperator, why)
	as.endAttempt(ref, outcomeLost, 0)
	return true
}

// isHolder reports whether an executor, or a task with its own executor, may ask for leases.
func (as *Attempts) isHolder(holder string) bool {
	_, isTask := as.st.Executions.Task(holder)
	return isTask || as.st.Executors.Get(holder) != nil
}

// RestoreLeases assumes, when a term begins, that each live exclusive task has just been given a lease.
func (as *Attempts) RestoreLeases() {
	for _, id := range as.st.Executions.TaskIDs() {
		if ref, found := as.st.Executions.Task(id); found && ref.Shard().Live() && ref.Shard().Lease() > 0 {
			as.st.Leases.Record(id)
		}
	}
}

// holdsLease reports whether the lease of a task was asked for so recently that its executor is not silent.
func (as *Attempts) holdsLease(s *executions.Shard) bool {
	at := as.st.Leases.AskedAt(s.TaskID())
	return s.Lease() > 0 && !at.IsZero() && as.st.Now().Sub(at) < silentAfter
}

// addLease records in the orphan of an attempt how long its processes may live on its lease. It does nothing if the
// attempt is not exclusive, or never had a lease and therefore never began.
func (as *Attempts) addLease(o *orphans.Orphan, ref executions.TaskRef) {
	s := ref.Shard()
	if at := as.st.Leases.AskedAt(s.TaskID()); s.Lease() > 0 && !at.IsZero() {
		o.HoldLease(lease.NextAttempt(s.Lease(), as.st.Executions.TaskGrace(ref)), at)
	}
}

// keepUnkilled keeps an exclusive attempt as an orphan, because its executor could not end all of its processes, and
// cordons their machine. It returns false, and does nothing, if u does not say that or the attempt is not exclusive.
func (as *Attempts) keepUnkilled(ref executions.TaskRef, u cluster.Update) bool {
	s := ref.Shard()
	if s.Lease() == 0 || u.Source != cluster.FromExecutor || u.Status == nil || !u.Status.Unkilled {
		return false
	}
	o := as.newOrphan(ref)
	o.Unkilled, o.Reported = true, true
	as.st.Orphans.Add(o)
	as.cordonUnkilled(o)
	return true
}

// cordonUnkilled cordons the machine of an orphan whose processes can't be ended.
func (as *Attempts) cordonUnkilled(o orphans.Orphan) {
	if o.Host != "" {
		as.st.Machines.CordonUnkilled(o.Host, o.TaskID)
	}
}

// keepUnseen keeps an attempt as an orphan until its lease is over, because the cluster has reported its end, but its
// executor has not. It does nothing if the attempt holds no lease.
func (as *Attempts) keepUnseen(ref executions.TaskRef) {
	if o := as.newOrphan(ref); o.HoldsLease() {
		o.Unseen, o.Reported = true, true
		as.st.Orphans.Add(o)
	}
}

// knowsEnd reports whether u, which reports the end of a task, proves that none of its processes is left. Only the
// task's executor knows that; where each task has its own executor, the cluster's agent knows it, too.
func (as *Attempts) knowsEnd(u cluster.Update) bool {
	return u.Source == cluster.FromExecutor && (u.Status == nil || !u.Status.Unkilled) ||
		u.Source == cluster.FromAgent && as.st.Opt.TaskExecutors
}
