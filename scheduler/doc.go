// Package scheduler is the shell around the core (scheduler/core): it stands for election, takes what has happened to the
// core, commits what it decided, and only then lets the effects out.
//
//	cron fires, API requests, offers, status updates, leadership
//	                     │ events
//	                     ▼
//	core.Step(now, rnd, events) → Decision       pure: no I/O, no clock
//	                     │ writes
//	                     ▼
//	registry.Term.Commit                         one atomic, fenced write
//	                     │ only then
//	                     ▼
//	calls to the cluster, acknowledgements, replies
//
// scheduler.go and operator.go have the requests, lead.go and term.go election and the begin of a term, loop.go the loop and what a
// crash between any two of its steps leads to, inbox.go what waits for the next step, gate.go who may read meanwhile,
// dispatcher.go the calls to the cluster, edits.go what people change in the registry by hand. The rules that comments name (F1, L3, E5, …)
// are explained in docs/rules.md.
package scheduler
