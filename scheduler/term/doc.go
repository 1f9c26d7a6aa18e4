// Package term is one leader's term as a step machine: it says what is committed, read, sent to the cluster, answered
// and logged, and in which order, around a core (scheduler/core) that decides what. It is pure as the core is: it does
// none of that itself, reads no clock and starts no goroutine. The shell (package scheduler) drives it with a real
// registry and a real cluster, the simulated worlds (scheduler/sim) with models of both, as etcd-raft's RawNode is
// driven:
//
//	m := term.New(c, rnd, term.Options{})
//	for !m.Done() {
//		wait for an input, at most until m.Wake()
//		m.Tick(now)                          // then any number of inputs: Request, Changed, Committed, Called, …
//		effects := m.Ready()                 // if m.Steps(), the core changes now
//		do each, in order, and give its answer back as an input when there is one
//	}
//
// No effect is waited for: while a commit is under way inputs are taken as ever, and go into the next step together.
// What an effect is answered with stands at its type.
//
// The order of effects, and what a crash between any two of them leads to:
//
//  1. A change of configuration is committed alone (rule T4). Crash: the next leader finds the document, compares it
//     with what it stored of the job, and does what the change asks for; the requester got no answer.
//  2. The step's writes are committed. Crash before: nothing happened; events of the cluster come again (updates are
//     not acknowledged yet), fires are made again from the cursor, requesters got no answer. What the step records in
//     the history goes to this server's disk meanwhile, marked with the commit's number (rule H1). Crash between the
//     two: of a commit that happened the next leader records the ends again, and what runs; rows of one that did not
//     are thrown away.
//  3. ACCEPT, KILL, SHUTDOWN, RECONCILE, ACKNOWLEDGE, DECLINE, REVIVE, SUPPRESS leave. Crash before or between: a
//     launch that did not leave is found by reconciliation (GONE: never began, launched again, E1); kills and
//     shutdowns are state and are sent again (K1, X2); updates come again (S3); offers are all forgotten with the next
//     subscription (T6). Nothing leaves any more once the term is known to have ended: calls that wait are dropped.
//  4. People are notified of failures (rule N1). Crash before or while they are: the next leader tells them, perhaps
//     again.
//  5. Requesters are answered. Crash before: they see the connection break, and an Idempotency-Key makes asking again
//     safe (T3).
//
// machine.go has the inputs and what is due, step.go a step with its commit, change.go a change of configuration with
// its two, edits.go external edits, calls.go the call queues, subscription.go sessions and why a leader abdicates,
// end.go the end of a term and who is answered what then.
package term
