// Package core decides. A Core holds one leader term's state in memory: apps and jobs, executions with their shards
// and attempts, executors, agents and what they offer. Step takes what has happened and two clocks, and returns a
// Decision: what is to be written, and what may leave once that is committed.
//
// The package is pure, and so are all of its parts: they do no I/O, read no clock, start no goroutine and write no
// log (test/imports holds them to that), and the same events with the same randomness give the same decisions, byte
// for byte. So scheduler/sim can play weeks of faults in seconds, and a world that fails can be played again.
//
// # Parts
//
// The parts are packages below this one. Each owns its state: the fields are unexported, and what others may do to
// them is a method. Imports go down this list only; test/imports has it as a table.
//
//	what people see
//	  views          jobs, executions, agents, waits and their reasons, between two steps
//	  watch          which of those a step has changed
//	  operator       what people ask for: trigger, kill, pause, forget, reconcile
//	  minutes        what was done in each minute of this term
//	what decides
//	  attempts       status updates, ends and what follows from them, timeouts, kills, sweeps
//	  placement      which shard goes where; offers held, asked for and declined
//	  fires          what is due, missed windows, the queue rule
//	  daemons        the standing execution of a daemon, its rollout, the runs of its shards
//	  imports        what the original left in its queues
//	  retire         executors that are idle or obsolete
//	  reconcile      asking the cluster about tasks
//	what is kept of it
//	  notifications  runs that failed, to be told to people
//	  recording      the rows of the history that a step gives
//	  audit          who has changed what (rule A1)
//	state, and who owns it
//	  state          all owners together, and what is known only of several of them
//	  config         apps and jobs: documents, disabled marks, what can't be used
//	  executions     open ones with their shards and attempts, queues, the history in memory
//	  executors      started or about to be; which are closing
//	  agents         what is known of each: registered, capacity, maintenance
//	  startfailures  where an app is not placed for a while
//	  orphans        attempts that were given up and may still run
//	  subscription   framework id, session, takeover of another's id
//	below
//	  tasks          what executors are sent
//	  sandbox        where a task's output is
//	  step           what all parts share in a step: options, clocks, timers, randomness, effects
//	  store          how parts say what is to be written
//	  clock, stats, problem
//
// # How a step goes
//
// Step (handle.go) is the list of what a step does. handle gives each event to the part that it is for; where an event
// concerns several parts, a method of Core names them in order: reports.go (what the cluster says), changed.go
// (changes of the configuration), session.go and takeover.go (sessions), drain.go (the end of a term).
//
// An execution changes in package executions only, by transitions that say what they have done as an
// executions.Change. What is recorded, counted, logged, sent and reported of it whatever has decided it follows in
// one place, follow (consequences.go). So a new consequence is a line there.
//
// At the end of a step write has every owner add what it has changed to one commit. load.go is the other direction:
// what a term begins with. decision.go and event.go are what comes out and goes in; stateversion.go is the version of
// what is stored.
//
// # Where it is decided
//
//	whether an update is believed            attempts.Update, updateAttempt, afterTheEnd; a former session's: handle
//	what the end of an attempt means         attempts.classify, then attempts.next, which decides whether it is retried
//	that a shard waits for its next attempt  executions.RunAgain
//	an agent does not answer                 attempts.Update (learnAgent), agents.Lost; how long: attempts.sweepTask
//	an agent was removed, or is back         Core.failure; agents.Offered, reconcile.Due
//	which shard goes where                   placement.Launch
//	which offers are held and declined       placement.ManageOffers
//	that a fire becomes an execution         fires.Make, once: the cursor, and executions.ID
//	why something waits                      views.WaitReason, views.ShardWaitReason
//	who may see it                           scheduler/explain
//
// # Rules
//
// Comments name rules by a letter and a number, promises by a number, and defects of the original as [D15].
// docs/rules.md has the rules and promises, docs/original.md the defects. The letters: T terms and commits, F fires
// and queues, L launching, S status updates, E ends, K kills, N notifications, H history, A audit, X
// executors, O what others write.
package core
