package attempts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

var (
	boom      = reason.FromText("boom")
	onRequest = reason.Of(reason.KilledOnRequest)
	stopped   = reason.Of(reason.ServerStopped)
	drained   = reason.MachineDrained("m1")
)

// TestNext has a row for each rule about what follows the end of an attempt.
func TestNext(t *testing.T) {
	t.Parallel()
	// end returns the end of an attempt of a normal job, with changes.
	end := func(change ...func(*ending)) ending {
		in := ending{
			cause: boom, agent: "S1", tries: 3, next: executions.NormalTrigger, source: executions.Triggered,
			retry:  retryLimits{minDelay: 2 * time.Second, maxDelay: 20 * time.Second, timeoutSeconds: 10},
			limits: attemptLimits{losses: 2, errors: 2, starts: 2, minDelay: time.Second, maxDelay: 4 * time.Second},
		}
		for _, fn := range change {
			fn(&in)
		}
		return in
	}
	result := func(o outcome) func(*ending) { return func(in *ending) { in.outcome = o } }
	counts := func(c executions.Tries) func(*ending) { return func(in *ending) { in.counts = c } }
	retries := func(n int) func(*ending) { return func(in *ending) { in.retry.max = n } }
	killWanted := func(in *ending) { in.killWanted = true }
	kill := func(why reason.Reason) func(*ending) { return func(in *ending) { in.killWanted, in.kill = true, why } }
	runEnds := func(why reason.Reason) func(*ending) {
		return func(in *ending) { in.killWanted, in.runEnds = true, why }
	}
	timedOut := func(in *ending) { in.killWanted, in.timedOut, in.ran = true, true, 11*time.Second }
	causeOfCluster := func(in *ending) { in.cause = reason.ClusterReported("KILLED", "", "boom") }
	endedByForce := func(in *ending) { in.cause = reason.EndedByForce(boom) }
	failover := func(in *ending) { in.failover = true }
	away := func(in *ending) { in.away = true }
	silent := func(machine string) func(*ending) { return func(in *ending) { in.away, in.machine = true, machine } }
	daemon := func(in *ending) {
		in.daemon, in.source, in.next = true, executions.DaemonSource, executions.DaemonSource
	}
	servedElsewhere := func(in *ending) { in.servedElsewhere = true }
	ranBefore := func(in *ending) { in.ranBefore = true }
	taskExecutors := func(in *ending) { in.taskExecutors = true }

	for _, row := range []struct {
		rule string
		in   ending
		want string
	}{
		{"S4 the first end is final", end(result(outcomeFinished)), "FINISHED: boom"},
		{"M3 a shard that the deadline of a drain kills runs again", end(kill(drained), result(outcomeKilled)), "WAITING FAILOVER in 1s: its machine m1 is drained; attempt KILLED"},
		{"M3 also if it failed when it was killed", end(kill(drained), result(outcomeFailed)), "WAITING FAILOVER in 1s: its machine m1 is drained; attempt KILLED"},
		{"M3 also if it was lost", end(kill(drained), result(outcomeLost)), "WAITING FAILOVER in 1s: its machine m1 is drained; attempt LOST"},
		{"M3 a shard that had finished stays finished", end(kill(drained), result(outcomeFinished)), "FINISHED: boom"},
		{"M3 it does not run again if its run is to end", end(kill(drained), runEnds(onRequest), result(outcomeKilled)), "KILLED: killed on request; boom"},
		{"M3 a daemon's shard goes on", end(kill(drained), daemon, result(outcomeKilled)), "WAITING DAEMON in 1s: its machine m1 is drained; attempt KILLED"},

		{"E1 a task that never began is launched again, with the same source", end(result(outcomeNeverStarted)),
			"WAITING NORMAL_TRIGGER in 4s: boom; attempt FAILED"},
		{"E1 a daemon's delay grows with its failures, not with its age",
			end(result(outcomeNeverStarted), daemon, counts(executions.Tries{Losses: 1})),
			"WAITING DAEMON in 2s: boom; losses 1; attempt FAILED"},
		{"E1 a task that the master refused is launched again", end(result(outcomeRejected)),
			"WAITING NORMAL_TRIGGER in 1s: boom; errors 1; attempt FAILED"},
		{"E1 it is launched on a new executor, if the old one may be the cause",
			end(result(outcomeRejected), daemon, ranBefore, counts(executions.Tries{Errors: 1})),
			"WAITING DAEMON in 2s: boom; errors 2; closes its executor; attempt FAILED"},
		{"E1 a task that the master refuses too often fails", end(result(outcomeRejected), counts(executions.Tries{Errors: 1})),
			"FAILED: boom; errors 2"},

		{"E2 a lost shard is not run again without failover", end(result(outcomeLost)), "LOST: boom"},
		{"E2 a lost shard is run again with failover", end(result(outcomeLost), failover),
			"WAITING FAILOVER in 1s: boom; losses 1; attempt LOST"},
		{"E2 a shard that is lost too often fails", end(result(outcomeLost), failover, counts(executions.Tries{Losses: 1})),
			"FAILED: lost 2 times; last: boom; losses 2"},
		{"E2 agents that go away don't count",
			end(result(outcomeLost), failover, away, counts(executions.Tries{Losses: 1})),
			"WAITING FAILOVER in 1s: boom; losses 1; attempt LOST"},
		{"E2 a machine that fell silent with it is counted", end(result(outcomeLost), failover, silent("h1")),
			"WAITING FAILOVER in 1s: boom; machines 1; attempt LOST"},
		{"E2 the same machine is counted once", end(result(outcomeLost), failover, silent("h1"),
			counts(executions.Tries{Machines: 1, Machine: "h1"})),
			"WAITING FAILOVER in 1s: boom; machines 1; attempt LOST"},
		{"E2 a shard with which two machines were lost is not run again", end(result(outcomeLost), failover, silent("h2"),
			counts(executions.Tries{Machines: 1, Machine: "h1"})),
			"LOST: it was lost with 2 machines, which it may have brought down, so it is not run again: boom; machines 2"},
		{"E2 a daemon's shard is run again, however many machines were lost with it", end(result(outcomeLost), daemon, silent("h2"),
			counts(executions.Tries{Machines: 1, Machine: "h1"})),
			"WAITING FAILOVER in 1s: boom; machines 2; attempt LOST"},
		{"E2 a daemon's shard is run again, however often it is lost", end(result(outcomeLost), daemon, counts(executions.Tries{Losses: 9})),
			"WAITING FAILOVER in 4s: boom; losses 10; attempt LOST"},

		{"E3 a shard that failed by itself is not run again", end(result(outcomeFailed)), "FAILED: boom"},
		{"E3 maxRetries runs it again", end(result(outcomeFailed), retries(2), counts(executions.Tries{Fails: 1})),
			"WAITING TRIGGER in 4s: boom; fails 2; attempt FAILED"},
		{"E6 it is not run again more often than maxRetries",
			end(result(outcomeFailed), retries(2), counts(executions.Tries{Fails: 2})),
			"FAILED: boom; fails 2"},
		{"X8 a daemon that ends is run again", end(result(outcomeFailed), daemon),
			"WAITING DAEMON in 1s: boom; fails 1; attempt FAILED"},
		{"X8 also when it succeeds", end(result(outcomeFinished), daemon, counts(executions.Tries{Fails: 1})),
			"WAITING DAEMON in 2s: boom; fails 2; attempt FAILED"},

		{"X1 an executor with another ExecutorInfo at the master gets no more tasks", end(result(outcomeExecutorInfoMismatch)),
			"WAITING NORMAL_TRIGGER in 4s: boom; closes its executor for its ExecutorInfo; attempt FAILED"},
		{"L6 an agent where the executor does not start is avoided", end(result(outcomeExecutorStartFailed)),
			"WAITING NORMAL_TRIGGER in 1s: boom; starts 1; blames the agent; attempt FAILED"},
		{"L6 a shard that does not start too often fails",
			end(result(outcomeExecutorStartFailed), counts(executions.Tries{Starts: 1})),
			"FAILED: the app's executor did not start, 2 times; last on agent S1: boom; starts 2; blames the agent"},
		{"L6 so does a shard whose tasks have their own executors",
			end(result(outcomeExecutorStartFailed), taskExecutors, counts(executions.Tries{Starts: 1})),
			"FAILED: a task of the app did not start, 2 times; last on agent S1: boom; starts 2; blames the agent"},
		{"X4 an agent that was to fetch the executor from another leader is not blamed", end(result(outcomeExecutorStartFailed), servedElsewhere),
			"WAITING NORMAL_TRIGGER in 4s: boom; closes its executor; attempt FAILED"},

		{"K1 a task that was killed by its id is not run again", end(result(outcomeLost), failover, kill(onRequest)),
			"KILLED: killed on request"},
		{"K1 the reason says that SIGKILL ended it", end(result(outcomeKilled), endedByForce, kill(onRequest)),
			"KILLED: " + reason.EndedByForce(onRequest.Saying(boom)).String()},
		{"K1 the reason keeps the job's own words", end(result(outcomeKilled), kill(onRequest)), "KILLED: killed on request; boom"},
		{"K1 the reason omits the cluster's words", end(result(outcomeKilled), kill(onRequest), causeOfCluster),
			"KILLED: killed on request"},
		{"K1 a task that had finished stays finished", end(result(outcomeFinished), kill(onRequest)), "FINISHED: boom"},
		{"K1 it is not run again by the next server either", end(result(outcomeKilled), failover, runEnds(stopped), kill(onRequest)),
			"KILLED: killed on request; boom"},
		{"X8 a daemon's shard goes on", end(result(outcomeKilled), daemon, kill(onRequest)),
			"WAITING DAEMON in 1s: killed on request; attempt KILLED"},
		{"X8 it ends if its run is to end", end(result(outcomeKilled), daemon, runEnds(reason.Of(reason.Disabled)), kill(onRequest)),
			"KILLED: the job is disabled; boom"},
		{"K2 a run that is to end ends", end(result(outcomeKilled), runEnds(reason.Of(reason.Disabled))),
			"KILLED: the job is disabled; boom"},
		{"K2 also if its task was lost", end(result(outcomeLost), failover, runEnds(reason.Of(reason.Disabled))),
			"KILLED: the job is disabled"},
		{"K2 a shard that had finished stays finished", end(result(outcomeFinished), runEnds(reason.Of(reason.Disabled))),
			"FINISHED: boom"},

		{"O4 a shard that a stopping server kills is run again", end(result(outcomeKilled), failover, runEnds(stopped)),
			"WAITING FAILOVER in 1s: lost by shutdown of the scheduler; attempt KILLED"},
		{"O4 without failover it is lost", end(result(outcomeKilled), runEnds(stopped)),
			"LOST: lost by shutdown of the scheduler; boom"},
		{"O4 a shard that had finished stays finished", end(result(outcomeFinished), failover, runEnds(stopped)),
			"FINISHED: boom"},
		{"O4 a daemon's shard is run again even then", end(result(outcomeFinished), daemon, runEnds(stopped)),
			"WAITING FAILOVER in 1s: lost by shutdown of the scheduler; attempt FAILED"},

		{"K4 a task that ran for too long has timed out", end(result(outcomeKilled), timedOut),
			"TIMED_OUT: timed out: it ran for 11s, the job's timeoutSeconds is 10; boom"},
		{"K4 a timeout is retried", end(result(outcomeFailed), timedOut, retries(1)),
			"WAITING TRIGGER in 2s: timed out: it ran for 11s, the job's timeoutSeconds is 10; boom; fails 1; attempt TIMED_OUT"},
		{"K4 a task that had finished stays finished", end(result(outcomeFinished), timedOut), "FINISHED: boom"},
		{"K4 a loss with the agent counts as a loss", end(result(outcomeLost), timedOut, failover, away),
			"WAITING FAILOVER in 1s: boom; attempt LOST"},
		{"K4 it also counts as a loss while the server stops",
			end(result(outcomeLost), timedOut, failover, away, runEnds(stopped)),
			"WAITING FAILOVER in 1s: lost by shutdown of the scheduler; attempt LOST"},
		{"K4 the end of the run takes precedence",
			end(result(outcomeKilled), timedOut, runEnds(reason.Of(reason.Disabled))),
			"KILLED: the job is disabled; boom"},
		{"K4 a kill of the task takes precedence", end(result(outcomeKilled), timedOut, kill(onRequest)),
			"KILLED: killed on request; boom"},
		{"K1 a kill without a reason of its own", end(result(outcomeKilled), killWanted), "KILLED: "},
	} {
		if got := next(row.in).String(); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.rule, got, row.want)
		}
	}
}

