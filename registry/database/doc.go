// Package database is the registry in SQL, in MySQL 8 or in MariaDB from 10.6 on, for several schedulers of which one
// leads.
//
// # Terms
//
// The lead is a row with a lease (REGISTRY_LEASE). Its holder renews it several times in each lease; whoever finds it
// expired takes it, and with it the fence (REGISTRY_FENCE), in one transaction (rule T1). A commit is one transaction
// of any size (rule T5) whose first statement counts in the fence's row, on the condition that the row is as this
// term's last commit has left it (rule T2): a deposed leader changes nothing, whatever it believes. When the answer to
// a COMMIT got lost, the same transaction is sent again on another connection: it waits for the first one's end, by
// the lock of the fence's row, and the count in that row shows whether the first one was done (rule T3).
//
//	writes ─► plan ─► fence: count on ─► conditions ─► deletes ─► puts ─► COMMIT
//	                       │ refused          │ unmet                       │ no answer
//	                       ▼                  ▼                             ▼
//	                  the term ends        Conflict               the same again, which finds out
//
// # Clocks
//
// The lease is measured by the database's clock (UTC_TIMESTAMP), and by nobody else's time of day. The leader stops by
// its own monotonic clock: a little before a lease's length has passed since it sent the last renewal that was
// answered, which is before the row expires, so Done closes before another can lead. A candidate takes an expired
// lease only if it has also seen the row unchanged for a lease by its own monotonic clock, so that a database's clock
// that leaps ahead deposes nobody who may still lead; and it takes one that it has seen unchanged for more than a
// lease whatever the database's clock says, which may have been set back.
//
// The fence's row and the lease's are apart, so that a large commit, which holds the first one's lock, does not hinder
// the renewal. A leader that is cut off in the middle of a transaction leaves its locks behind: the server ends its
// connection when it has been silent for half a lease (wait_timeout of the session).
//
// # When the database goes back
//
// A database that failed over to a replica which is behind, or was restored from a copy, lacks commits that were
// answered. The fence counts all commits, so that shows: a leader that finds less than it has committed ends its term;
// each server remembers the latest count that it has seen, in memory and in a file (Options.Seen), and does not lead
// below it; and it says so to the other candidates, by its row in REGISTRY_CANDIDATE, so that none leads for having
// seen less. A person says that what is lost is lost (Accept), for all servers at once. Nobody can know of commits
// that no server remembers which is left: a file is at most a second old when its server is killed. A registry whose
// lineage is another than before was restored, accepted or made new by a person; that is logged, and followed. What a
// server remembers and the database has no tables of is not made new.
//
// # Reading
//
// A read is one statement, so it is of one moment, and reads the fence's row with the entries: an answer that is older
// than what the term has committed, as of a proxy that sends reads to replicas, is an error. Only terms write entries,
// so [registry.Term.Changed] is nil: people change documents through the API, and not in the tables.
//
// # Layout
//
//	table                what                                        written by
//	REGISTRY_ENTRY       an entry: path, version, value              leader, in commits
//	REGISTRY_FENCE       one row: the lineage, the term, its holder, leader, in every commit; whoever takes the lead
//	                     how many commits and terms there were
//	REGISTRY_LEASE       one row: who leads until when               leader, five times in a lease; whoever takes the lead
//	REGISTRY_CANDIDATE   who waits for the lead                      candidates, three times in a lease
//	REGISTRY_SHARED      a shared value                              each server, commands; from the version that was read
//	REGISTRY_VERSION     which migrations were done                  whoever opens it first
package database
