package core

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// cordon carries out a request to cordon a machine, and returns the machine's view after that.
func (c *Core) cordon(r operator.CordonRequested) (views.MachineView, *problem.Error) {
	machine, refused := c.operator.Cordon(r)
	if refused != nil {
		return views.MachineView{}, refused
	}
	return c.views.Machine(machine), nil
}

// drainMachine carries out a request to empty a machine.
func (c *Core) drainMachine(r operator.DrainRequested) (views.MachineView, *problem.Error) {
	machine, refused := c.operator.DrainMachine(r)
	if refused != nil {
		return views.MachineView{}, refused
	}
	return c.views.Machine(machine), nil
}

// uncordon carries out a request to end the cordon of a machine.
func (c *Core) uncordon(r operator.UncordonRequested) (views.MachineView, *problem.Error) {
	machine, changed, refused := c.operator.Uncordon(r)
	if refused != nil {
		return views.MachineView{}, refused
	}
	if changed {
		c.probeUncordoned()
	}
	return c.views.Machine(machine), nil
}

// declareDead carries out a statement that a machine is dead. over is the number of attempts that this has ended.
func (c *Core) declareDead(r operator.DeadRequested) (v views.MachineView, over int, refused *problem.Error) {
	machine, over, refused := c.operator.DeclareDead(r)
	if refused != nil {
		return v, 0, refused
	}
	return c.views.Machine(machine), over, nil
}

// probeUncordoned requests the offers of a machine that may be used again. They were declined with the longest filter,
// so that shards that wait for that machine would otherwise wait for the end of the filter.
func (c *Core) probeUncordoned() {
	if c.subscription.Open() {
		c.placement.Probe()
	}
}
