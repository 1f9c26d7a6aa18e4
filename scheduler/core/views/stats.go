package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Stats returns the counters and histograms of the term, with the present gauges.
func (vs *Views) Stats() stats.Stats {
	s := vs.st.Numbers
	s.Leading, s.Subscribed = true, vs.st.Subscription.Open()
	s.Apps, s.ExecutorsRunning, s.OffersHeld = vs.st.Config.NumApps(), vs.st.Executors.Len(), vs.placement.Held().Len()
	for _, j := range vs.st.Config.AllJobs() {
		if j.Config() != nil {
			s.Jobs++
		}
	}
	for e := range vs.st.Executions.AllOpen() {
		switch {
		case e.Launched():
			s.ExecutionsRunning++
			continue
		case !e.Daemon():
			s.ExecutionsBlocked++ // measureQueues subtracts the ready executions
		}
		s.ExecutionsWaiting++
	}
	s.Documents = vs.st.Config.DocumentSizes()
	vs.measureQueues(&s)
	for _, ref := range vs.st.Executions.AllTasks() {
		if ref.Shard().Live() {
			s.TasksRunning++
		}
	}
	s.MachinesSilent, s.MachinesCordoned = len(vs.silentMachines()), vs.st.Machines.Len()
	s.JobsBlocked = len(vs.blockedJobs())
	s.NotificationsPending = len(vs.notifications.Jobs())
	s.JobsWithoutMetrics = len(vs.st.JobStats.LeftOut())
	for _, of := range vs.st.JobStats.All {
		s.OfJobs = append(s.OfJobs, *of)
	}
	return s
}

// measureQueues counts the executions that could be launched if there were resources for them, and the waiting shards
// of launched executions, including those whose next attempt is not due yet.
func (vs *Views) measureQueues(s *stats.Stats) {
	wait := func(q *stats.Queue, n int, since time.Time) {
		q.Depth += n
		q.Oldest = max(q.Oldest, vs.st.Now().Sub(since))
	}
	for _, e := range vs.st.Executions.Launchable() {
		if !e.Kill().IsZero() || vs.st.HeldBack(e) {
			continue
		}
		if !e.Launched() {
			switch j := vs.st.Config.Job(e.Job()); {
			case !vs.st.CanLaunch(j):
			case e.Daemon():
				wait(&s.Daemon, j.Config().ShardingTotalCount, e.CreatedAt())
			default:
				wait(&s.Ready, 1, e.CreatedAt())
				s.ExecutionsBlocked--
			}
			continue
		}
		for i := range e.NumShards() {
			switch sh := e.Shard(i); {
			case sh.State() != executions.Waiting:
			case e.Daemon():
				wait(&s.Daemon, 1, sh.WaitSince())
			case sh.Source() == executions.FailoverSource:
				wait(&s.Failover, 1, sh.WaitSince())
			default:
				wait(&s.Retry, 1, sh.WaitSince())
			}
		}
	}
}
