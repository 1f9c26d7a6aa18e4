// Package attempts follows the task of each attempt from its launch to its end: it applies status updates and executor
// reports, sends kills, enforces timeouts, and decides what the end of an attempt means and what follows from it
// (rules E1 to E6, K1 to K5, S1 to S5). An attempt that it abandons becomes an orphan.
//
// The records of attempts belong to package executions and those of orphans to package orphans; this package changes
// both through their transitions only. Its own state is the times of its checks and what it knows of silent executors;
// none of that is stored. It launches nothing: a shard that is to run again waits for package placement.
//
// # The life of an attempt
//
//	package placement launches the task
//	  │
//	  ├─ the master refuses the ACCEPT: the attempt never started (AnswerLaunch)
//	  ▼
//	STAGING ─▶ STARTING ─▶ RUNNING                       updateLive; the state never goes back
//	  │           │           │
//	  ├───────────┴───────────┴─▶ unreachable            markUnreachable, by the cluster or by silence
//	  │                             ├─▶ heard again      updateLive, endSilence: it goes on
//	  │                             └─▶ given up         sweepUnreachable, abandon: it is an orphan
//	  ▼                                   ├─▶ heard again, and nothing has replaced it: takeBack
//	a terminal update                     └─▶ heard again, but replaced: killOrphan
//	  │
//	  ▼
//	classify ─▶ next ─▶ the shard has ended, or waits for another attempt (endAttempt)
//
// Every attempt ends through endAttempt, also if it is given up or its machine is declared dead. classify and next are
// pure: classify turns the terminal update into an outcome, and next turns the outcome, the job's settings and the
// shard's counts so far into a verdict.
//
//	outcome                 means                                        the shard runs again
//	finished                the task reported success                    if it belongs to a daemon
//	failed                  the task failed by itself                    up to maxRetries times
//	lost                    it may have run, and its end is not known    with failover up to five times, but not after
//	                                                                     the loss of a second machine that fell silent
//	never started           certainly no process has begun               always
//	rejected                the master answered with ERROR               up to five times
//	executor info mismatch  the executor runs with another description   always, on a new executor
//	executor start failed   its executor did not start on that agent     up to five times, elsewhere
//	killed                  it ended after a kill that was wanted        if its machine is drained, or it belongs to a
//	                                                                     daemon that goes on
//
// A daemon's shard is tried without the limit of five.
//
// A wrong "never started" would run a shard twice, although its job has no failover; a wrong "lost" would lose a shard
// that could simply be launched again. Therefore mayHaveBegun relies only on the order in which an executor and its
// agent promise to report.
//
// # An example
//
// A machine loses its power while a shard of a job with failover runs there. The defaults apply, and the times count
// from the last heartbeat of its executor.
//
//	 0 s  the last heartbeat (heartbeat)
//	15 s  three heartbeats are missing: the executor is silent, and its task unreachable since 0 s (detectSilence).
//	      While it is silent, nothing is placed on that agent.
//	60 s  unreachableSeconds are over: the attempt is abandoned and recorded as LOST, and is an orphan from now on
//	      (sweepUnreachable, abandon). The shard waits, and package placement launches its next attempt elsewhere at
//	      once. That supersedes the orphan: it will not be taken back.
//	75 s  the master reports the task as unreachable. Only the orphan notes that (updateOrphan).
//	 8 m  the machine is back, and with it the news that its tasks have ended. The orphan is removed.
//
// If the machine was only cut off, its executor is heard again instead, and the orphan is killed. Had the job no
// failover, or no other machine room for the shard, nothing would have replaced the attempt: then it is taken back,
// and goes on as if nothing had happened, even if its execution had ended as failed.
//
// With an exclusive job, 60 s is only the earliest moment. The orphan also blocks its shard until its lease, and the
// grace after it, are certainly over (lease.go; orphans.Orphan.HoldsLease).
//
// # What a new leader knows
//
// A new leader loads all records, and then knows less than its predecessor: it has heard no executor yet, and the
// states of tasks may be out of date. It ends no attempt before the cluster has reported the task in the present
// session (executions.Shard.Reported), and calls no executor silent before it has listened for silentAfter itself.
// Times that decide something count from committed times (rule F8), so that a chain of short-lived leaders does not
// postpone them without end.
//
// # Where to look
//
//	update.go           status updates of live tasks, and of tasks that have ended
//	classify.go         what the end of an attempt means
//	next.go             what follows from it
//	ends.go             the end of an attempt, and the answer to its launch
//	sweep.go            what is checked every few seconds: unreachable, unclear and stuck tasks
//	silence.go          heartbeats, and executors that send none
//	abandon.go          orphans: attempts that were given up and may still run
//	lease.go            leases of exclusive tasks
//	kill.go, timeout.go kills, and the timeouts that lead to them
//	executorreports.go  progress and other messages of executors
//	formerframework.go  what remains of a framework id that the master has removed
//	dead.go             machines that an operator declares dead
package attempts
