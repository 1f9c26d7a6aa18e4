package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/subscription"

// takeOver continues the takeover of another scheduler's framework id, if there is one (rule T8).
func (c *Core) takeOver() {
	framework := c.subscription.FrameworkID()
	if !c.subscription.TakeOver(func(f subscription.UnknownTask) { c.attempts.OrphanUnknownTask(f, framework) }) {
		return
	}
	c.imports.MarkImported(c.subscription.FinishTakeover()...)
	c.shared.RequestMatch()
	c.placement.Probe() // the former scheduler's executors are shut down now and free resources (rule X3)
}
