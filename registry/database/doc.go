// Package database is the registry in SQL, on MySQL 8 or MariaDB 10.6 and later, for several schedulers, one of which
// leads.
//
// # Terms
//
// The leadership is a lease, in a row of REGISTRY_LEASE. The leader renews the lease several times before it expires.
// A candidate that finds the lease expired takes it, together with the fence (REGISTRY_FENCE), in one transaction
// (rule T1).
//
// A commit is one transaction of any size (rule T5). Its first statement increments the count in the fence's row, on
// the condition that the row is as this term's last commit has left it (rule T2). So a deposed leader can change
// nothing. If the answer to a COMMIT is lost, the term sends the same transaction again on another connection. The
// lock on the fence's row makes it wait for the end of the first transaction, and the count in the row shows whether
// the first one was committed (rule T3).
//
//	writes ─► plan ─► fence: count + 1 ─► conditions ─► deletes ─► puts ─► COMMIT
//	                       │ refused          │ unmet                       │ no answer
//	                       ▼                  ▼                             ▼
//	                  the term ends        Conflict             the same transaction again
//
// # Clocks
//
// The expiry of the lease is measured by the database's clock (UTC_TIMESTAMP), never by the time of day of a server.
// The leader measures with its own monotonic clock, and stops a little before one lease has passed since it sent the
// last answered renewal. That is before the row expires, so Done closes before another process can lead.
//
// A candidate takes an expired lease only if it has also observed the row unchanged for the length of the lease, by
// its own monotonic clock. Otherwise a database clock that leaps ahead would depose a live leader. If a candidate has
// observed the row unchanged for longer than that, it takes the lease even if the lease has not expired by the
// database's clock, because that clock may have been set back.
//
// The fence and the lease are separate rows, so that a large commit, which holds the lock of the fence's row, does not
// delay a renewal. A leader that is cut off within a transaction leaves its locks behind, until the database closes
// the connection after half a lease of silence (the session's wait_timeout).
//
// # When the database goes back
//
// A database that failed over to a lagging replica, or was restored from a copy, lacks commits that were answered. The
// count in the fence's row, which includes every commit, reveals that. A leader that finds a lower count than that of
// its own commits ends its term. Each server remembers the highest count that it has observed, in memory and in a file
// (Options.Seen), and does not lead with a lower count. It also publishes in a row of REGISTRY_CANDIDATE what is
// missing, so that no server which has observed less leads instead. A count that was read is remembered only when it
// is proved to be durable, because a database shows a change to readers a moment before it writes it to its log. The
// proof is the leader's next commit or, if there is none, a write to a row of REGISTRY_CANDIDATE that means nothing.
//
// An operator can declare the missing commits lost, for all servers at once (Accept). If no remaining server remembers
// a missing commit, it is lost without notice; the file of a killed server is at most about a second old. A new
// lineage means that an operator has restored, accepted or newly created the registry: servers log that, and use the
// new registry. If a server remembers a registry but the database has no tables, the server does not create them.
//
// # Reading
//
// A read is one statement, so all its entries are of one moment. It also returns the fence's row. If the row is older
// than the term's last commit, for example because a proxy sends reads to replicas, the read is an error. Only terms
// write entries, so [registry.Term.Changed] returns nil: users change documents through the API, not in the tables.
//
// # Layout
//
//	table                content                                     written by
//	REGISTRY_ENTRY       an entry: path, version, value              leader, in commits
//	REGISTRY_FENCE       one row: the lineage, the term, its holder, leader, in every commit; a new leader
//	                     the number of commits and terms
//	REGISTRY_LEASE       one row: who leads until when               leader, five times in a lease; a new leader
//	REGISTRY_CANDIDATE   a candidate that waits for the leadership,  candidates, three times in a lease; each server,
//	                     or commits that the registry lacks         after a change by another
//	REGISTRY_SHARED      a shared value                              each server, commands; if the version matches
//	REGISTRY_VERSION     the migrations that were applied            the server that opens it first
package database
