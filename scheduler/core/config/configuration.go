// Package config holds what people have registered: apps and jobs as their documents and disabled marks in the
// registry say, and the record that is stored of each job beside its document. It checks and plans changes, reads
// documents, and says why a job is inactive.
//
// Documents and marks change only by committed events (AppChanged, JobChanged, MarkChanged, DocumentFaulty) and
// while a term is loaded; the records of jobs change by methods of Set. What follows from a change for executions,
// fires and offers is not decided here.
package config

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Set holds the configuration: apps and jobs as their documents and marks in the registry say, and what is stored of
// each job beside them. These hold between any two calls of its methods:
//
//   - apps has every app with a document that can be used, and each of them all its jobs;
//   - jobs has every job with a document, or whose tasks have not all ended (rule K2), or whose document can't be
//     used;
//   - marked has every disabled mark by its path, faulty the fault of every document or mark that can't be used;
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
	// parsed are crons that were read, by cron and time zone.
	parsed    map[string]*cron.Schedule
	schedules schedules
}

// New returns a Set without apps and jobs.
func New(s *step.Shared) *Set {
	return &Set{shared: s, apps: map[string]*App{}, jobs: map[string]*Job{}, marked: map[string]Mark{},
		faulty: map[string]Fault{}, sizes: documentSizes{byApp: map[string]int64{}}, parsed: map[string]*cron.Schedule{}, schedules: newSchedules()}
}

// touch marks a job's record to be written with the next commit.
func (k *Set) touch(j *Job) { k.changed.Add(j.name) }

// Write adds the changed records of jobs to the commit. Documents and marks are not written here, but by the commit
// of their change (see Planned).
func (k *Set) Write(r *store.Commit) {
	for _, name := range k.changed.Take() {
		if j := k.jobs[name]; j != nil && j.cfg != nil {
			j.stored.Since = j.since
			r.Put(store.Under(store.PathJobState, name), j.stored)
		} else {
			r.Remove(store.Under(store.PathJobState, name))
		}
	}
}

// LoadApp adds the document of an app while a term is loaded; one that can't be used becomes a fault.
func (k *Set) LoadApp(name string, d Document) {
	if d.err != nil {
		k.AddFault(d.path, d.err, d.version)
		return
	}
	k.apps[name] = &App{name: name, cfg: d.app, version: d.version, notes: d.notes, executorKey: executors.Key(d.app), jobs: map[string]*Job{}, bytes: d.bytes}
	k.sizes.add(name, d.bytes)
}

// LoadJob adds the document of a job while a term is loaded; one that can't be used becomes a fault.
func (k *Set) LoadJob(name string, d Document) {
	j := k.JobOrRemoved(name)
	if d.err != nil {
		k.AddFault(d.path, d.err, d.version)
		return
	}
	j.cfg, j.version, j.notes, j.bytes = d.job, d.version, d.notes, d.bytes
	k.sizes.add(d.job.AppName, d.bytes)
}

// Loaded connects what was loaded: jobs with their apps, and marks with both. It is called once, after the last
// document and mark.
func (k *Set) Loaded() {
	for name, a := range k.apps {
		a.disabled = k.marked[store.Under(store.PathAppDisabled, name)].Disables()
	}
	for name, j := range k.jobs {
		j.mark = k.marked[store.Under(store.PathJobDisabled, name)]
		k.join(j)
	}
}

// AddFault notes that the document or mark at a path can't be used, and why; version is its version in the registry.
func (k *Set) AddFault(path string, why error, version int64) {
	k.faulty[path] = Fault{why: faultOf(why), version: version, since: k.shared.Wall()}
}

// AppChanged applies a committed change of an app, and returns the app as it is now, nil if it was deleted. jobs are
// its jobs, sorted by name. other is true if its tasks need other executors from now on.
func (k *Set) AppChanged(e AppChanged) (a *App, jobs []*Job, other bool) {
	if !e.MarkOnly {
		delete(k.faulty, store.Under(store.PathApps, e.Name))
	}
	k.SetMark(store.Under(store.PathAppDisabled, e.Name), markWhen(e.Disabled, false))
	a = k.apps[e.Name]
	if e.Config == nil {
		if a == nil {
			return nil, nil, false
		}
		delete(k.apps, e.Name)
		k.sizes.add(e.Name, -a.bytes)
		return nil, a.sortedJobs(), true
	}
	if a == nil {
		a = k.addApp(e.Name)
	}
	if !e.MarkOnly {
		k.sizes.add(e.Name, e.Bytes-a.bytes)
		a.bytes = e.Bytes
	}
	key := executors.Key(*e.Config)
	other = key != a.executorKey
	a.cfg, a.version, a.disabled, a.executorKey, a.notes = *e.Config, e.Version, e.Disabled, key, e.Notes
	return a, a.sortedJobs(), other
}

