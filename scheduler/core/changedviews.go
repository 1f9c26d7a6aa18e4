package core

import (
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Changed names what people see otherwise after a step than before it. A name may stand in it more than once, and without a
// difference; what differs is never left out, but for texts that only count time, such as how long ago an executor was heard.
type Changed struct {
	// Jobs are those of which Job or Explain differ, or that are new or gone; Executions and Apps likewise.
	Jobs, Executions, Apps []string
	// Cluster is set when agents, offers, executors or the subscription differ.
	Cluster bool
	// All is set when what everything waits for has changed, as with the subscription: any explanation may differ.
	All bool
}

// None reports whether nothing has changed.
func (v *Changed) None() bool {
	return !v.All && !v.Cluster && len(v.Jobs)+len(v.Executions)+len(v.Apps) == 0
}

// Most of what people see is stored, so that the writes of a step name it (nameWritten). The parts name what they keep in
// memory only: seeJob, seeExecution and seeApp are called for that, where it changes.

func (s *shared) seeJob(name string) { s.out.Changed.Jobs = appendNew(s.out.Changed.Jobs, name) }

func (s *shared) seeExecution(e *execution) {
	s.out.Changed.Executions = appendNew(s.out.Changed.Executions, e.ID)
	s.seeJob(e.Job)
}

func (s *shared) seeApp(name string) { s.out.Changed.Apps = appendNew(s.out.Changed.Apps, name) }

// appendNew appends a name that is not the last one: writes come sorted, so that those of one job follow one another.
func appendNew(names []string, name string) []string {
	if n := len(names); n > 0 && names[n-1] == name {
		return names
	}
	return append(names, name)
}

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
	s := &c.subscription
	v := common{draining: c.draining, open: s.open, behind: c.fires.behind, reason: s.reason, frameworkID: s.frameworkID, masterID: s.masterID,
		ahead: c.Ahead(), capacities: c.agents.capacities}
	if s.takeover != nil {
		v.takeover = s.takeover.reason()
	}
	if v.behind {
		v.cursor = c.fires.cursor.Time
	}
	return v
}

// nameChanged completes what the step has changed for people, once its writes are known.
func (c *Core) nameChanged() {
	out := &c.out.Changed
	if now := c.commonView(); now != c.seen.common {
		c.seen.common, out.All, out.Cluster = now, true, true
	}
	if nothing := c.flow.held.Len() == 0; nothing != c.seen.nothingHeld {
		c.seen.nothingHeld, out.Cluster = nothing, true
		for _, e := range c.executions.launchable {
			if e.unplaced.why.IsZero() { // else that is what it waits for
				c.seeExecution(e)
			}
		}
	}
	c.nameWritten()
	for _, call := range c.out.Calls {
		switch call.(type) {
		case CallLaunch, CallDecline:
			out.Cluster = true
		}
	}
	out.Cluster = out.Cluster || len(out.Executions) > 0 // tasks begin and end on agents
	c.nameWaiting()
}

// nameWritten names what the writes of the step are about.
func (c *Core) nameWritten() {
	out := &c.out.Changed
	for i := range c.out.Writes {
		dir, name := splitPath(c.out.Writes[i].Path)
		switch dir {
		case pathJobState, pathNotification:
			c.seeJob(name)
		case pathExecution:
			c.nameExecution(name)
		case pathDaemonRuns:
			job, _, _ := strings.Cut(name, "@")
			c.seeJob(job)
			if j := c.config.jobs[job]; j != nil {
				for _, e := range j.queue {
					if e.daemon() {
						c.seeExecution(e)
					}
				}
			}
		case pathOrphan:
			job, _, _ := strings.Cut(name, "@-@")
			c.seeJob(job)
		case pathExecutor, pathStartFailure:
			out.Cluster = true
		default:
			if id, chunk := strings.CutPrefix(dir, pathShards+"/"); chunk {
				c.nameExecution(id)
			}
		}
	}
}

func (c *Core) nameExecution(id string) {
	c.out.Changed.Executions = appendNew(c.out.Changed.Executions, id)
	job, _, _ := strings.Cut(id, "@")
	c.seeJob(job)
}

// nameWaiting names the executions in the queues of jobs that changed: for what they wait, or shards of them, depends on their job and on those
// before them.
func (c *Core) nameWaiting() {
	for _, name := range c.out.Changed.Jobs {
		j := c.config.jobs[name]
		if j == nil {
			continue
		}
		for _, e := range j.queue {
			c.out.Changed.Executions = appendNew(c.out.Changed.Executions, e.ID)
		}
	}
}

// setUnplaced keeps what a match, or a change, has made of an execution.
func (c *Core) setUnplaced(e *execution, u unplaced) {
	if !e.unplaced.why.Equal(u.why) {
		c.seeExecution(e)
	}
	e.unplaced = u
}

// seeConfigured names what an event about documents changes for people. It is called before and after it is taken: a job may go from
// one app to another.
func (c *Core) seeConfigured(e Event) {
	path := ""
	switch e := e.(type) {
	case AppChanged:
		path = store.Under(pathApps, e.Name)
	case JobChanged:
		path = store.Under(pathJobs, e.Name)
	case MarkChanged:
		path = e.Path
	case DocumentFaulty:
		path = e.Path
	}
	switch dir, name := splitPath(path); dir {
	case pathApps, pathAppDisabled:
		c.seeApp(name)
		for _, job := range c.config.jobsOf(name) {
			c.seeJob(job)
		}
	case pathJobs, pathJobDisabled:
		c.seeJob(name)
	}
}

// seeWhenDue names what a shard belongs to when its backoff has passed: it waits for something else then.
func (c *Core) seeWhenDue(e *execution, s *shard) {
	c.timers.At(s.NotBefore, func(time.Time) { c.seeExecution(e) })
}

// seeRunning names the jobs with a task that matches, by name.
func (c *Core) seeRunning(match func(*shard) bool) {
	var jobs []string
	for _, ref := range c.executions.tasks {
		if match(ref.shard()) {
			jobs = append(jobs, ref.exec.Job)
		}
	}
	slices.Sort(jobs)
	for _, name := range jobs {
		c.seeJob(name)
	}
}

// seeEvent names what an event of the cluster changes of the cluster itself.
func (c *Core) seeEvent(e cluster.Event) {
	switch e.(type) {
	case cluster.Offers, cluster.Closed, cluster.Rescind, cluster.Failure:
		c.out.Changed.Cluster = true
	}
}
