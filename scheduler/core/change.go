package core

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Change is a change of configuration that somebody asks for: one of the types below. They are data: what was merged into a
// document was merged before, and Version says into which.
type Change interface {
	// plan checks the change against what the core knows.
	plan(k *configuration) (planned, error)
}

// RegisterApp adds an app. Config must have been checked.
type RegisterApp struct{ Config app.Config }

// UpdateApp replaces an app's document, of which Version is the one that Config was made from. If that has changed
// meanwhile, the answer is an *Error with the code StaleVersion.
type UpdateApp struct {
	Config  app.Config
	Version int64
}

// DisableApp sets or removes an app's disabled mark (rule F6).
type DisableApp struct {
	Name     string
	Disabled bool
}

// DeleteApp deletes an app, with its jobs if asked to, all in one commit ([D13]).
type DeleteApp struct {
	Name     string
	WithJobs bool
}

// RegisterJob adds a job. Config must have been checked.
type RegisterJob struct{ Config jobs.Config }

// UpdateJob replaces a job's document; see UpdateApp.
type UpdateJob struct {
	Config  jobs.Config
	Version int64
}

// DisableJob sets or removes a job's disabled mark (rule F6).
type DisableJob struct {
	Name     string
	Disabled bool
}

// DeregisterJob removes a job (rule K2).
type DeregisterJob struct{ Name string }

// StaleVersion is the code of the error that answers a change of a document that has changed since it was read.
const StaleVersion = "stale_version"

func (p *planned) put(path string, value []byte, version int64, isNew bool) {
	cond := registry.AtVersion(version)
	if isNew {
		cond = registry.Absent()
	}
	p.writes = append(p.writes, registry.Write{Path: path, Value: value, If: cond})
}

func (p *planned) remove(path string, version int64) {
	p.writes = append(p.writes, registry.Write{Path: path, Delete: true, If: registry.AtVersion(version)})
}

// putNew writes a document that is not there yet, or replaces one that can't be
// used, and returns its version afterwards.
func (k *configuration) putNew(p *planned, path string, value []byte) int64 {
	if f, ok := k.faulty[path]; ok {
		p.put(path, value, f.version, false)
		return f.version + 1
	}
	p.put(path, value, 0, true)
	return 0
}

func (ch RegisterApp) plan(k *configuration) (planned, error) {
	cfg := ch.Config
	p := planned{appName: cfg.AppName}
	if k.apps[cfg.AppName] != nil {
		return p, problem.Errorf(problem.Conflict, "app_exists", "app '%s' already existed. PUT /api/app changes it", cfg.AppName)
	}
	document := k.writeApp(cfg)
	if err := k.checkRoom(measured{cfg.AppName, len(document)}, measured{}); err != nil {
		return p, err
	}
	version := k.putNew(&p, store.Under(store.PathApps, cfg.AppName), document)
	p.putMark(store.PathAppDisabled, cfg.AppName, notMarked)
	p.events = append(p.events, AppChanged{Name: cfg.AppName, Config: &cfg, Version: version, Bytes: len(document)})
	return p, nil
}

func (ch UpdateApp) plan(k *configuration) (planned, error) {
	cfg, name := ch.Config, ch.Config.AppName
	p := planned{appName: name}
	a := k.apps[name]
	switch {
	case a == nil:
		return p, problem.NoApp(name)
	case a.version != ch.Version:
		return p, problem.Errorf(problem.Conflict, StaleVersion, "app %q has changed since it was read; read it again and repeat the change", name)
	}
	document := k.writeApp(cfg)
	if err := k.checkRoom(measured{name, len(document)}, measured{name, a.bytes}); err != nil {
		return p, err
	}
	p.put(store.Under(store.PathApps, name), document, a.version, false)
	p.events = append(p.events, AppChanged{Name: name, Config: &cfg, Version: a.version + 1, Disabled: a.disabled, Bytes: len(document)})
	return p, nil
}

func (ch DisableApp) plan(k *configuration) (planned, error) {
	name, disabled := ch.Name, ch.Disabled
	p := planned{appName: name}
	a := k.apps[name]
	if a == nil {
		return p, problem.NoApp(name)
	}
	p.putMark(store.PathAppDisabled, name, markWhen(disabled, false))
	cfg := a.cfg
	p.events = append(p.events, AppChanged{Name: name, Config: &cfg, Version: a.version, Disabled: disabled, Notes: a.notes, MarkOnly: true})
	return p, nil
}

