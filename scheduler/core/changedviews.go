package core

import (
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// common is what explanations of many jobs have in common.
type common struct {
	draining, open, behind bool
	reason                 string
	takeover               reason.Reason
	frameworkID, masterID  string
	ahead                  time.Duration
	capacities             int64
	cursor                 time.Time // while the clock is behind it
}

// seen is what people saw after the last step, of what is compared.
type seen struct {
	common      common
	nothingHeld bool
}

func (c *Core) commonView() common {
	s := c.subscription
	v := common{draining: c.Draining(), open: s.Open(), behind: !c.fires.BehindUntil().IsZero(), reason: s.Reason(), frameworkID: s.FrameworkID(), masterID: s.MasterID(),
		ahead: c.Ahead(), capacities: c.agents.Capacities()}
	if s.TakingOver() {
		v.takeover = s.TakeoverReason()
	}
	v.cursor = c.fires.BehindUntil()
	return v
}

// nameChanged completes what the step has changed for people, once its writes are known.
func (c *Core) nameChanged() {
	out := &c.Effects().Changed
	if now := c.commonView(); now != c.seen.common {
		c.seen.common, out.All, out.Cluster = now, true, true
	}
	if nothing := c.placement.Held().Len() == 0; nothing != c.seen.nothingHeld {
		c.seen.nothingHeld, out.Cluster = nothing, true
		for _, e := range c.executions.Launchable() {
			if e.Unplaced().Why.IsZero() { // else that is what it waits for
				c.SeeExecution(e.ID(), e.Job())
			}
		}
	}
	c.nameWritten()
	for _, call := range c.Effects().Calls {
		switch call.(type) {
		case step.CallLaunch, step.CallDecline:
			out.Cluster = true
		}
	}
	out.Cluster = out.Cluster || len(out.Executions) > 0 // tasks begin and end on agents
	c.nameWaiting()
}

// nameWritten names what the writes of the step are about.
func (c *Core) nameWritten() {
	out := &c.Effects().Changed
	for i := range c.decision.Writes {
		dir, name := store.Split(c.decision.Writes[i].Path)
		switch dir {
		case store.PathJobState, store.PathNotification:
			c.SeeJob(name)
		case store.PathExecution:
			c.nameExecution(name)
		case store.PathDaemonRuns:
			job, _, _ := strings.Cut(name, "@")
			c.SeeJob(job)
			if j := c.config.Job(job); j != nil {
				for _, e := range c.executions.Queue(j.Name()) {
					if e.Daemon() {
						c.SeeExecution(e.ID(), e.Job())
					}
				}
			}
		case store.PathOrphan:
			job, _, _ := strings.Cut(name, "@-@")
			c.SeeJob(job)
		case store.PathExecutor, store.PathStartFailure:
			out.Cluster = true
		default:
			if id, chunk := strings.CutPrefix(dir, store.PathShards+"/"); chunk {
				c.nameExecution(id)
			}
		}
	}
}

func (c *Core) nameExecution(id string) {
	c.Effects().Changed.Executions = step.AppendNew(c.Effects().Changed.Executions, id)
	job, _, _ := strings.Cut(id, "@")
	c.SeeJob(job)
}

// nameWaiting names the executions in the queues of jobs that changed: for what they wait, or shards of them, depends on their job and on those
// before them.
func (c *Core) nameWaiting() {
	for _, name := range c.Effects().Changed.Jobs {
		j := c.config.Job(name)
		if j == nil {
			continue
		}
		for _, e := range c.executions.Queue(j.Name()) {
			c.Effects().Changed.Executions = step.AppendNew(c.Effects().Changed.Executions, e.ID())
		}
	}
}

// seeConfigured names what an event about documents changes for people. It is called before and after it is taken: a job may go from
// one app to another.
func (c *Core) seeConfigured(e Event) {
	path := ""
	switch e := e.(type) {
	case config.AppChanged:
		path = store.Under(store.PathApps, e.Name)
	case config.JobChanged:
		path = store.Under(store.PathJobs, e.Name)
	case config.MarkChanged:
		path = e.Path
	case config.DocumentFaulty:
		path = e.Path
	}
	switch dir, name := store.Split(path); dir {
	case store.PathApps, store.PathAppDisabled:
		c.SeeApp(name)
		for _, job := range c.config.JobsOf(name) {
			c.SeeJob(job)
		}
	case store.PathJobs, store.PathJobDisabled:
		c.SeeJob(name)
	}
}

// seeEvent names what an event of the cluster changes of the cluster itself.
func (c *Core) seeEvent(e cluster.Event) {
	switch e.(type) {
	case cluster.Offers, cluster.Closed, cluster.Rescind, cluster.Failure:
		c.SeeCluster()
	}
}
