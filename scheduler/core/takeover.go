package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/subscription"

// takeOver continues the takeover of another scheduler's framework id, if there is one (rule T8).
func (c *Core) takeOver() {
	framework := c.subscription.FrameworkID()
	abandon := func(task subscription.UnknownTask) { c.attempts.OrphanUnknownTask(task, framework) }
	if !c.subscription.StepTakeover(abandon) {
		return
	}
	c.imports.MarkImported(c.subscription.CompleteTakeover()...)
	c.shared.RequestMatch()
	c.placement.Probe() // the former scheduler's executors are shut down now and free resources (rule X3)
}
