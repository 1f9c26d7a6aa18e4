// Package core decides. A Core holds one leader term's state in memory: apps and jobs, executions with their shards
// and attempts, executors, agents and their offers. Step takes events and two clocks, and returns a Decision: the
// writes of the step, and the effects that may leave once they are committed.
//
// The package is pure, and so are all of its parts: they do no I/O, read no clock, start no goroutine and write no
// log (test/imports checks that), and the same events with the same randomness give the same decisions, byte for
// byte. So scheduler/sim can play weeks of faults in seconds, and repeat a world that failed.
//
// # Parts
//
// The parts are packages below this one. Each owns its state: the fields are unexported, and other packages change
// them by methods. Imports go down this list only; test/imports has it as a table.
//
//	views and requests of users
//	  views          jobs, executions, agents, waits and their reasons, between two steps
//	  watch          the views that a step has changed
//	  operator       requests: trigger, kill, pause, forget, cordon, reconcile
//	  minutes        the activity in each minute of this term
//	decisions
//	  attempts       status updates, ends of attempts and their consequences, timeouts, kills, sweeps
//	  machinedrain   machines that are emptied: daemons move, others may finish until the deadline
//	  placement      which shard goes where; offers held, requested and declined
//	  fires          fires that are due, missed windows, the queue rule
//	  daemons        the standing execution of a daemon, its rollout, the runs of its shards
//	  imports        the queues of the original scheduler
//	  retire         executors that are idle or obsolete
//	  reconcile      asks the cluster about tasks
//	records
//	  incidents      when a trouble of a machine or a job is reported to people
//	  notifications  notifications of failed runs and of incidents
//	  recording      the rows that a step adds to the history
//	  audit          changes with their authors (rule A1)
//	state and its owners
//	  state          all owners together, and questions that need several of them
//	  config         apps and jobs: documents, disabled marks, faults
//	  executions     open ones with their shards and attempts, queues, the history in memory
//	  executors      executors that were started or are about to be
//	  agents         registration, capacity and maintenance of each agent
//	  machines       marks of cordoned machines
//	  startfailures  where an app must not be placed for a while
//	  orphans        abandoned attempts that may still run
//	  subscription   framework id, session, takeover of another scheduler's id
//	  fencing        the fencing tokens of attempts
//	  leases         when leases of exclusive tasks were asked for
//	base
//	  tasks          descriptions of tasks for executors
//	  sandbox        the places of tasks' output
//	  step           shared by all parts in a step: options, clocks, timers, randomness, effects
//	  store          paths, records, and the commit of a step
//	  clock, stats, problem
//
// # How a step goes
//
// Step (handle.go) lists the phases of a step. handle passes each event to its part; for an event that concerns
// several parts, a method of Core calls them in order: reports.go (reports of the cluster), changed.go (changes of the
// configuration), session.go and takeover.go (sessions), drain.go (the end of a term).
//
// An execution changes in package executions only, by transitions that report each change as an executions.Change.
// One method, follow (consequences.go), applies the consequences that do not depend on the decision behind a change:
// records, counts, log lines, calls and notifications. So a new consequence is a line there.
//
// At the end of a step, write collects the changed records of every owner into one commit. load.go is the other
// direction: it loads the stored state when a term begins. event.go and decision.go are the input and the output of
// the core; stateversion.go is the version of the stored state.
//
// # Where it is decided
//
//	what a pod's state means                 pod.Report in cluster/kubernetes/pod; it makes the update
//	whether an update is believed            attempts.Update, updateAttempt, updateEnded; handle checks the session
//	what the end of an attempt means         attempts.classify, then attempts.next, which decides about retries
//	that a shard waits for its next attempt  executions.Requeue
//	an agent does not answer                 agents.MarkUnreachable, by attempts.Update; how long: attempts.sweepTask
//	an agent was removed, or is back         Core.applyFailure; agents.RecordOffer, reconcile.SendDue
//	which shard goes where                   placement.Launch
//	which offers are held and declined       placement.ManageOffers
//	that a fire becomes an execution         fires.MakeDue, once: the cursor, and executions.ID
//	why something waits                      views.WaitReason, views.ShardWaitReason
//	who may see it                           scheduler/explain
//
// # Rules
//
// Comments name rules by a letter and a number, promises by a number, and defects of the original as [D15].
// docs/rules.md has the rules and promises, docs/original.md the defects. The letters: T terms and commits, F fires
// and queues, L launching, S status updates, R reconciliation, E ends, K kills, M machines, N notifications, H history,
// A audit, X executors, O jobs on one machine.
package core
