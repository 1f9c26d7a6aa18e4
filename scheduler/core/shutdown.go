package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// ShutDownJob disables a job without killing what was launched of it: that runs to its end, retries and failover included, and what
// waits is ended (rule F11). It is one write, the mark. A job that is disabled stays as it is.
type ShutDownJob struct{ Name string }

func (ch ShutDownJob) plan(k *configuration) (planned, error) {
	p := planned{jobName: ch.Name}
	j := k.jobs[ch.Name]
	if j == nil || j.cfg == nil {
		return p, problem.NoJob(ch.Name)
	}
	m := markedShutdown
	if j.mark.disables() {
		m = j.mark
	}
	p.putMark(store.PathJobDisabled, j.name, m)
	p.events = append(p.events, JobChanged{Name: j.name, Config: j.cfg, Version: j.version, Disabled: true, Shutdown: m == markedShutdown, Notes: j.notes, MarkOnly: true})
	return p, nil
}

// endWaiting ends the executions of a job that were not launched.
func (c *Core) endWaiting(j *jobState, why reason.Reason) {
	for _, e := range slices.Clone(c.executions.Queue(j.name)) {
		if !e.Launched() {
			c.executions.Kill(e, why)
		}
	}
}
