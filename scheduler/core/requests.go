package core

// HistoryTerm is the number by which the history knows this term. It may be asked for concurrently once Load has returned.
func (c *Core) HistoryTerm() int64 { return c.recording.Term() }
