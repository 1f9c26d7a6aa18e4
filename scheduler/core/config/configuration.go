// Package config holds the configuration: apps and jobs with their documents and disabled marks, and the record that
// is stored of each job beside its document. It checks and plans changes, reads documents, and says why a job is
// inactive.
//
// Documents and marks change only by committed events (AppChanged, JobChanged, MarkChanged, DocumentFaulty) and while
// a term is loaded; the records of jobs change by methods of Set. Other packages decide what follows from a change for
// executions, fires and offers.
package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Set holds the configuration: apps and jobs with their documents and marks in the registry, and the stored records of
// jobs. These hold between any two calls of its methods:
//
//   - apps has every app with a usable document, and each app has all its jobs;
//   - jobs has every job with a document, every removed job whose tasks have not all ended (rule K2), and every job
//     whose document cannot be used;
//   - marked has every disabled mark by its path, faulty the fault of every document or mark that cannot be used;
//   - sizes sums up the bytes of the documents in apps and jobs, by the app that they name;
//   - changed has the name of every job whose record differs from what is stored, or is stored and was removed.
type Set struct {
	shared  *step.Shared
	apps    map[string]*App
	jobs    map[string]*Job
	marked  map[string]Mark
	faulty  map[string]Fault
	sizes   documentSizes
	changed store.Changed
	// parsed caches schedules by cron and time zone.
	parsed    map[string]*cron.Schedule
	schedules schedules
}

// New returns a Set without apps and jobs.
func New(s *step.Shared) *Set {
	return &Set{shared: s, apps: map[string]*App{}, jobs: map[string]*Job{}, marked: map[string]Mark{},
		faulty: map[string]Fault{}, sizes: documentSizes{byApp: map[string]int64{}},
		parsed: map[string]*cron.Schedule{}, schedules: newSchedules()}
}

// markChanged marks a job's record to be written with the next commit.
func (k *Set) markChanged(j *Job) { k.changed.Add(j.name) }

// Write adds the changed records of jobs to the commit. Documents and marks are written by the commits of their own
// changes (see Planned).
func (k *Set) Write(r *store.Commit) {
	for _, name := range k.changed.Take() {
		if j := k.jobs[name]; j != nil && j.isStored {
			j.stored.Since = j.since
			r.Put(store.Under(store.PathJobState, name), j.stored)
		} else {
			r.Remove(store.Under(store.PathJobState, name))
		}
	}
}

// LoadApp adds the document of an app while a term is loaded; a document that cannot be used becomes a fault.
func (k *Set) LoadApp(name string, d Document) {
	if d.err != nil {
		k.AddFault(d.path, d.err, d.version)
		return
	}
	k.apps[name] = &App{name: name, cfg: d.app, version: d.version, notes: d.notes, executorKey: executors.Key(d.app),
		jobs: map[string]*Job{}, bytes: d.bytes}
	k.sizes.add(name, d.bytes)
}

// LoadJob adds the document of a job while a term is loaded; a document that cannot be used becomes a fault.
func (k *Set) LoadJob(name string, d Document) {
	j := k.JobOrRemoved(name)
	if d.err != nil {
		k.AddFault(d.path, d.err, d.version)
		return
	}
	j.cfg, j.version, j.notes, j.bytes = d.job, d.version, d.notes, d.bytes
	k.sizes.add(d.job.AppName, d.bytes)
}

// FinishLoading connects what was loaded: jobs with their apps, and marks with both. It is called once, after the last
// document and mark.
func (k *Set) FinishLoading() {
	for name, a := range k.apps {
		a.disabled = k.marked[store.Under(store.PathAppDisabled, name)].Disables()
	}
	for name, j := range k.jobs {
		j.mark = k.marked[store.Under(store.PathJobDisabled, name)]
		k.addToApp(j)
	}
}