func (ch DeleteApp) plan(k *configuration) (planned, error) {
	name := ch.Name
	p := planned{appName: name, removed: true}
	path := store.Under(store.PathApps, name)
	a, f := k.apps[name], k.faulty[path]
	if a == nil && !k.hasFault(path) {
		return p, problem.NoApp(name)
	}
	users, version := k.jobsOf(name), f.version
	if a != nil {
		version = a.version
	}
	if len(users) > 0 && !ch.WithJobs {
		return p, problem.AppInUse(name, users)
	}
	for _, jobName := range users {
		k.planRemoveJob(&p, k.jobs[jobName])
	}
	p.remove(path, version)
	p.putMark(store.PathAppDisabled, name, notMarked)
	p.events = append(p.events, AppChanged{Name: name})
	return p, nil
}

func (ch RegisterJob) plan(k *configuration) (planned, error) {
	cfg := ch.Config
	p := planned{jobName: cfg.JobName}
	if j := k.jobs[cfg.JobName]; j != nil && j.cfg != nil {
		return p, problem.Errorf(problem.Conflict, "job_exists", "Job '%s' already existed. PUT /api/job/update changes it", cfg.JobName)
	}
	a := k.apps[cfg.AppName]
	if a == nil {
		return p, problem.Errorf(problem.NotFound, "app_not_found", "Register app '%s' firstly. There is no such app: POST it to /api/app, then register the job again", cfg.AppName)
	}
	if a.disabled {
		return p, problem.Errorf(problem.Conflict, "app_disabled", "app %q is disabled: enable it (POST /api/app/%s/enable), then register the job again", a.name, a.name)
	}
	document := k.writeJob(cfg)
	if err := k.checkRoom(measured{cfg.AppName, len(document)}, measured{}); err != nil {
		return p, err
	}
	version := k.putNew(&p, store.Under(store.PathJobs, cfg.JobName), document)
	p.putMark(store.PathJobDisabled, cfg.JobName, notMarked)
	p.events = append(p.events, JobChanged{Name: cfg.JobName, Config: &cfg, Version: version, Bytes: len(document)})
	return p, nil
}

func (ch UpdateJob) plan(k *configuration) (planned, error) {
	cfg, name := ch.Config, ch.Config.JobName
	p := planned{jobName: name}
	j := k.jobs[name]
	if j == nil || j.cfg == nil {
		return p, problem.Errorf(problem.NotFound, "job_not_found", "Cannot found job '%s', please register first.", name)
	}
	if j.version != ch.Version {
		return p, problem.Errorf(problem.Conflict, StaleVersion, "job %q has changed since it was read; read it again and repeat the change", name)
	}
	if k.apps[cfg.AppName] == nil {
		return p, problem.Errorf(problem.NotFound, "app_not_found", "Register app '%s' firstly. There is no such app: POST it to /api/app, then update the job again", cfg.AppName)
	}
	document := k.writeJob(cfg)
	if err := k.checkRoom(measured{cfg.AppName, len(document)}, measured{j.cfg.AppName, j.bytes}); err != nil {
		return p, err
	}
	p.put(store.Under(store.PathJobs, name), document, j.version, false)
	p.events = append(p.events, JobChanged{Name: name, Config: &cfg, Version: j.version + 1, Disabled: j.mark.disables(), Shutdown: j.mark == markedShutdown, Bytes: len(document)})
	return p, nil
}

func (ch DisableJob) plan(k *configuration) (planned, error) {
	name, disabled := ch.Name, ch.Disabled
	p := planned{jobName: name}
	j := k.jobs[name]
	if j == nil || j.cfg == nil {
		return p, problem.NoJob(name)
	}
	p.putMark(store.PathJobDisabled, name, markWhen(disabled, false))
	p.events = append(p.events, JobChanged{Name: name, Config: j.cfg, Version: j.version, Disabled: disabled, Notes: j.notes, MarkOnly: true})
	return p, nil
}

func (ch DeregisterJob) plan(k *configuration) (planned, error) {
	name := ch.Name
	p := planned{jobName: name, removed: true}
	j := k.jobs[name]
	switch {
	case k.hasFault(store.Under(store.PathJobs, name)):
		p.remove(store.Under(store.PathJobs, name), k.faulty[store.Under(store.PathJobs, name)].version)
		p.putMark(store.PathJobDisabled, name, notMarked)
		p.events = append(p.events, JobChanged{Name: name})
	case j == nil || j.cfg == nil:
		return p, problem.NoJob(name)
	default:
		k.planRemoveJob(&p, j)
	}
	return p, nil
}

func (k *configuration) planRemoveJob(p *planned, j *jobState) {
	p.remove(store.Under(store.PathJobs, j.name), j.version)
	p.putMark(store.PathJobDisabled, j.name, notMarked)
	p.events = append(p.events, JobChanged{Name: j.name})
}