// addApp adds an app, to which the jobs that name it belong from now on.
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

func (a *App) sortedJobs() []*Job {
	out := make([]*Job, 0, len(a.jobs))
	for _, name := range step.SortedKeys(a.jobs) {
		out = append(out, a.jobs[name])
	}
	return out
}

// JobChanged applies a committed change of a job, and returns the job; nil for the removal of one that is not known.
func (k *Set) JobChanged(e JobChanged) *Job {
	if !e.MarkOnly {
		delete(k.faulty, store.Under(store.PathJobs, e.Name))
	}
	k.SetMark(store.Under(store.PathJobDisabled, e.Name), markWhen(e.Disabled, e.Shutdown))
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
	j.cfg, j.version, j.mark, j.notes = e.Config, e.Version, markWhen(e.Disabled, e.Shutdown), e.Notes
	k.join(j)
	return j
}

// join gives a job to its app.
func (k *Set) join(j *Job) {
	if j.cfg == nil {
		return
	}
	if a := k.apps[j.cfg.AppName]; a != nil {
		a.jobs[j.name] = j
	}
}

// MarkChanged applies an external edit of a disabled mark (rule F6), and returns the jobs that it concerns, sorted
// by name. A mark may exist before its document does.
func (k *Set) MarkChanged(e MarkChanged) []*Job {
	now := markWhen(e.Disabled, e.Shutdown)
	k.SetMark(e.Path, now)
	delete(k.faulty, e.Path) // the event about one that can't be read follows
	dir, name := store.Split(e.Path)
	if dir == store.PathAppDisabled {
		if a := k.apps[name]; a != nil && a.disabled != e.Disabled {
			a.disabled = e.Disabled
			return a.sortedJobs()
		}
		return nil
	}
	if j := k.jobs[name]; j != nil && j.mark != now {
		j.mark = now
		return []*Job{j}
	}
	return nil
}

// Fault is why a document or a mark in the registry can't be used ([D15]). The zero value is no fault.
type Fault struct {
	why     reason.Reason
	version int64
	since   time.Time // as far as this leader knows
}

// HasFault reports whether the document or mark at a path can't be used.
func (k *Set) HasFault(path string) bool { return !k.faulty[path].why.IsZero() }

// MarkFaulty applies an external edit that has left a document or mark that can't be used. The last good document
// stays in force.
func (k *Set) MarkFaulty(e DocumentFaulty) {
	k.shared.Note(step.Note{Kind: step.NoteFaulty, Detail: e.Path + ": " + e.Why.String(), Problem: true})
	since := k.shared.Wall()
	if f, ok := k.faulty[e.Path]; ok {
		since = f.since
	}
	k.faulty[e.Path] = Fault{e.Why, e.Version, since}
	dir, name := store.Split(e.Path)
	switch dir {
	case store.PathApps:
		if a := k.apps[name]; a != nil {
			a.version = e.Version
		}
	case store.PathJobs:
		if j := k.jobs[name]; j != nil {
			j.version = e.Version
		} else {
			k.JobOrRemoved(name) // explain answers for it
		}
	}
}

// IsFaulty reports whether a job can't be run because its document, or that of its app, can't be used.
func (k *Set) IsFaulty(j *Job) bool {
	if j.cfg == nil {
		return k.HasFault(store.Under(store.PathJobs, j.name))
	}
	return k.apps[j.cfg.AppName] == nil && k.HasFault(store.Under(store.PathApps, j.cfg.AppName))
}

// RemoveEndedJob forgets a deregistered job whose executions have all ended (rule K2); busy says that some have not.
// It does nothing for any other job.
func (k *Set) RemoveEndedJob(j *Job, busy bool) {
	if j.cfg == nil && !busy && !k.IsFaulty(j) {
		delete(k.jobs, j.name)
	}
}

// JobsOf lists the names of the jobs of an app, sorted, also of an app whose document can't be used.
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

// JobOrRemoved returns the job with that name, adding one without a document if it is not known.
func (k *Set) JobOrRemoved(name string) *Job {
	j := k.jobs[name]
	if j == nil {
		j = &Job{name: name}
		k.jobs[name] = j
	}
	return j
}

// Planned is a change of configuration that was checked against what the core knows. Writes are committed alone,
// with their version checks; once they are, the core is stepped with Events (rule T4).
type Planned struct {
	Writes []registry.Write
	Events []step.Event
	// AppName or JobName names what the request is answered with: its view after the change or, if it is Removed,
	// before.
	AppName, JobName string
	Removed          bool
}

