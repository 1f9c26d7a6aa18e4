package config

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// ShutDownJob disables a job without killing its launched executions: they run to their end, including retries and
// failover, and waiting ones are ended (rule F11). It writes only the mark. A job that is disabled already stays
// disabled.
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
	p.Events = append(p.Events, JobChanged{Name: j.name, Config: j.cfg, Version: j.version, Disabled: true,
		Shutdown: m == markedShutdown, Notes: j.notes, MarkOnly: true})
	return p, nil
}
