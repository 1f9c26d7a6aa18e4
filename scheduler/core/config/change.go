package config

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Change is a requested change of configuration: one of the types in this package with a plan method. An update has
// the complete new document, and the Version of the stored document from which the caller made it.
type Change interface {
	// plan checks the change against the present configuration.
	plan(k *Set) (Planned, error)
}

// RegisterApp adds an app. Config must have been checked. If the app exists, the error is a Conflict.
type RegisterApp struct{ Config app.Config }

// UpdateApp replaces an app's document. Version is the version of the document from which Config was made. If the
// document has changed since, the answer is a *problem.Error with the code StaleVersion.
type UpdateApp struct {
	Config  app.Config
	Version int64
}

// SetAppDisabled sets or removes an app's disabled mark (rule F6).
type SetAppDisabled struct {
	Name     string
	Disabled bool
}

// DeleteApp deletes an app, with its jobs if WithJobs is set, all in one commit ([D13]). If the app has jobs and
// WithJobs is not set, the error is a Conflict.
type DeleteApp struct {
	Name     string
	WithJobs bool
}

// RegisterJob adds a job. Config must have been checked. Its app must be registered and not disabled.
type RegisterJob struct{ Config jobs.Config }

// UpdateJob replaces a job's document; see UpdateApp.
type UpdateJob struct {
	Config  jobs.Config
	Version int64
}

// SetJobDisabled sets or removes a job's disabled mark (rule F6). With Shutdown, which requires Disabled, the launched
// executions run to their end, including retries and failover, and waiting ones are ended (rule F11). Shutdown does
// not change a job that is disabled already.
type SetJobDisabled struct {
	Name               string
	Disabled, Shutdown bool
}

// DeregisterJob removes a job and kills its executions (rule K2).
type DeregisterJob struct{ Name string }

// StaleVersion is the code of the error if the document has changed since the caller read it.
const StaleVersion = "stale_version"

// put adds the write of a document, on the condition that its version is the given one or, if it is new, that there is
// none.
func (p *Planned) put(path string, value []byte, version int64, isNew bool) {
	cond := registry.AtVersion(version)
	if isNew {
		cond = registry.Absent()
	}
	p.Writes = append(p.Writes, registry.Write{Path: path, Value: value, If: cond})
}

// remove adds the removal of a document, on the condition that its version is the given one.
func (p *Planned) remove(path string, version int64) {
	p.Writes = append(p.Writes, registry.Write{Path: path, Delete: true, If: registry.AtVersion(version)})
}

// putNew adds the write of a document that does not exist yet, or that replaces a stored one that cannot be used. It
// returns the version that the document will have.
func (k *Set) putNew(p *Planned, path string, value []byte) int64 {
	if f, ok := k.faulty[path]; ok {
		p.put(path, value, f.version, false)
		return f.version + 1
	}
	p.put(path, value, 0, true)
	return 0
}

func (ch RegisterApp) plan(k *Set) (Planned, error) {
	cfg := ch.Config
	p := Planned{AppName: cfg.AppName}
	if k.apps[cfg.AppName] != nil {
		// The first sentence is the original's text; clients compare it.
		return p, problem.Errorf(problem.Conflict, "app_exists", "app '%s' already existed. PUT /api/app changes it",
			cfg.AppName)
	}
	document := encode(k, cfg, app.Schema.EncodeYAML)
	if err := k.checkSizeLimit(documentSize{cfg.AppName, len(document)}, documentSize{}); err != nil {
		return p, err
	}
	version := k.putNew(&p, store.Under(store.PathApps, cfg.AppName), document)
	p.putMark(store.PathAppDisabled, cfg.AppName, notMarked)
	p.Events = append(p.Events, AppChanged{Name: cfg.AppName, Config: &cfg, Version: version, Bytes: len(document)})
	return p, nil
}

func (ch UpdateApp) plan(k *Set) (Planned, error) {
	cfg, name := ch.Config, ch.Config.AppName
	p := Planned{AppName: name}
	a := k.apps[name]
	switch {
	case a == nil:
		return p, problem.NoApp(name)
	case a.version != ch.Version:
		return p, problem.Errorf(problem.Conflict, StaleVersion,
			"app %q has changed since it was read; read it again and repeat the change", name)
	}
	document := encode(k, cfg, app.Schema.EncodeYAML)
	if err := k.checkSizeLimit(documentSize{name, len(document)}, documentSize{name, a.bytes}); err != nil {
		return p, err
	}
	p.put(store.Under(store.PathApps, name), document, a.version, false)
	p.Events = append(p.Events, AppChanged{Name: name, Config: &cfg, Version: a.version + 1, Disabled: a.disabled,
		Bytes: len(document)})
	return p, nil
}

func (ch SetAppDisabled) plan(k *Set) (Planned, error) {
	name, disabled := ch.Name, ch.Disabled
	p := Planned{AppName: name}
	a := k.apps[name]
	if a == nil {
		return p, problem.NoApp(name)
	}
	p.putMark(store.PathAppDisabled, name, markFor(disabled, false))
	cfg := a.cfg
	p.Events = append(p.Events, AppChanged{Name: name, Config: &cfg, Version: a.version, Disabled: disabled,
		Notes: a.notes, MarkOnly: true})
	return p, nil
}