// CountDropped counts n fires of a job that were dropped now because they found it busy (rule F5), and keeps why.
func (k *Set) CountDropped(j *Job, n int64, why reason.Reason) {
	k.shared.Numbers.FiresDropped += n
	j.stored.Fires.Dropped += n
	j.stored.Fires.LastDropped, j.stored.Fires.DroppedWhy = k.shared.Wall(), why
	k.fireCountsChanged(j)
}

// CountMissed counts one missed window of a job, a stretch of time whose fires were not made in time (rule F3), and
// keeps why.
func (k *Set) CountMissed(j *Job, why reason.Reason) {
	k.shared.Numbers.FiresMissed++
	j.stored.Fires.Missed++
	j.stored.Fires.LastMissed, j.stored.Fires.MissedWhy = k.shared.Wall(), why
	k.fireCountsChanged(j)
}

func (k *Set) fireCountsChanged(j *Job) {
	k.shared.JobChanged(j.name)
	if j.isStored && k.shared.Now().Sub(j.countsWritten) >= fireCountsEvery {
		j.countsWritten = k.shared.Now()
		k.touch(j)
	}
}

// AppOf is the app that an execution runs with, or will run with before its first launch; nil if it is not
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

// Job returns the job with that name, or nil. Its Config is nil if it was deregistered or its document can't be
// used.
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

// Faults lists the paths of documents and marks that can't be used, sorted.
func (k *Set) Faults() []string { return step.SortedKeys(k.faulty) }

// FaultAt is the fault of the document or mark at a path; the zero Fault if it has none.
func (k *Set) FaultAt(path string) Fault { return k.faulty[path] }

// Plan checks a change against what is known and returns what it would write, or a *problem.Error. It changes
// nothing.
func (k *Set) Plan(ch Change) (*Planned, error) {
	p, err := ch.plan(k)
	return &p, err
}

// Draft returns a job as it would be after a planned change, or a *problem.Error if its cron can't be read. The job
// is a copy and belongs to no Set; the change must not remove it.
func (k *Set) Draft(p *Planned) (*Job, error) {
	j := &Job{name: p.JobName}
	if known := k.jobs[p.JobName]; known != nil {
		*j = *known
	}
	for _, e := range p.Events {
		if e, ok := e.(JobChanged); ok {
			j.cfg, j.mark, j.notes = e.Config, markWhen(e.Disabled, e.Shutdown), e.Notes
		}
	}
	var err error
	if j.schedule, err = jobs.Schedule(*j.cfg, k.shared.Opt.Zone); err != nil {
		return nil, problem.Errorf(problem.Invalid, "invalid", "%s", err)
	}
	return j, nil
}

// ReadCron sets a job's schedule from its document; none if it has no document or the cron can't be read. The time
// at which the next job of its app fires becomes unknown.
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

// CountFiring counts a job among those that fire by their schedule (see BySchedule), or takes it off.
func (k *Set) CountFiring(j *Job, fires bool) {
	if fires && j.schedule != nil {
		k.schedules.set(j)
	} else {
		k.schedules.remove(j)
	}
}

// UpdateRecord updates a job's record if its schedule or state has changed. Fires are made from now on (rule F2), and
// never from an earlier moment than before: the clock may have been ahead, and the fires up to then are made.
// Disabling a job or shutting it down ends its pause, so that it starts clean when it is enabled (rule F6). The job
// must have a document.
func (k *Set) UpdateRecord(j *Job, inactive bool) {
	want := Record{Schedule: j.cfg.Cron + " " + j.cfg.TimeZone, Inactive: inactive, Paused: j.stored.Paused && !j.mark.Disables()}
	if j.IsDaemon() {
		want.Schedule += " daemon" // its fires are made elsewhere, as long as it is one
	}
	if j.isStored && j.stored.Schedule == want.Schedule && j.stored.Inactive == want.Inactive && j.stored.Paused == want.Paused {
		return
	}
	if k.shared.Wall().After(j.since) {
		j.since = k.shared.Wall()
	}
	want.Since, want.Fires = j.since, j.stored.Fires
	j.stored, j.isStored = want, true
	k.touch(j)
}

// ForgetRecord removes the stored record of a deregistered job with the next commit.
func (k *Set) ForgetRecord(j *Job) {
	if j.isStored {
		k.touch(j)
		j.isStored, j.stored, j.since = false, Record{}, time.Time{}
	}
}

// RestoreRecord adds the stored record of a job while a term is loaded. It fails if value can't be read.
func (k *Set) RestoreRecord(name string, value []byte) error {
	var r Record
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	j := k.JobOrRemoved(name)
	j.stored, j.isStored, j.since = r, true, r.Since
	return nil
}

