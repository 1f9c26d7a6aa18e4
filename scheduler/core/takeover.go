package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/subscription"

// takeOver continues the takeover of another scheduler's framework id, if there is one (rule T8).
func (c *Core) takeOver() {
	framework := c.subscription.FrameworkID()
	abandon := func(task subscription.UnknownTask) { c.attempts.OrphanUnknownTask(task, framework) }
	if !c.subscription.StepTakeover(abandon) {
		return
	}
	runningPaths := c.subscription.CompleteTakeover()
	c.imports.RemoveEntries(runningPaths...)
	c.shared.RequestMatch()
	c.placement.Probe() // the offers name the executors of the former scheduler, which are then shut down (rule X3)
}
