package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Stats returns counters and gauges.
func (c *Core) Stats() stats.Stats {
	s := c.Numbers
	s.Leading, s.Subscribed = true, c.subscription.Open()
	s.Apps, s.ExecutorsRunning, s.OffersHeld = c.config.NumApps(), c.executors.Len(), c.placement.Held().Len()
	for _, j := range c.config.AllJobs() {
		if j.Config() != nil {
			s.Jobs++
		}
	}
	for e := range c.executions.AllOpen() {
		switch {
		case e.Launched():
			s.ExecutionsRunning++
			continue
		case !e.Daemon():
			s.ExecutionsBlocked++ // if it is ready, measureQueues takes it away
		}
		s.ExecutionsWaiting++
	}
	s.Documents = c.config.DocumentSizes()
	c.measureQueues(&s)
	for _, ref := range c.executions.AllTasks() {
		if ref.Shard().Live() {
			s.TasksRunning++
		}
	}
	s.NotificationsPending = len(c.notifications.Jobs())
	s.JobsWithoutMetrics = len(c.OfJobs.LeftOut())
	for _, of := range c.OfJobs.All {
		s.OfJobs = append(s.OfJobs, *of)
	}
	return s
}

// measureQueues looks at all that could be launched if there were resources for it.
func (c *Core) measureQueues(s *stats.Stats) {
	wait := func(q *stats.Queue, n int, since time.Time) {
		q.Depth += n
		q.Oldest = max(q.Oldest, c.Now().Sub(since))
	}
	for _, e := range c.executions.Launchable() {
		if !e.Kill().IsZero() || c.st.HeldBack(e) {
			continue
		}
		if !e.Launched() {
			switch j := c.config.Job(e.Job()); {
			case !c.st.CanLaunch(j):
			case e.Daemon():
				wait(&s.Daemon, j.Config().ShardingTotalCount, e.Made())
			default:
				wait(&s.Ready, 1, e.Made())
				s.ExecutionsBlocked--
			}
			continue
		}
		for i := range e.NumShards() {
			switch sh := e.Shard(i); {
			case sh.State() != executions.Waiting:
			case e.Daemon():
				wait(&s.Daemon, 1, sh.WaitSince())
			case sh.Type() == executions.FailoverSource:
				wait(&s.Failover, 1, sh.WaitSince())
			default:
				wait(&s.Retry, 1, sh.WaitSince())
			}
		}
	}
}
