// Package outbox is a log of batches on disk: what one process has recorded and the database does not have yet. It
// knows batches as bytes with a term and a number.
//
//	Append ──▶ queue ──▶ one goroutine: one write and one fsync for all that wait ──▶ segments: 0000000000000001.log, …
//	                                                                                    │
//	Next ◀── reads in order, and knows of each batch whether its commit happened ◀──────┘
//	Done ──▶ position: what is before it is never read again; segments before it are removed
//
// # Whether a batch is true
//
// A batch is appended beside its commit, and so before anybody knows whether the commit happens. Settle says it
// afterwards, with a frame of its own, which is not synced: the next batch of the same term says as much, since it is
// made only after the commit before it has happened. So the frame that follows a batch tells what became of it: a
// batch of the same term with a higher number, that it happened; with the same number, that it did not; a batch of
// another term, or with a lower number, that nobody here knows; the end of the log, that the process ended then; and a
// gap, where frames are damaged or missing, tells nothing either. The last three are Uncertain, of each term at most
// one but for gaps. Who reads sets it aside, in a file of its own, until somebody else knows, and goes on.
//
// # Faults
//
// A frame has a checksum over all of it. What is damaged is skipped up to the next whole frame, which tells how many
// rows are missing before it; both are counted and said. That a process has no file descriptor left to open a file is
// no damage: it is tried until it has. The end that a crash has cut off is dropped when the log is opened. A log that
// is opened begins a new segment, and so does one whose write or fsync has failed: after a failed fsync nobody knows
// which of the file's pages are on disk. The batches of that write are refused, and cut off the segment. A crash loses
// nothing that Append has confirmed. Position is not synced: what is read again after a crash is written to the
// database twice, which changes nothing there.
package outbox
