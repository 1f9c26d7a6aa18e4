package core

// enqueue opens an execution of a job, and records it.
func (c *Core) enqueue(j *jobState, e *execution) {
	c.executions.enqueue(e)
	c.recording.changed(e)
	if c.executions.queue(j.name)[0] != e {
		c.recording.waits(e, c.waitReason(j, e))
	}
}
