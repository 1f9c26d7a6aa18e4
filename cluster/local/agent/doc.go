// Package agent is the agent half of the local cluster: it starts executors as processes of this machine and speaks Mesos' v1
// executor API with them, so exactly that an executor cannot tell the difference.
//
// What goes through it:
//
//	master ── orders ──▶ Agent ── LAUNCH, KILL, … ──▶ session ──▶ executor
//	master ◀── news ──── Agent ◀── SUBSCRIBE, UPDATE ─── HTTP ◀── executor
//	                       ▲
//	       watch: a pidfd per process; deadlines: one heap of them
//
// One mutex guards the frameworks, executors, tasks and their update streams. What changes them appends to the executor's journal
// first and then answers, so a kill -9 of the server loses nothing that was sent to anybody. The journals are not synced to disk:
// what power loss takes of them, it took of the processes too. Two kinds of queues lead out of the mutex, so that neither a slow
// executor nor the master is waited for under it: a session per subscribed executor, and the news for the master.
//
// A restart finds the executors again (rules O1-O3): by pid, start time and boot id, or, when the server died between fork and
// journal, by the marker, which is the sandbox' path in the executor's environment (MESOS_SANDBOX; its last part is a random id
// that was in the journal before the fork). Until each of them has subscribed again or was given up, the agent does not register
// with the master.
package agent
