// Package view keeps the data that people watch, outside of the loop: a row of every job, which is updated when a
// decision names the job as changed (step.Changed), and the streams that tell browsers which data to request again.
// The data belong to one leader's term and end with it.
//
//	loop ── Changed, after the commit ──▶ Jobs.Note          takes names, never waits
//	                                          │
//	Jobs.Run, or a request ───── Reader ──▶ core.JobRow      between two steps, some rows at a time
//	                                          │
//	                                     rows, counts ──▶ Page, Problems
//	                                          └────────▶ streams, each with what it has not sent yet
//
// A request sees all that was committed before it, because it first reads the rows that were named as changed and not
// read yet. Only the data about the whole cluster in the summaries of streams may be half a second older.
package view
