// Package view is what people watch, beside the loop: a row of every job, kept up from what each decision names as
// changed (core.Changed), and the streams that tell browsers what to ask for again. It belongs to one leader's term
// and ends with it.
//
//	loop ── Changed, after the commit ──▶ Jobs.Note          takes names, never waits
//	                                          │
//	Jobs.Run, or whoever asks ── Reader ──▶ core.JobRow      between two steps, some rows at a time
//	                                          │
//	                                     rows, counts ──▶ Page, Problems
//	                                          └────────▶ streams, each with what it has not sent yet
//
// Whoever asks sees what was committed by then: a question first takes up what was named and not read yet. The
// summaries of streams alone may be half a second older in what they say of the whole cluster.
package view
