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
// scheduler.go and operator.go have the requests, lead.go and term.go election and the begin of a term, live.go what
// people watch (scheduler/view), loop.go the one goroutine that drives the machine, inbox.go what it was not told yet,
// effects.go how what it wants is done, history.go how what was decided is recorded, actor.go and audit.go who has
// changed what, notify.go how people are notified of failures, gate.go the one way to read the core meanwhile
// (scheduler/explain). What a crash between any two effects leads to, the package comment of scheduler/term says. The
// rules that comments name (F1, L3, E5, …) are explained in docs/rules.md.
package scheduler
