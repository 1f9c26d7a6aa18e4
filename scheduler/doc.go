// Package scheduler makes fires of jobs, matches shards that
// are due to what the cluster offers, launches them, follows them to their
// end, and knows a reason for everything that waits or fails.
//
//	cron fires, API commands, offers, status updates, leadership
//	                     │ events
//	                     ▼
//	Core.Step(now, rnd, events) → Decision       pure: no I/O, no clock
//	                     │ writes
//	                     ▼
//	registry.Term.Commit                         one atomic, fenced write
//	                     │ only then
//	                     ▼
//	calls to the cluster, acknowledgements, replies
//
// Core (core.go and the files named after its concerns) holds one term's state
// in memory and decides; it starts no goroutine and knows no socket, so that
// scheduler/sim can play weeks of faults in seconds. Scheduler (scheduler.go,
// lead.go, term.go, loop.go, inbox.go, edits.go, dispatcher.go) is the thin shell around it: it stands for
// election, waits for events, commits, and lets the effects out. The rules that the comments name (F1, L3, E5, …) are
// explained in docs/rules.md.
package scheduler
