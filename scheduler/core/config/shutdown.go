package config

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// ShutDownJob disables a job without killing what was launched of it: that runs to its end, retries and failover included, and what
// waits is ended (rule F11). It is one write, the mark. A job that is disabled stays as it is.
type ShutDownJob struct{ Name string }

func (ch ShutDownJob) plan(k *Set) (Planned, error) {
	p := Planned{JobName: ch.Name}
	j := k.jobs[ch.Name]
	if j == nil || j.cfg == nil {
		return p, problem.NoJob(ch.Name)
	}
	m := markedShutdown
	if j.mark.Disables() {
		m = j.mark
	}
	p.putMark(store.PathJobDisabled, j.name, m)
	p.Events = append(p.Events, JobChanged{Name: j.name, Config: j.cfg, Version: j.version, Disabled: true, Shutdown: m == markedShutdown, Notes: j.notes, MarkOnly: true})
	return p, nil
}
