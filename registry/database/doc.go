// Package database is the registry in SQL, on MySQL 8 or MariaDB 10.6 and later, for several schedulers of which one
// leads.
//
// # Terms
//
// The lead is a row with a lease (REGISTRY_LEASE). Its holder renews it several times per lease. A candidate that
// finds it expired takes it, together with the fence (REGISTRY_FENCE), in one transaction (rule T1). A commit is one
// transaction of any size (rule T5). Its first statement increments the count in the fence's row, on the condition
// that the row is as this term's last commit has left it (rule T2), so a deposed leader changes nothing, whatever it
// believes. If the answer to a COMMIT is lost, the term sends the same transaction again on another connection. The
// lock on the fence's row makes it wait for the end of the first one, and the count in the row shows whether the first
// one was committed (rule T3).
//
//	writes ─► plan ─► fence: count on ─► conditions ─► deletes ─► puts ─► COMMIT
//	                       │ refused          │ unmet                       │ no answer
//	                       ▼                  ▼                             ▼
//	                  the term ends        Conflict               the same again, which finds out
//
// # Clocks
//
// The expiry of the lease is measured by the database's clock (UTC_TIMESTAMP), never by the time of day of a server.
// The leader stops by its own monotonic clock: a little before one lease has passed since it sent the last answered
// renewal. That is before the row expires, so Done closes before another process can lead. A candidate takes an
// expired lease only if it has also observed the row unchanged for one lease by its own monotonic clock; otherwise a
// database clock that leaps ahead would depose a live leader. It takes a lease that it has observed unchanged for more
// than one lease even if the database's clock says that it has not expired, because that clock may have been set back.
//
// The fence and the lease are separate rows, so that a large commit, which holds the lock of the fence's row, does not
// delay the renewal. A leader that is cut off within a transaction leaves its locks behind; the server closes its
// connection after half a lease of silence (the session's wait_timeout).
//
// # When the database goes back
//
// A database that failed over to a lagging replica, or was restored from a copy, lacks commits that were answered. The
// count in the fence's row, which includes every commit, reveals that. A leader that finds a lower count than it has
// committed ends its term. Each server remembers the highest count that it has seen, in memory and in a file
// (Options.Seen), and does not lead below it. It also publishes that to the other candidates in a row of
// REGISTRY_CANDIDATE, so that no server leads because it has seen less. An operator can declare the missing commits
// lost for all servers at once (Accept). Commits that no remaining server remembers are lost without notice; the file
// of a killed server is at most about a second old. A registry with a new lineage was restored, accepted or newly
// created by an operator; servers log that and follow it. If a server remembers a registry and the database has no
// tables of it, the server does not create a new one.
//
// # Reading
//
// A read is one statement, so it shows one moment. It returns the fence's row with the entries. An answer that is
// older than the term's last commit, for example from a proxy that sends reads to replicas, is an error. Only terms
// write entries, so [registry.Term.Changed] returns nil: users change documents through the API, not in the tables.
//
// # Layout
//
//	table                what                                        written by
//	REGISTRY_ENTRY       an entry: path, version, value              leader, in commits
//	REGISTRY_FENCE       one row: the lineage, the term, its holder, leader, in every commit; a new leader
//	                     how many commits and terms there were
//	REGISTRY_LEASE       one row: who leads until when               leader, five times in a lease; a new leader
//	REGISTRY_CANDIDATE   a candidate that waits for the leadership   candidates, three times in a lease
//	REGISTRY_SHARED      a shared value                              each server, commands; from the version that was read
//	REGISTRY_VERSION     the migrations that were applied            the server that opens it first
package database
