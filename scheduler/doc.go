// Package scheduler is the shell around the scheduler core. It stands for election and drives a term's machine
// (scheduler/term) with the real registry, the real cluster and real clocks. The core (scheduler/core) in that machine
// makes all decisions.
//
//	cron fires, API requests, offers, status updates, leadership
//	                     │ inputs
//	                     ▼
//	term.Machine ── core.Step(now, rnd, events) → Decision      pure: no I/O, no clock
//	                     │ effects, in their order
//	                     ▼
//	registry.Term.Commit                         one atomic, fenced write
//	                     │ only then
//	                     ▼
//	calls to the cluster, acknowledgements, replies
//
// These are the files:
//
//	scheduler.go, operator.go  the requests
//	lead.go, term.go           the election and the beginning of a term
//	loop.go                    the one goroutine that drives the machine
//	inbox.go                   the inputs that the machine has not received
//	effects.go                 how the effects of the machine are carried out
//	gate.go                    the only way to read the core between two steps (scheduler/explain)
//	live.go                    the data that users watch (scheduler/view)
//	lease.go                   the answers to executors that renew leases
//	history.go                 the recording of decisions
//	actor.go, audit.go         the requesters of changes and their audit rows
//	notify.go                  the notifications of failures
//
// The package comment of scheduler/term describes the result of a crash between any two effects. The rules that
// comments name (F1, L3, E5, …) are explained in docs/rules.md.
package scheduler
