package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// Cluster returns the cluster as this leader knows it, with one page of its agents. It reads twice, so that nothing is sorted while the loop
// waits: an agent that went away in between is missing from the page.
func (s *Scheduler) Cluster(ctx context.Context, f core.ClusterFilter) (core.ClusterView, error) {
	names, err := read(ctx, s, func(c *core.Core) ([]core.AgentName, error) { return c.AgentNames(), nil })
	if err != nil {
		return core.ClusterView{}, err
	}
	ids, total := f.Of(names)
	v, err := read(ctx, s, func(c *core.Core) (core.ClusterView, error) { return c.Cluster(ids), nil })
	v.AgentsTotal, v.FrameworkName = total, s.opt.Framework.Name
	return v, err
}

// Agent returns one agent of the cluster with what runs there.
func (s *Scheduler) Agent(ctx context.Context, id string) (core.AgentDetail, error) {
	return read(ctx, s, func(c *core.Core) (core.AgentDetail, error) { return c.Agent(id) })
}

// Schedules are those by which jobs fire now, in no order, with how many do.
func (s *Scheduler) Schedules(ctx context.Context) ([]core.ScheduleView, error) {
	return read(ctx, s, func(c *core.Core) ([]core.ScheduleView, error) { return c.Schedules(), nil })
}

// Activity is what this leader has done in each minute that began at a moment or later, as far as it remembers, the oldest first.
func (s *Scheduler) Activity(ctx context.Context, from time.Time) ([]search.Activity, error) {
	return read(ctx, s, func(c *core.Core) ([]search.Activity, error) { return c.Activity(from), nil })
}
