package scheduler

import (
	"context"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// CheckJob says what RegisterJob would lead to, and changes nothing.
func (s *Scheduler) CheckJob(ctx context.Context, cfg jobs.Config) (core.JobCheck, error) {
	return read(ctx, s, func(c *core.Core) (core.JobCheck, error) { return c.CheckJob(core.RegisterJob{Config: cfg}) })
}

// CheckJobUpdate says what UpdateJob would lead to, and changes nothing.
func (s *Scheduler) CheckJobUpdate(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) (core.JobCheck, error) {
	return read(ctx, s, func(c *core.Core) (core.JobCheck, error) {
		old, err := c.Job(name)
		if err != nil {
			return c.CheckJob(core.UpdateJob{Config: jobs.Config{JobName: name}}) // its refusal is the answer
		}
		cfg, err := change(old.Config)
		if err != nil {
			return core.JobCheck{}, err
		}
		return c.CheckJob(core.UpdateJob{Config: cfg, Version: old.Version})
	})
}
