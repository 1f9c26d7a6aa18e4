// Package scheduler is the shell: it stands for election, and drives a term's machine (scheduler/term), in which the
// core (scheduler/core) decides, with the real registry, the real cluster and real clocks.
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
// scheduler.go and operator.go have the requests, lead.go and term.go the election and the beginning of a term,
// live.go the views that people watch (scheduler/view), loop.go the one goroutine that drives the machine, inbox.go
// the inputs that the machine has not received, effects.go the effects of the machine, history.go the recording of
// decisions, actor.go and audit.go the requesters of changes and their audit rows, notify.go the notifications of
// failures, and gate.go the only way to read the core between two steps (scheduler/explain). The package comment of
// scheduler/term describes the result of a crash between any two effects. The rules that comments name (F1, L3, E5, …)
// are explained in docs/rules.md.
package scheduler
