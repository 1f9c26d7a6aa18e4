package core

import (
	"fmt"
	"slices"
	"time"
)

// executionID of a cron's fire derives from job and time, so that a fire is
// made at most once (rule F2).
func executionID(job string, fire time.Time) string {
	return job + "@" + fire.UTC().Format("20060102T150405Z")
}

// enqueueFire applies the queue rule to a fire of a cron (rule F5).
func (c *Core) enqueueFire(j *jobState, at time.Time, source Source) {
	id := executionID(j.name, at)
	if c.executions.known(id) {
		return
	}
	if len(j.queue) > 0 && !onlyEnding(j.queue) {
		if !j.cfg.Misfire {
			why := fmt.Sprintf("the fire of %s found execution %s %s; without misfire it is dropped", at.Format(time.RFC3339), j.queue[0].ID, j.queue[0].state())
			c.config.countDropped(j, why)
			c.note(Note{Kind: NoteFireDropped, Job: j.name, Detail: why})
			return
		}
		source = Misfired
		c.dropOldestFire(j)
	}
	c.enqueue(j, &execution{ID: id, Job: j.name, Fire: at, Source: source, Made: c.now})
}

// onlyEnding reports whether all that is in a queue are tasks of a deregistered
// job of the name that are being ended: the first fire of the new one waits for
// them (rule K2).
func onlyEnding(queue []*execution) bool {
	for _, e := range queue {
		if !e.launched() || e.KillReason == "" {
			return false
		}
	}
	return true
}

// queueLimit is how many fires of one job may wait: fewer when so many of all jobs do that their number would
// outgrow the memory. Each job has room for one.
func (c *Core) queueLimit() int {
	return min(max(c.opt.OpenExecutions-len(c.executions.open), 1), c.opt.QueuedFires)
}

// dropOldestFire makes room in a full queue: the oldest fire of the cron that
// waits goes; triggers are never dropped.
func (c *Core) dropOldestFire(j *jobState) {
	waiting, oldest := 0, -1
	for i, e := range j.queue {
		if e.launched() {
			continue
		}
		if e.Source == Triggered {
			continue
		}
		if waiting++; oldest < 0 {
			oldest = i
		}
	}
	most := c.queueLimit()
	if waiting < most {
		return
	}
	e := j.queue[oldest]
	e.Dropped = true
	detail := fmt.Sprintf("%d fires wait already", waiting)
	e.KillReason = fmt.Sprintf("dropped: more than %d fires of the job were waiting", c.opt.QueuedFires)
	if most < c.opt.QueuedFires {
		detail = fmt.Sprintf("%d executions of all jobs are open", len(c.executions.open))
		e.KillReason = fmt.Sprintf("dropped: more than %d executions of all jobs were open", c.opt.OpenExecutions)
	}
	why := fmt.Sprintf("%s; the oldest, of %s, is dropped", detail, e.Fire.Format(time.RFC3339))
	c.config.countDropped(j, why)
	c.note(Note{Kind: NoteFireDropped, Job: j.name, Execution: e.ID, Detail: why})
	c.endExecution(e)
}

// enqueue adds an execution to its job's queue, in order of fire time.
func (c *Core) enqueue(j *jobState, e *execution) {
	c.executions.open[e.ID] = e
	c.flow.needChanged()
	i := len(j.queue)
	for i > 0 && !j.queue[i-1].launched() && e.Fire.Before(j.queue[i-1].Fire) {
		i--
	}
	j.queue = slices.Insert(j.queue, i, e)
	c.executions.touch(e)
	c.note(Note{Kind: NoteExecutionMade, Job: j.name, Execution: e.ID, Detail: string(e.Source)})
	if i == 0 && len(j.queue) > 1 {
		c.executions.removeLaunchable(j.queue[1])
	}
	c.headOfQueue(j)
}

// headOfQueue lets the first execution of a job's queue be launched (rule F5).
func (c *Core) headOfQueue(j *jobState) {
	if len(j.queue) == 0 {
		return
	}
	if e := j.queue[0]; !e.launched() && e.KillReason == "" {
		c.addLaunchable(e)
	}
}
