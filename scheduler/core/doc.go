// Package core decides. A Core holds one leader term's state in memory: apps and jobs, executions with their shards and
// attempts, executors, agents and what they offer. Step takes what has happened and two clocks, and returns a Decision:
// what is to be written, and what may leave once that is committed.
//
// The package is pure: it does no I/O, reads no clock, starts no goroutine and writes no log (test/imports holds it
// to that), and the same events with the same randomness give the same decisions, byte for byte. So scheduler/sim can play
// weeks of faults in seconds, and a world that fails can be played again.
//
// Where to look:
//
//   - Fires: fires.go (cursor, missed windows), queue.go (which wait and which are dropped), trigger.go, clock.go (the two clocks),
//     changes.go (when a job fires from)
//   - Placement: demand.go (what is to be placed), launch.go (matching and ACCEPT), reserve.go (rule L2), need.go, flow.go and decline.go
//     (which offers are held, asked for and declined), startfailures.go, packages.go and maintenance.go (where nothing
//     is placed for a while)
//   - Executions: executions.go (all of them, with the indexes over them), execution.go (one, with its shards and attempts)
//   - Attempts: update.go (status updates), classify.go (what an end means), ends.go (what follows from it), kill.go and
//     killrequest.go
//   - Executors: executors.go (all of them), executoridle.go, executorshutdown.go, evict.go
//   - Orphans: orphans.go, formerframework.go (those of removed frameworks)
//   - Subscription: session.go (sessions, reconciliation), takeover.go (another scheduler's framework id)
//   - Configuration: change.go (changes by request), reload.go (external edits), faulty.go, inactive.go, documents.go
//   - Store: records.go (what is written), load.go (what a term begins with), importing.go (the original's queues), history.go
//   - Reasons and views: view.go, runs.go, views.go, error.go
package core