func (ch DeleteApp) plan(k *Set) (Planned, error) {
	name := ch.Name
	p := Planned{AppName: name, Removed: true}
	path := store.Under(store.PathApps, name)
	a, f := k.apps[name], k.faulty[path]
	if a == nil && !k.HasFault(path) {
		return p, problem.NoApp(name)
	}
	jobNames, version := k.JobsOf(name), f.version
	if a != nil {
		version = a.version
	}
	if len(jobNames) > 0 && !ch.WithJobs {
		return p, problem.AppInUse(name, jobNames)
	}
	for _, jobName := range jobNames {
		k.planRemoveJob(&p, k.jobs[jobName])
	}
	p.remove(path, version)
	p.putMark(store.PathAppDisabled, name, notMarked)
	p.Events = append(p.Events, AppChanged{Name: name})
	return p, nil
}

func (ch RegisterJob) plan(k *Set) (Planned, error) {
	cfg := ch.Config
	p := Planned{JobName: cfg.JobName}
	if j := k.jobs[cfg.JobName]; j != nil && j.cfg != nil {
		// The first sentence is the original's text; clients compare it.
		return p, problem.Errorf(problem.Conflict, "job_exists",
			"Job '%s' already existed. PUT /api/job/update changes it", cfg.JobName)
	}
	a := k.apps[cfg.AppName]
	if a == nil {
		// The first sentence is the original's text; clients compare it.
		return p, problem.Errorf(problem.NotFound, "app_not_found",
			"Register app '%s' firstly. There is no such app: POST it to /api/app, then register the job again",
			cfg.AppName)
	}
	if a.disabled {
		return p, problem.Errorf(problem.Conflict, "app_disabled",
			"app %q is disabled: enable it (POST /api/app/%s/enable), then register the job again", a.name, a.name)
	}
	document := encode(k, cfg, jobs.Schema.EncodeYAML)
	if err := k.checkSizeLimit(documentSize{cfg.AppName, len(document)}, documentSize{}); err != nil {
		return p, err
	}
	version := k.putNew(&p, store.Under(store.PathJobs, cfg.JobName), document)
	p.putMark(store.PathJobDisabled, cfg.JobName, notMarked)
	p.Events = append(p.Events, JobChanged{Name: cfg.JobName, Config: &cfg, Version: version, Bytes: len(document)})
	return p, nil
}

func (ch UpdateJob) plan(k *Set) (Planned, error) {
	cfg, name := ch.Config, ch.Config.JobName
	p := Planned{JobName: name}
	j := k.jobs[name]
	if j == nil || j.cfg == nil {
		// The text is the original's; clients compare it.
		return p, problem.Errorf(problem.NotFound, "job_not_found", "Cannot found job '%s', please register first.",
			name)
	}
	if j.version != ch.Version {
		return p, problem.Errorf(problem.Conflict, StaleVersion,
			"job %q has changed since it was read; read it again and repeat the change", name)
	}
	if k.apps[cfg.AppName] == nil {
		// The first sentence is the original's text; clients compare it.
		return p, problem.Errorf(problem.NotFound, "app_not_found",
			"Register app '%s' firstly. There is no such app: POST it to /api/app, then update the job again",
			cfg.AppName)
	}
	document := encode(k, cfg, jobs.Schema.EncodeYAML)
	old := documentSize{j.cfg.AppName, j.bytes}
	if err := k.checkSizeLimit(documentSize{cfg.AppName, len(document)}, old); err != nil {
		return p, err
	}
	p.put(store.Under(store.PathJobs, name), document, j.version, false)
	p.Events = append(p.Events, JobChanged{Name: name, Config: &cfg, Version: j.version + 1,
		Disabled: j.mark.Disables(), Shutdown: j.mark == markedShutdown, Bytes: len(document)})
	return p, nil
}

func (ch SetJobDisabled) plan(k *Set) (Planned, error) {
	p := Planned{JobName: ch.Name}
	j := k.jobs[ch.Name]
	if j == nil || j.cfg == nil {
		return p, problem.NoJob(ch.Name)
	}
	m := markFor(ch.Disabled, ch.Shutdown)
	if ch.Shutdown && j.mark.Disables() {
		m = j.mark
	}
	p.putMark(store.PathJobDisabled, j.name, m)
	p.Events = append(p.Events, JobChanged{Name: j.name, Config: j.cfg, Version: j.version, Disabled: ch.Disabled,
		Shutdown: m == markedShutdown, Notes: j.notes, MarkOnly: true})
	return p, nil
}

func (ch DeregisterJob) plan(k *Set) (Planned, error) {
	name := ch.Name
	p := Planned{JobName: name, Removed: true}
	j := k.jobs[name]
	switch {
	case k.HasFault(store.Under(store.PathJobs, name)):
		p.remove(store.Under(store.PathJobs, name), k.faulty[store.Under(store.PathJobs, name)].version)
		p.putMark(store.PathJobDisabled, name, notMarked)
		p.Events = append(p.Events, JobChanged{Name: name})
	case j == nil || j.cfg == nil:
		return p, problem.NoJob(name)
	default:
		k.planRemoveJob(&p, j)
	}
	return p, nil
}

// planRemoveJob adds the removal of a job to a plan.
func (k *Set) planRemoveJob(p *Planned, j *Job) {
	p.remove(store.Under(store.PathJobs, j.name), j.version)
	p.putMark(store.PathJobDisabled, j.name, notMarked)
	p.Events = append(p.Events, JobChanged{Name: j.name})
}
