// Package core decides. A Core holds one leader term's state in memory: apps and jobs, executions with their shards and
// attempts, executors, agents and what they offer. Step takes what has happened and two clocks, and returns a Decision:
// what is to be written, and what may leave once that is committed.
//
// The package is pure: it does no I/O, reads no clock, starts no goroutine and writes no log (test/imports holds it
// to that), and the same events with the same randomness give the same decisions, byte for byte. So scheduler/sim can play
// weeks of faults in seconds, and a world that fails can be played again.
//
// # Parts
//
// A Core is made of parts. Each is a type that owns its state and changes no other part; where it has indexes it says what always
// holds of them, and where it is stored it keeps what of it is to be written. A method of Core is where several parts meet.
//
//	configuration   apps and jobs: documents, disabled marks, what can't be used    configuration.go, job.go
//	executions      open ones, their tasks, their order; what has ended             executions.go, execution.go, attempt.go, history.go
//	fires           crons, and how far their fires were made                        fires.go
//	schedules       how many jobs fire by which schedule                            schedules.go
//	agents          what is known of each: registered, capacity, maintenance        agents.go
//	startFailures   where an app is not placed for a while                          startfailures.go
//	executors       started or about to be; which are closing                       executors.go
//	orphans         abandoned attempts that may still run                           orphans.go
//	placement       the round of matches, the reservation, ACCEPTs without answer   placement.go
//	offerFlow       offers held, asked for and declined                             offerflow.go, flow.go, decline.go, need.go
//	subscription    framework id, session, takeover of another's id                 subscription.go
//	notifications   notifications of runs that failed                                    notifications.go
//	imports         what the original left in its queues                            imports.go
//	daemons         the runs of daemons' shards                                     daemons.go, daemonruns.go
//	recording       what is recorded of a step, and how far that is stored            recording.go
//	minutes         what was done in each minute of this term                       minutes.go
//	audit           who has changed what (rule A1)                                  audit.go, audited.go, auditfields.go
//	shared          options, clocks, timers, and the decision that is being made    shared.go, clock.go, timers.go
//
// # Where what happens
//
//	step by step    step.go: Step is the list; event.go has what goes in and comes out
//	fires           makefires.go (due batches, missed windows, the queue rule), trigger.go, queue.go
//	placement       demand.go (what may be placed), launch.go (match and ACCEPT), describe.go (what tasks are sent, and how large that is),
//	                startexecutor.go, reserve.go (rule L2), evict.go, held.go (a term that launches nothing),
//	                rolereserved.go (rule L7)
//	                outlook.go (what the flow of offers depends on)
//	reports         reports.go (offers, answers of ACCEPTs, failures), update.go (status updates), causes.go (why an attempt ended),
//	                executorreports.go (progress and health, which decide nothing)
//	attempts        classify.go (what an end means), next.go (what follows from it), ends.go, transitions.go (what can happen to a
//	                shard and its attempts), sweep.go (timeouts of the cluster),
//	                timeout.go (of jobs), kill.go, killrequest.go, drain.go, sandbox.go (where output is)
//	daemons         daemons.go (the standing execution, its rollout, draining), daemonruns.go (what executors say of runs)
//	executors       executoridle.go, executorshutdown.go
//	orphans         abandon.go, formerframework.go (those of removed frameworks)
//	subscription    session.go (sessions, reconciliation), takeover.go
//	configuration   change.go (what a change by request would write), changed.go (what follows from a change), reload.go (external
//	                edits), inactive.go (why a job is not run), pause.go, shutdown.go, mark.go (what disabled marks say), faulty.go,
//	                documents.go
//	store           step.go (Core.write: one commit of what all parts have changed), records.go, load.go (what a term begins with),
//	                importing.go
//	people          changedviews.go (what a step has changed for them), jobrow.go (lists of jobs), overview.go, queries.go, viewdaemon.go,
//	                viewcluster.go, runs.go, grid.go, views.go, stats.go, jobstats.go, jobcheck.go, error.go
package core