// ForgetUnused removes a job without a record, a document, a fault or, by busy, an open execution. It returns
// whether the job was such a one.
func (k *Set) ForgetUnused(j *Job, busy bool) bool {
	unused := !j.isStored && j.cfg == nil && !busy && !k.IsFaulty(j)
	if unused {
		delete(k.jobs, j.name)
	}
	return unused
}

// Pause pauses a job, or ends its pause (rule F10). The record is stored even while the job's app can't be used.
func (k *Set) Pause(j *Job, paused bool) {
	j.stored.Paused, j.isStored = paused, true
	k.touch(j)
}

// FiredUpTo notes that the fires of a job up to a moment of the wall clock were made or are missed; none of them is
// made again.
func (k *Set) FiredUpTo(j *Job, at time.Time) {
	j.since = at
	k.touch(j)
}

// KeepNextDue remembers when the next job of an app fires, until ReadCron forgets it.
func (k *Set) KeepNextDue(a *App, at time.Time) { a.nextDue = at }

// parse returns a job's schedule. Many jobs share few crons, so parsed ones are kept; they never change.
func (k *Set) parse(cfg jobs.Config) (*cron.Schedule, error) {
	key := cfg.Cron + "\x00" + cfg.TimeZone
	if s, ok := k.parsed[key]; ok {
		return s, nil
	}
	s, err := jobs.Schedule(cfg, k.shared.Opt.Zone)
	if err != nil {
		return nil, fmt.Errorf("the cron of job %q can't be used: %w", cfg.JobName, err)
	}
	if len(k.parsed) >= parsedKept {
		clear(k.parsed)
	}
	k.parsed[key] = s
	return s, nil
}

const parsedKept = 10_000

// Contradiction names an invariant of Set that does not hold, and is "" while all hold. Tests call it after each
// step.
func (k *Set) Contradiction() string {
	sizes := documentSizes{byApp: map[string]int64{}}
	for name, a := range k.apps {
		sizes.add(name, a.bytes)
		for job, j := range a.jobs {
			if k.jobs[job] != j || j.cfg == nil || j.cfg.AppName != name {
				return fmt.Sprintf("app %s has job %s, which is not one of its own", name, job)
			}
		}
	}
	for name, j := range k.jobs {
		if j.name != name {
			return fmt.Sprintf("job %s is kept as %s", j.name, name)
		}
		if j.cfg == nil {
			continue
		}
		sizes.add(j.cfg.AppName, j.bytes)
		if a := k.apps[j.cfg.AppName]; a != nil && a.jobs[name] != j {
			return fmt.Sprintf("app %s lacks its job %s", a.name, name)
		}
	}
	if sizes.total != k.sizes.total || !maps.Equal(sizes.byApp, k.sizes.byApp) {
		return fmt.Sprintf("documents have %+v, counted %+v", sizes, k.sizes)
	}
	counted, shards := map[scheduleKey]int{}, map[scheduleKey]int{}
	for _, j := range k.jobs {
		if fires := j.schedule != nil && !k.IsFaulty(j) && k.Inactive(j) == Active; fires != (j.counted != nil) {
			return fmt.Sprintf("job %s fires: %v, and is counted: %v", j.name, fires, j.counted != nil)
		} else if fires {
			key := scheduleKey{j.cfg.Cron, j.cfg.TimeZone}
			counted[key]++
			shards[key] += j.cfg.ShardingTotalCount
		}
	}
	if len(counted) != len(k.schedules.views) || len(counted) != len(k.schedules.groups) || len(counted) != len(k.schedules.byKey) {
		return fmt.Sprintf("%d schedules, counted %d", len(counted), len(k.schedules.views))
	}
	for key, n := range counted {
		g := k.schedules.byKey[key]
		if g == nil || k.schedules.groups[g.place] != g || k.schedules.views[g.place].Jobs != n || k.schedules.views[g.place].Shards != shards[key] {
			return fmt.Sprintf("schedule %v has %d jobs with %d shards and is counted otherwise", key, n, shards[key])
		}
	}
	return ""
}

// NumJobs is how many jobs there are, those included of which only state is left.
func (k *Set) NumJobs() int { return len(k.jobs) }

// NumFaults is how many documents and marks can't be used.
func (k *Set) NumFaults() int { return len(k.faulty) }

// Why is the reason for people that the document or mark can't be used.
func (f Fault) Why() reason.Reason { return f.why }

// Since is when this leader first found the fault, by the wall clock. The document may have been unusable for
// longer.
func (f Fault) Since() time.Time { return f.since }