// ApplyApp applies a committed change of an app, and returns the app in its new state, nil if it was deleted. jobs are
// the app's jobs, sorted by name. newExecutors is true if the app was deleted or its tasks need other executors from
// now on.
func (k *Set) ApplyApp(e AppChanged) (a *App, jobs []*Job, newExecutors bool) {
	if !e.MarkOnly {
		delete(k.faulty, store.Under(store.PathApps, e.Name))
	}
	k.SetMark(store.Under(store.PathAppDisabled, e.Name), markFor(e.Disabled, false))
	a = k.apps[e.Name]
	if e.Config == nil {
		if a == nil {
			return nil, nil, false
		}
		delete(k.apps, e.Name)
		k.sizes.add(e.Name, -a.bytes)
		return nil, step.SortedValues(a.jobs), true
	}
	if a == nil {
		a = k.addApp(e.Name)
	}
	if !e.MarkOnly {
		k.sizes.add(e.Name, e.Bytes-a.bytes)
		a.bytes = e.Bytes
	}
	key := executors.Key(*e.Config)
	newExecutors = key != a.executorKey
	a.cfg, a.version, a.disabled, a.executorKey, a.notes = *e.Config, e.Version, e.Disabled, key, e.Notes
	return a, step.SortedValues(a.jobs), newExecutors
}

// addApp adds an app, and the jobs whose documents name the app to it.
func (k *Set) addApp(name string) *App {
	a := &App{name: name, jobs: map[string]*Job{}}
	k.apps[name] = a
	for _, j := range k.jobs {
		if j.cfg != nil && j.cfg.AppName == name {
			a.jobs[j.name] = j
		}
	}
	return a
}

// ApplyJob applies a committed change of a job, and returns the job; nil if the change removes an unknown job.
func (k *Set) ApplyJob(e JobChanged) *Job {
	if !e.MarkOnly {
		delete(k.faulty, store.Under(store.PathJobs, e.Name))
	}
	k.SetMark(store.Under(store.PathJobDisabled, e.Name), markFor(e.Disabled, e.Shutdown))
	if e.Config == nil && k.jobs[e.Name] == nil {
		return nil
	}
	j := k.JobOrRemoved(e.Name)
	if old := j.cfg; old != nil && (e.Config == nil || e.Config.AppName != old.AppName) {
		if a := k.apps[old.AppName]; a != nil {
			delete(a.jobs, j.name)
		}
	}
	if !e.MarkOnly {
		if j.cfg != nil {
			k.sizes.add(j.cfg.AppName, -j.bytes)
		}
		if j.bytes = e.Bytes; e.Config != nil {
			k.sizes.add(e.Config.AppName, e.Bytes)
		}
	}
	j.cfg, j.version, j.mark, j.notes = e.Config, e.Version, markFor(e.Disabled, e.Shutdown), e.Notes
	k.addToApp(j)
	return j
}

// addToApp adds a job to its app.
func (k *Set) addToApp(j *Job) {
	if j.cfg == nil {
		return
	}
	if a := k.apps[j.cfg.AppName]; a != nil {
		a.jobs[j.name] = j
	}
}

// ApplyMark applies an external edit of a disabled mark (rule F6), and returns the affected jobs, sorted by name. A
// mark may exist before its document does.
func (k *Set) ApplyMark(e MarkChanged) []*Job {
	now := markFor(e.Disabled, e.Shutdown)
	k.SetMark(e.Path, now)
	delete(k.faulty, e.Path) // a separate event reports a mark that cannot be read
	dir, name := store.Split(e.Path)
	if dir == store.PathAppDisabled {
		if a := k.apps[name]; a != nil && a.disabled != e.Disabled {
			a.disabled = e.Disabled
			return step.SortedValues(a.jobs)
		}
		return nil
	}
	if j := k.jobs[name]; j != nil && j.mark != now {
		j.mark = now
		return []*Job{j}
	}
	return nil
}

// RemoveEndedJob forgets a deregistered job, unless executions of it are still open (busy, rule K2). It does nothing
// for any other job.
func (k *Set) RemoveEndedJob(j *Job, busy bool) {
	if j.cfg == nil && !busy && !k.IsFaulty(j) {
		delete(k.jobs, j.name)
	}
}

