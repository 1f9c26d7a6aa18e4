// Package term is one leader's term as a step machine around a core (scheduler/core). The core decides. The machine
// determines the order of the effects: in which order decisions are committed, sent to the cluster, answered and
// logged, and when documents are read. The machine is as pure as the core: it carries out no effect itself, reads no
// clock and starts no goroutine. Its caller drives it like etcd-raft's RawNode: the shell (package scheduler) with a
// real registry and a real cluster, the simulated worlds (scheduler/sim) with models of both:
//
//	m := term.New(c, rnd, term.Options{})
//	for !m.Done() {
//		wait for an input, at most until m.Wake()
//		m.Tick(now)                          // then any number of inputs: Request, Changed, Committed, Called, …
//		effects := m.Ready()                 // if m.Steps(), the core changes now
//		carry out each, in order, and pass its answer, if it has one, to the machine as an input
//	}
//
// The driver does not wait for effects: while a commit is under way, the machine takes further inputs, all of which go
// into the next step. The type of an effect documents its answer.
//
// The order of effects, and the result of a crash between any two of them:
//
//  1. A change of configuration is committed alone (rule T4). Crash: the requester got no answer. The next leader finds
//     the new document, sees that the stored record of the job belongs to an older one, and applies the change.
//  2. The step's writes are committed. Crash before: nothing happened; events of the cluster come again (updates are
//     not acknowledged yet), fires are made again from the cursor, requesters got no answer. Meanwhile the
//     step's rows for the history go to this server's disk, marked with the commit's number (rule H1). Crash after only
//     one of the two: without the rows, the next leader records the ends and the running executions again; without the
//     commit, the rows are discarded.
//  3. ACCEPT, KILL, SHUTDOWN, RECONCILE, ACKNOWLEDGE, DECLINE, REVIVE, SUPPRESS leave. Crash before or between: a
//     launch that did not leave is found by reconciliation, which answers GONE, and the shard is launched again because
//     it never began (E1). Kills and shutdowns are state and are sent again (K1, X2), updates come again (S3), and all
//     offers are forgotten with the next subscription (T6). Once the term is known to have ended, waiting calls are
//     dropped.
//  4. People are notified of failures (rule N1). Crash before or meanwhile: the next leader notifies them, perhaps
//     a second time.
//  5. Requesters are answered. Crash before: their connections break, and an Idempotency-Key makes it safe to repeat
//     the request (T3).
//
// # Why two leaders do no harm
//
// A leader does not know that another one has begun. It may have been frozen, or cut off from the registry, and go on
// with what it was doing. Nothing prevents that, so no rule relies on a deposed leader to stop:
//
//   - Every commit is conditional on the term, so a deposed leader can store nothing. The order above
//     puts the commit first, so what is not stored has no effect either.
//   - A call that a leader sent before it was deposed may arrive late. The master and the API server accept the calls
//     of one subscription only, and the next leader subscribes before it decides anything about tasks.
//   - An answer to a lease request is no call to the cluster. It leaves after a read of the registry, begun after the
//     request arrived, has confirmed the term (rule K5).
//
// machine.go has the inputs and the time of the next round, step.go a step with its commit, change.go a change of
// configuration with its two commits, edits.go external edits, effect.go the effects, calls.go the call queues,
// subscription.go sessions and the reasons why a leader abdicates, end.go the end of a term and the answers to
// requests at that time.
package term
