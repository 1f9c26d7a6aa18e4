package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// enqueue adds an execution to its job's queue, in order of fire time.
func (c *Core) enqueue(j *jobState, e *execution) {
	c.executions.add(e)
	c.recording.changed(e)
	c.NeedChanged()
	i := len(j.queue)
	for i > 0 && !j.queue[i-1].launched() && e.Fire.Before(j.queue[i-1].Fire) {
		i--
	}
	j.queue = slices.Insert(j.queue, i, e)
	c.Note(step.Note{Kind: step.NoteExecutionMade, Job: j.name, Execution: e.ID, Detail: string(e.Source)})
	if i == 0 && len(j.queue) > 1 {
		c.executions.removeLaunchable(j.queue[1])
	}
	c.headOfQueue(j)
	if j.queue[0] != e {
		c.recording.waits(e, c.waitReason(j, e))
	}
}

// headOfQueue lets the first execution of a job's queue be launched (rule F5).
func (c *Core) headOfQueue(j *jobState) {
	if len(j.queue) == 0 {
		return
	}
	if e := j.queue[0]; !e.launched() && e.Kill.IsZero() {
		c.addLaunchable(e)
	}
}

// addLaunchable puts an execution where launch looks for work, or moves it
// when its place has changed.
func (c *Core) addLaunchable(e *execution) {
	class := classReady
	if e.launched() {
		class = classAgain
	}
	key := launchKey{class, e.Fire, e.ID}
	if e.launchable {
		if e.launchKey == key {
			return
		}
		c.executions.removeLaunchable(e)
	}
	if !e.launched() {
		e.unplaced.never = false // its job may have changed while it was not the next
	}
	c.executions.insertLaunchable(e, key)
	c.MatchAgain()
}
