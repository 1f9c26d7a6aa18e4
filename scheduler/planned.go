package scheduler

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
)

// Planned is a change of configuration, checked against what the core knows:
// Writes are committed alone, then Events are stepped (rule T4). It is for
// shells around a Core; the loop's own requests take the same path.
type Planned struct {
	Writes []registry.Write
	Events []Event
}

func planned(p plan, err error) (Planned, error) { return Planned{p.writes, p.events}, err }

// PlanRegisterApp plans a new app, or returns an *Error.
func (c *Core) PlanRegisterApp(cfg app.Config) (Planned, error) {
	return planned(c.planRegisterApp(cfg))
}

// PlanUpdateApp plans a changed app, or returns change's error or an *Error.
func (c *Core) PlanUpdateApp(name string, change func(app.Config) (app.Config, error)) (Planned, error) {
	return planned(c.planUpdateApp(name, change))
}

// PlanDisableApp plans an app's disabled mark, or returns an *Error.
func (c *Core) PlanDisableApp(name string, disabled bool) (Planned, error) {
	return planned(c.planDisableApp(name, disabled))
}

// PlanDeleteApp plans an app's end, with its jobs if asked to, or returns an *Error.
func (c *Core) PlanDeleteApp(name string, withJobs bool) (Planned, error) {
	return planned(c.planDeleteApp(name, withJobs))
}

// PlanRegisterJob plans a new job, or returns an *Error.
func (c *Core) PlanRegisterJob(cfg jobs.Config) (Planned, error) {
	return planned(c.planRegisterJob(cfg))
}

// PlanUpdateJob plans a changed job, or returns change's error or an *Error.
func (c *Core) PlanUpdateJob(name string, change func(jobs.Config) (jobs.Config, error)) (Planned, error) {
	return planned(c.planUpdateJob(name, change))
}

// PlanDisableJob plans a job's disabled mark, or returns an *Error.
func (c *Core) PlanDisableJob(name string, disabled bool) (Planned, error) {
	return planned(c.planDisableJob(name, disabled))
}

// PlanDeregisterJob plans a job's end, or returns an *Error.
func (c *Core) PlanDeregisterJob(name string) (Planned, error) {
	return planned(c.planDeregisterJob(name))
}