// String describes a verdict for tests. It omits counts that are 0.
func (v verdict) String() string {
	var b strings.Builder
	b.WriteString(string(v.state))
	if v.state == executions.Waiting {
		fmt.Fprintf(&b, " %s in %v", v.source, v.delay)
	}
	fmt.Fprintf(&b, ": %s", v.cause)
	for i, n := range []int{v.counts.Errors, v.counts.Losses, v.counts.Fails, v.counts.Starts, v.counts.Machines} {
		if n > 0 {
			fmt.Fprintf(&b, "; %s %d", [...]string{"errors", "losses", "fails", "starts", "machines"}[i], n)
		}
	}
	switch {
	case v.mismatch:
		b.WriteString("; closes its executor for its ExecutorInfo")
	case v.closeExecutor:
		b.WriteString("; closes its executor")
	}
	if v.blameAgent {
		b.WriteString("; blames the agent")
	}
	if v.attempt != v.state {
		fmt.Fprintf(&b, "; attempt %s", v.attempt)
	}
	return b.String()
}

// TestNextAlwaysDecides checks for all combinations of inputs that the shard ends or waits, that no counter decreases
// and at most one grows, and that a daemon's shard ends only with its run.
func TestNextAlwaysDecides(t *testing.T) {
	t.Parallel()
	bools := []bool{false, true}
	kills := []reason.Reason{{}, onRequest, stopped, reason.Of(reason.Disabled)}
	for result := outcomeFinished; result <= outcomeKilled; result++ {
		for _, kill := range kills[:2] {
			for _, runEnds := range kills {
				for flags := range 1 << 6 {
					bit := func(i int) bool { return bools[flags>>i&1] }
					in := ending{outcome: result, cause: boom, kill: kill, runEnds: runEnds, tries: 2,
						next: executions.NormalTrigger, source: executions.Triggered,
						killWanted: !kill.IsZero() || !runEnds.IsZero() && bit(0),
						daemon:     bit(2), failover: bit(3), away: bit(4),
						counts: executions.Tries{Errors: 1, Losses: 1, Fails: 1, Starts: 1},
						limits: attemptLimits{losses: 2, errors: 2, starts: 2, minDelay: 1, maxDelay: 8}}
					if bit(5) {
						in.retry.max = 2
					}
					if bit(1) && !in.daemon { // the executors of daemons enforce their timeouts
						in.killWanted, in.timedOut = true, true
					}
					if result == outcomeKilled {
						in.killWanted = true // classify returns outcomeKilled only then
					}
					if in.daemon && in.killWanted && kill.IsZero() && runEnds.IsZero() {
						continue // a kill of the task alone was requested
					}
					v := next(in)
					switch grown := v.counts.Sum() - in.counts.Sum(); {
					case !v.state.Terminal() && v.state != executions.Waiting,
						v.state == executions.Waiting && v.source == "",
						!v.attempt.Terminal():
						t.Fatalf("%+v: the shard neither ends nor waits: %v", in, v)
					case v.counts.Errors < 1, v.counts.Losses < 1, v.counts.Fails < 1, v.counts.Starts < 1, grown > 1:
						t.Fatalf("%+v: the counts become %+v", in, v.counts)
					case in.daemon && executions.GoesOn(runEnds) && v.state.Terminal():
						t.Fatalf("%+v: a daemon's shard ends: %v", in, v)
					}
				}
			}
		}
	}
}
