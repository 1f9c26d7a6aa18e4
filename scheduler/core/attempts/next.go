package attempts

import (
	"cmp"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// maxMachines is the number of different machines lost together with attempts of one shard at which the shard is not
// run again, because it probably brings the machines down. A daemon's shard always goes on.
const maxMachines = 2

// ending is the input of next: everything that decides what follows the end of an attempt.
type ending struct {
	outcome outcome
	cause   reason.Reason // the reported cause of the end
	agent   string

	// away is set when the attempt was lost with its agent. machine is the one that fell silent with the attempt, ""
	// if the agent went away in another way, such as an orderly removal.
	away    bool
	machine string
	// killWanted is set when a kill of the task was wanted; kill has the reason if this task alone was to be killed.
	// timedOut is set if the kill was for the task's timeout; ran is for how long the task ran (rules K1, K4).
	killWanted bool
	kill       reason.Reason
	timedOut   bool
	ran        time.Duration

	// tries counts the shard's attempts, this one included; counts says how many of them were refused, lost, failed or
	// did not start. next is the source of the next attempt unless the end of this one gives it another.
	tries  int
	counts executions.Tries
	next   executions.Source

	// daemon says that the shard belongs to a daemon's standing execution. runEnds is the reason why the rest of the
	// execution is to end, zero if it goes on. source is the source of the execution. failover says that a lost shard
	// of the job is run again.
	daemon   bool
	runEnds  reason.Reason
	source   executions.Source
	failover bool
	retry    retryLimits

	// servedElsewhere is set when the agent was to fetch the executor from another leader, ranBefore when the executor
	// is known to have started.
	servedElsewhere, ranBefore bool
	taskExecutors              bool
	limits                     attemptLimits
}

// retryLimits are the settings of a job for shards that failed or timed out (rules E3, E6, K4).
type retryLimits struct {
	max                int
	minDelay, maxDelay time.Duration
	timeoutSeconds     int
}

// attemptLimits bound how often a shard is tried again after attempts that ended in other ways, and the delay before
// that.
type attemptLimits struct {
	losses, errors, starts int
	minDelay, maxDelay     time.Duration
}

// verdict is the result of next. The shard has ended if state is terminal; else it waits for another attempt.
type verdict struct {
	state executions.State
	cause reason.Reason
	// attempt is the state that the attempt itself is recorded with.
	attempt executions.State
	counts  executions.Tries
	// source and delay are those of the next attempt.
	source executions.Source
	delay  time.Duration
	// closeExecutor says that the executor gets no more tasks. mismatch says that the master knows it with another
	// ExecutorInfo. blameAgent keeps the app off the agent for a while.
	closeExecutor, mismatch, blameAgent bool
}

// next decides what follows the end of an attempt: the shard ends with it, or waits for another attempt. The decision
// depends on nothing but the input.
func next(in ending) verdict {
	v := in.decide()
	switch {
	case v.state.Terminal():
		v.attempt = v.state
	case in.timedOut && !in.lostWithAgent():
		v.attempt = executions.TimedOut
	case in.outcome == outcomeLost:
		v.attempt = executions.Lost
	case in.outcome == outcomeKilled, in.drained():
		v.attempt = executions.Killed
	default:
		v.attempt = executions.Failed
	}
	return v
}

func (in *ending) decide() verdict {
	wanted := in.killWanted
	switch {
	case !in.kill.IsZero():
		return in.afterOwnKill()
	case in.timedOut && in.runGoesOn():
		if !in.lostWithAgent() {
			return in.afterTimeout()
		}
		wanted = !in.runEnds.IsZero()
	}
	switch finished := in.outcome == outcomeFinished; {
	case (!finished || in.daemon) && in.runEnds.Is(reason.ServerStopped) && in.reruns():
		return in.requeue(in.runEnds, executions.FailoverSource, 0) // for the next server (rule O4)
	case !wanted && in.runEnds.IsZero():
		return in.afterOwnEnd()
	case finished:
		return in.complete(executions.Finished, in.cause)
	case in.runEnds.Is(reason.ServerStopped):
		return in.complete(executions.Lost, in.runEnds)
	}
	return in.complete(executions.Killed, in.runEnds)
}

// afterOwnKill decides after a kill of this task alone. Neither failover nor the stop of a server makes the shard run
// again, but a daemon's shard always goes on.
func (in *ending) afterOwnKill() verdict {
	switch {
	case in.daemon && in.runGoesOn():
		return in.requeue(in.kill, in.source, 0)
	case in.drained() && in.runGoesOn():
		return in.requeue(in.kill, executions.FailoverSource, 0)
	case in.drained():
		return in.complete(executions.Killed, in.runEnds)
	case in.outcome == outcomeFinished:
		return in.complete(executions.Finished, in.cause)
	case in.daemon:
		// An earlier attempt may have been drained or replaced.
		return in.complete(executions.Killed, in.runEnds)
	}
	return in.complete(executions.Killed, in.kill)
}

// drained reports whether the deadline of a drain has ended the attempt. That is neither a success nor a failure, and
// no loss (rule M3).
func (in *ending) drained() bool { return in.kill.Is(reason.Drained) && in.outcome != outcomeFinished }

// lostWithAgent reports whether the attempt may have been lost with its agent before its timeout. Then failover
// applies, as after any loss (rule E2).
func (in *ending) lostWithAgent() bool { return in.outcome == outcomeLost && in.failover && in.away }

// afterTimeout decides after the task exceeded its timeout (rule K4). If the executor reports the task as finished, it
// finished before the kill reached it. A task that ended with status 0 after SIGTERM is not reported so: that status
// says only that the process ended as requested. The reported cause is what the task said at its end.
func (in *ending) afterTimeout() verdict {
	if in.outcome == outcomeFinished {
		return in.complete(executions.Finished, in.cause)
	}
	return in.failed(executions.TimedOut, reason.TimedOut(in.ran, in.retry.timeoutSeconds, in.cause))
}

// afterOwnEnd decides after an end that was not requested (rules E1-E3, X1, L6). A daemon's shard is tried without
// limit, with a growing delay, because an operator may remove the cause, which explain shows.
func (in *ending) afterOwnEnd() verdict {
	triesBefore := in.tries - 1
	if in.daemon {
		triesBefore = in.counts.Sum() // the attempts of a daemon's shard are counted over months
	}
	mayRepeat := func(tries, limit int) bool { return in.daemon || tries < limit }
	counts := in.counts
	switch in.outcome {
	case outcomeFinished, outcomeFailed:
		if in.daemon {
			counts.Fails++
			return in.requeue(in.cause, in.source, counts.Fails-1).withCounts(counts)
		}
		if in.outcome == outcomeFinished {
			return in.complete(executions.Finished, in.cause)
		}
		return in.failed(executions.Failed, in.cause)
	case outcomeLost:
		if !in.reruns() {
			return in.complete(executions.Lost, in.cause)
		}
		if in.machine != "" {
			counts.CountMachine(in.machine)
		}
		if !in.away {
			counts.Losses++
		}
		if !in.daemon && counts.Machines >= maxMachines {
			return in.complete(executions.Lost, reason.TookMachines(counts.Machines, in.cause)).withCounts(counts)
		}
		if !mayRepeat(counts.Losses, in.limits.losses) {
			return in.complete(executions.Failed, reason.LostTooOften(counts.Losses, in.cause)).withCounts(counts)
		}
		return in.requeue(in.cause, executions.FailoverSource, max(counts.Losses-1, 0)).withCounts(counts)
	case outcomeRejected:
		counts.Errors++
		if !mayRepeat(counts.Errors, in.limits.errors) {
			return in.complete(executions.Failed, in.cause).withCounts(counts)
		}
		v := in.requeue(in.cause, in.next, counts.Errors-1).withCounts(counts)
		// The error may be about the executor, in words that the driver does not recognize.
		v.closeExecutor = in.ranBefore && counts.Errors > 1
		return v
	case outcomeExecutorInfoMismatch:
		// The job is not at fault: the executor runs, but was started with another ExecutorInfo, for example under
		// another role, and the master will refuse every task for it.
		v := in.requeue(in.cause, in.next, triesBefore)
		v.closeExecutor, v.mismatch = true, true
		return v
	case outcomeExecutorStartFailed:
		if in.servedElsewhere {
			// The agent is not at fault: it was to fetch the executor from another leader. A new one is fetched from
			// this leader (rules L6, X4).
			v := in.requeue(in.cause, in.next, triesBefore)
			v.closeExecutor = true
			return v
		}
		counts.Starts++
		v := in.requeue(in.cause, in.next, 0)
		if !mayRepeat(counts.Starts, in.limits.starts) {
			v = in.complete(executions.Failed,
				reason.NotStartedTooOften(in.taskExecutors, counts.Starts, in.agent, in.cause))
		}
		v.blameAgent = true
		return v.withCounts(counts)
	case outcomeNeverStarted:
		return in.requeue(in.cause, in.next, triesBefore)
	}
	return in.complete(executions.Killed, in.cause) // outcomeKilled requires a wanted kill
}

// failed ends the shard, or returns it to the queue if its job's maxRetries allow that (rules E3, E6).
func (in *ending) failed(state executions.State, cause reason.Reason) verdict {
	if in.counts.Fails >= in.retry.max {
		return in.complete(state, cause)
	}
	v := in.requeue(cause, in.source, 0)
	v.delay = step.Backoff(in.retry.minDelay, in.retry.maxDelay, in.counts.Fails)
	v.counts.Fails++
	return v
}

// runGoesOn reports whether the execution goes on, at the latest under the next server (executions.GoesOn).
func (in *ending) runGoesOn() bool { return executions.GoesOn(in.runEnds) }

// reruns reports whether a lost shard is run again (rule E2).
func (in *ending) reruns() bool { return in.daemon || in.failover }

// complete returns the verdict that ends the shard. If the cause is not the reported one, as after a kill, it is
// extended by what the task said at its end, and by the note that the task was ended by force.
func (in *ending) complete(state executions.State, cause reason.Reason) verdict {
	if (state == executions.Killed || state == executions.Lost) && !cause.Equal(in.cause) {
		said, forced := in.cause.Force()
		processEnded := in.outcome == outcomeKilled || in.outcome == outcomeFailed
		if processEnded && said.Is(reason.PlainText) {
			cause = cause.Saying(said)
		}
		if forced {
			cause = reason.EndedByForce(cause)
		}
	}
	return verdict{state: state, cause: cause, counts: in.counts}
}

// requeue returns the verdict that gives the shard another attempt, after a delay that grows with triesBefore.
func (in *ending) requeue(cause reason.Reason, source executions.Source, triesBefore int) verdict {
	delay := step.Backoff(in.limits.minDelay, in.limits.maxDelay, triesBefore)
	return verdict{state: executions.Waiting, cause: cause, counts: in.counts, source: source, delay: delay}
}

// withCounts returns the verdict with the new counts of the shard.
func (v verdict) withCounts(counts executions.Tries) verdict {
	v.counts = counts
	return v
}

// endingOf collects the input of next for a shard whose attempt has ended.
func (as *Attempts) endingOf(ref executions.TaskRef, result outcome) ending {
	e, s := ref.Exec, ref.Shard()
	job := &e.Settings().Job
	first, limit := as.st.Executions.RetryBackoff(job)
	in := ending{
		outcome: result, cause: s.Cause(), agent: s.Agent(),
		away:       !s.Unreachable().IsZero() || !as.st.Agents.Registered(s.Agent()),
		killWanted: !s.KillSince().IsZero(), kill: s.Kill(), timedOut: s.TimedOut(),
		tries: s.Attempt(), counts: s.Tries(), next: s.Source(),
		daemon: e.Daemon(), runEnds: e.Kill(), source: e.Source(), failover: job.Failover,
		retry: retryLimits{max: job.MaxRetries, minDelay: first, maxDelay: limit,
			timeoutSeconds: job.TimeoutSeconds},
		taskExecutors: as.st.Opt.TaskExecutors,
		limits: attemptLimits{
			losses: as.st.Opt.MaxLosses, errors: as.st.Opt.MaxErrors, starts: as.st.Opt.MaxStarts,
			minDelay: as.st.Opt.MinBackoff, maxDelay: as.st.Opt.MaxBackoff,
		},
	}
	if !s.Unreachable().IsZero() {
		in.machine = cmp.Or(s.Host(), s.Agent())
	}
	if s.TimedOut() {
		in.ran = as.st.Now().Sub(s.RunningAt()).Round(100 * time.Millisecond)
	}
	if x := as.st.Executors.Get(s.Executor()); x != nil {
		in.servedElsewhere, in.ranBefore = x.Info().BinaryURI != as.st.Opt.ExecutorBinary, x.Ran()
	}
	return in
}
