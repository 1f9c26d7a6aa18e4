package core

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// What a test plans, it applies itself (stage.apply), or looks at.

func (c *Core) planRegisterApp(cfg app.Config) (planned, error)  { return RegisterApp{cfg}.plan(c) }
func (c *Core) planRegisterJob(cfg jobs.Config) (planned, error) { return RegisterJob{cfg}.plan(c) }
func (c *Core) planDisableApp(name string, off bool) (planned, error) {
	return DisableApp{name, off}.plan(c)
}
func (c *Core) planDisableJob(name string, off bool) (planned, error) {
	return DisableJob{name, off}.plan(c)
}
func (c *Core) planDeleteApp(name string, jobs bool) (planned, error) {
	return DeleteApp{name, jobs}.plan(c)
}
func (c *Core) planDeregisterJob(name string) (planned, error) { return DeregisterJob{name}.plan(c) }

func (c *Core) planUpdateApp(name string, change func(app.Config) (app.Config, error)) (planned, error) {
	v, err := c.App(name)
	if err != nil {
		return planned{}, err
	}
	cfg, err := change(v.Config)
	if err != nil {
		return planned{}, err
	}
	return UpdateApp{cfg, v.Version}.plan(c)
}

func (c *Core) planUpdateJob(name string, change func(jobs.Config) (jobs.Config, error)) (planned, error) {
	v, err := c.Job(name)
	if err != nil {
		return UpdateJob{Config: jobs.Config{JobName: name}}.plan(c)
	}
	cfg, err := change(v.Config)
	if err != nil {
		return planned{}, err
	}
	return UpdateJob{cfg, v.Version}.plan(c)
}
