// Package executor runs the shards of an app on one agent. The agent starts one
// executor per app; it lives as long as the scheduler wants it to, and runs any number of
// tasks at once.
//
//	agent ──LAUNCH──▶ ledger (what is known, what was told and not yet acknowledged)
//	                    │ task: fetch (pack) ─▶ find the command ─▶ start (guard) ─▶ wait
//	agent ◀─UPDATE──  ledger ◀─ STARTING, RUNNING, FINISHED | FAILED | KILLED
//
// The talk with the agent is Mesos' v1 executor API: agent.go alone knows its types.
// Rules X5 to X7 say what happens when the agent goes away, comes back, or doesn't
// know us, and when we die: see session.go and package guard.
//
// What fails in a task, such as a package that can't be fetched, fails that task
// with the reason, and nothing else.
package executor
