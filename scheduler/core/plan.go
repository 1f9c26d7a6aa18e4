package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
)

// Planned is a change of configuration, checked against what the core knows:
// Writes are committed alone, version-checked, then Events are stepped with (rule T4).
type Planned struct {
	Writes []registry.Write
	Events []Event
}

func (p *Planned) put(path string, value []byte, version int64, isNew bool) {
	cond := registry.AtVersion(version)
	if isNew {
		cond = registry.Absent()
	}
	p.Writes = append(p.Writes, registry.Write{Path: path, Value: value, If: cond})
}

func (p *Planned) remove(path string, version int64) {
	p.Writes = append(p.Writes, registry.Write{Path: path, Delete: true, If: registry.AtVersion(version)})
}

// markDisabled puts or removes a disabled mark, whose value is the name.
func (p *Planned) markDisabled(dir, name string, disabled bool) {
	p.Writes = append(p.Writes, registry.Write{Path: under(dir, name), Value: []byte(name), Delete: !disabled})
}

// putNew writes a document that is not there yet, or replaces one that can't be
// used, and returns its version afterwards.
func (c *Core) putNew(p *Planned, path string, value []byte) int64 {
	if f, ok := c.faulty[path]; ok {
		p.put(path, value, f.version, false)
		return f.version + 1
	}
	p.put(path, value, 0, true)
	return 0
}

func (c *Core) PlanRegisterApp(cfg app.Config) (Planned, error) {
	var p Planned
	if c.apps[cfg.AppName] != nil {
		return p, Errorf(Conflict, "app_exists", "app '%s' already existed.", cfg.AppName)
	}
	version := c.putNew(&p, under(pathApps, cfg.AppName), c.writeApp(cfg))
	p.markDisabled(pathAppDisabled, cfg.AppName, false)
	p.Events = append(p.Events, AppChanged{Name: cfg.AppName, Config: &cfg, Version: version})
	return p, nil
}

func (c *Core) PlanUpdateApp(name string, change func(app.Config) (app.Config, error)) (Planned, error) {
	var p Planned
	a := c.apps[name]
	if a == nil {
		return p, appNotFound(name)
	}
	cfg, err := change(a.cfg)
	if err != nil {
		return p, err
	}
	p.put(under(pathApps, name), c.writeApp(cfg), a.version, false)
	p.Events = append(p.Events, AppChanged{Name: name, Config: &cfg, Version: a.version + 1, Disabled: a.disabled})
	return p, nil
}

func (c *Core) PlanDisableApp(name string, disabled bool) (Planned, error) {
	var p Planned
	a := c.apps[name]
	if a == nil {
		return p, appNotFound(name)
	}
	p.markDisabled(pathAppDisabled, name, disabled)
	cfg := a.cfg
	p.Events = append(p.Events, AppChanged{Name: name, Config: &cfg, Version: a.version, Disabled: disabled, Notes: a.notes, MarkOnly: true})
	return p, nil
}

// PlanDeleteApp deletes an app, with its jobs if asked to, all in one commit ([D13]).
func (c *Core) PlanDeleteApp(name string, withJobs bool) (Planned, error) {
	var p Planned
	path := under(pathApps, name)
	a, f := c.apps[name], c.faulty[path]
	if a == nil && !c.hasFault(path) {
		return p, appNotFound(name)
	}
	users, version := c.jobsOf(name), f.version
	if a != nil {
		version = a.version
	}
	if len(users) > 0 && !withJobs {
		return p, appInUse(name, users)
	}
	for _, jobName := range users {
		c.planRemoveJob(&p, c.jobs[jobName])
	}
	p.remove(path, version)
	p.markDisabled(pathAppDisabled, name, false)
	p.Events = append(p.Events, AppChanged{Name: name})
	return p, nil
}

// jobsOf names the jobs of an app, also of one whose document can't be used.
func (c *Core) jobsOf(appName string) []string {
	if a := c.apps[appName]; a != nil {
		return sortedKeys(a.jobs)
	}
	var names []string
	for name, j := range c.jobs {
		if j.cfg != nil && j.cfg.AppName == appName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *Core) PlanRegisterJob(cfg jobs.Config) (Planned, error) {
	var p Planned
	if j := c.jobs[cfg.JobName]; j != nil && j.cfg != nil {
		return p, Errorf(Conflict, "job_exists", "Job '%s' already existed.", cfg.JobName)
	}
	a := c.apps[cfg.AppName]
	if a == nil {
		return p, Errorf(NotFound, "app_not_found", "Register app '%s' firstly. There is no such app: POST it to /api/app, then register the job again", cfg.AppName)
	}
	if a.disabled {
		return p, Errorf(Conflict, "app_disabled", "app %q is disabled: enable it (POST /api/app/%s/enable), then register the job again", a.name, a.name)
	}
	version := c.putNew(&p, under(pathJobs, cfg.JobName), c.writeJob(cfg))
	p.markDisabled(pathJobDisabled, cfg.JobName, false)
	p.Events = append(p.Events, JobChanged{Name: cfg.JobName, Config: &cfg, Version: version})
	return p, nil
}

func (c *Core) PlanUpdateJob(name string, change func(jobs.Config) (jobs.Config, error)) (Planned, error) {
	var p Planned
	j := c.jobs[name]
	if j == nil || j.cfg == nil {
		return p, Errorf(NotFound, "job_not_found", "Cannot found job '%s', please register first.", name)
	}
	cfg, err := change(*j.cfg)
	if err != nil {
		return p, err
	}
	if c.apps[cfg.AppName] == nil {
		return p, Errorf(NotFound, "app_not_found", "Register app '%s' firstly. There is no such app: POST it to /api/app, then update the job again", cfg.AppName)
	}
	p.put(under(pathJobs, name), c.writeJob(cfg), j.version, false)
	p.Events = append(p.Events, JobChanged{Name: name, Config: &cfg, Version: j.version + 1, Disabled: j.disabled})
	return p, nil
}

func (c *Core) PlanDisableJob(name string, disabled bool) (Planned, error) {
	var p Planned
	j := c.jobs[name]
	if j == nil || j.cfg == nil {
		return p, jobNotFound(name)
	}
	p.markDisabled(pathJobDisabled, name, disabled)
	p.Events = append(p.Events, JobChanged{Name: name, Config: j.cfg, Version: j.version, Disabled: disabled, Notes: j.notes, MarkOnly: true})
	return p, nil
}

func (c *Core) PlanDeregisterJob(name string) (Planned, error) {
	var p Planned
	j := c.jobs[name]
	switch {
	case c.hasFault(under(pathJobs, name)):
		p.remove(under(pathJobs, name), c.faulty[under(pathJobs, name)].version)
		p.markDisabled(pathJobDisabled, name, false)
		p.Events = append(p.Events, JobChanged{Name: name})
	case j == nil || j.cfg == nil:
		return p, jobNotFound(name)
	default:
		c.planRemoveJob(&p, j)
	}
	return p, nil
}

func (c *Core) planRemoveJob(p *Planned, j *jobState) {
	p.remove(under(pathJobs, j.name), j.version)
	p.markDisabled(pathJobDisabled, j.name, false)
	p.Events = append(p.Events, JobChanged{Name: j.name})
}