// JobsOf lists the names of the jobs of an app, sorted. It also does so for an app whose document cannot be used.
func (k *Set) JobsOf(appName string) []string {
	if a := k.apps[appName]; a != nil {
		return step.SortedKeys(a.jobs)
	}
	var names []string
	for name, j := range k.jobs {
		if j.cfg != nil && j.cfg.AppName == appName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// JobOrRemoved returns the job with that name. If there is none, it adds one without a document.
func (k *Set) JobOrRemoved(name string) *Job {
	j := k.jobs[name]
	if j == nil {
		j = &Job{name: name}
		k.jobs[name] = j
	}
	return j
}

// Planned is a change of configuration that was checked against the present configuration. Writes are committed alone,
// with their version checks. After the commit the core is stepped with Events (rule T4).
type Planned struct {
	Writes []registry.Write
	Events []step.Event
	// AppName or JobName names the object whose view is the answer to the request: the view after the change or, if
	// the object is Removed, before it.
	AppName, JobName string
	Removed          bool
}

// AppOf returns the app that an execution runs with, or will run with before its first launch; nil if it is not
// registered.
func (k *Set) AppOf(e *executions.Execution) *App {
	if e.Launched() {
		return k.apps[e.Settings().App.AppName]
	}
	if j := k.jobs[e.Job()]; j != nil && j.cfg != nil {
		return k.apps[j.cfg.AppName]
	}
	return nil
}

// App returns the app with that name if its document can be used, else nil.
func (k *Set) App(name string) *App { return k.apps[name] }

// Job returns the job with that name, or nil. Its Config is nil if it was deregistered or its document cannot be used.
func (k *Set) Job(name string) *Job { return k.jobs[name] }

// AllApps iterates over the apps by name, in no order.
func (k *Set) AllApps() iter.Seq2[string, *App] { return maps.All(k.apps) }

// AllJobs iterates over the jobs by name, in no order.
func (k *Set) AllJobs() iter.Seq2[string, *Job] { return maps.All(k.jobs) }

// AppNames lists the names of all apps, sorted.
func (k *Set) AppNames() []string { return step.SortedKeys(k.apps) }

// JobNames lists the names of all jobs, sorted.
func (k *Set) JobNames() []string { return step.SortedKeys(k.jobs) }

// NumApps is the number of apps with a document that can be used.
func (k *Set) NumApps() int { return len(k.apps) }

// Plan checks a change against the present configuration and returns what it would write, or a *problem.Error. It
// changes nothing.
func (k *Set) Plan(ch Change) (*Planned, error) {
	p, err := ch.plan(k)
	return &p, err
}

// Draft returns a job as it would be after a planned change, or a *problem.Error if its cron cannot be parsed. The job
// is a copy and belongs to no Set; the change must not remove it.
func (k *Set) Draft(p *Planned) (*Job, error) {
	j := &Job{name: p.JobName}
	if present := k.jobs[p.JobName]; present != nil {
		*j = *present
	}
	for _, e := range p.Events {
		if e, ok := e.(JobChanged); ok {
			j.cfg, j.mark, j.notes = e.Config, markFor(e.Disabled, e.Shutdown), e.Notes
		}
	}
	var err error
	if j.schedule, err = jobs.Schedule(*j.cfg, k.shared.Opt.Zone); err != nil {
		return nil, problem.Errorf(problem.Invalid, "invalid", "%s", err)
	}
	return j, nil
}

// ReadCron sets a job's schedule from its document; nil if it has no document or the cron cannot be parsed. NextDue of
// the job's app is unknown after that, until SetNextDue is called.
func (k *Set) ReadCron(j *Job) {
	j.schedule = nil
	if j.cfg == nil {
		return
	}
	if a := k.apps[j.cfg.AppName]; a != nil {
		a.nextDue = time.Time{}
	}
	s, err := k.parse(*j.cfg)
	if err != nil {
		k.shared.Note(step.Note{Kind: step.NoteFaulty, Job: j.name, Problem: true, Detail: err.Error()})
	}
	j.schedule = s
}

// parse returns a job's schedule. Many jobs share few crons, so parsed schedules are cached; they never change.
func (k *Set) parse(cfg jobs.Config) (*cron.Schedule, error) {
	key := cfg.Cron + "\x00" + cfg.TimeZone
	if s, ok := k.parsed[key]; ok {
		return s, nil
	}
	s, err := jobs.Schedule(cfg, k.shared.Opt.Zone)
	if err != nil {
		return nil, fmt.Errorf("the cron of job %q can't be used: %w", cfg.JobName, err)
	}
	if len(k.parsed) >= maxParsed {
		clear(k.parsed)
	}
	k.parsed[key] = s
	return s, nil
}

// maxParsed bounds the cache of parsed schedules.
const maxParsed = 10_000

// NumJobs returns the number of jobs, including those without a usable document.
func (k *Set) NumJobs() int { return len(k.jobs) }
