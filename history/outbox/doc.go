// Package outbox is a log of batches on disk: the batches that one process has recorded and that are not in the
// database yet. For this package a batch is bytes with a term and a number.
//
//	Append ──▶ queue ──▶ one goroutine: one write and one fsync for all that wait ──▶ segments: 0000000000000001.log, …
//	                                                                                    │
//	Next ◀── reads in order, and knows of each batch whether its commit happened ◀──────┘
//	Done ──▶ position: what is before it is never read again; segments before it are removed
//
// # Whether a batch is valid
//
// A batch is appended together with its commit, so before its outcome is known. Settle records the outcome afterwards,
// in a separate frame that is not synced. The next batch of the same term implies the same outcome, because it is
// created only after the previous commit has happened. So the frame after a batch decides:
//
//   - a batch of the same term with a higher number: the commit happened;
//   - a batch of the same term with the same number: it did not happen;
//   - a batch of another term, or with a lower number: unknown;
//   - the end of the log, when the process has ended: unknown;
//   - a gap, where frames are damaged or missing: unknown.
//
// An unknown outcome is Uncertain. Apart from gaps, each term has at most one such batch. The reader sets it aside in
// a separate file until another process knows the outcome, and continues.
//
// # Faults
//
// Every frame has a checksum. Damage is skipped up to the next whole frame, which tells how many rows are missing
// before it; damaged bytes and missing rows are counted and logged. A process that has no file descriptor left to open
// a file retries, because that is no damage. A frame that a crash has cut off at the end is dropped when the log is
// opened.
//
// The log begins a new segment when it is opened, and after a write or fsync has failed: then it is unknown which pages
// of the file are on disk. The batches of that write are refused and cut off the segment. A crash loses nothing that
// Append has confirmed. The position is not synced: entries that are read again after a crash are written to the
// database twice, which changes nothing there.
package outbox
