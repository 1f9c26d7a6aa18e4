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

// configuration is what people have registered: apps and jobs as their documents and marks in the registry say, and
// what is stored of each job beside them. These hold between any two calls of its methods:
//
//   - apps has every app with a document that can be used, and each of them all its jobs;
//   - jobs has every job with a document, or whose tasks have not all ended (rule K2), or whose document can't be used;
//   - marked has every disabled mark by its path, faulty that of every document or mark that can't be used;
//   - sizes sums up the bytes of the documents in apps and jobs, by the app that they name;
//   - changed has the name of every job whose record differs from what is stored, or is stored and was removed.
type Set struct {
	*step.Shared
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

func New(s *step.Shared) *Set {
	return &Set{Shared: s, apps: map[string]*App{}, jobs: map[string]*Job{}, marked: map[string]Mark{},
		faulty: map[string]Fault{}, sizes: documentSizes{byApp: map[string]int64{}}, parsed: map[string]*cron.Schedule{}, schedules: newSchedules()}
}

// touch has a job's record be written.
func (k *Set) touch(j *Job) { k.changed.Add(j.name) }

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

// loadApp takes in the document of an app as it was found.
func (k *Set) LoadApp(name string, d Document) {
	if d.err != nil {
		k.AddFault(d.path, d.err, d.version)
		return
	}
	k.apps[name] = &App{name: name, cfg: d.app, version: d.version, notes: d.notes, executorKey: executors.Key(d.app), jobs: map[string]*Job{}, bytes: d.bytes}
	k.sizes.add(name, d.bytes)
}

// loadJob takes in the document of a job as it was found.
func (k *Set) LoadJob(name string, d Document) {
	j := k.JobOrRemoved(name)
	if d.err != nil {
		k.AddFault(d.path, d.err, d.version)
		return
	}
	j.cfg, j.version, j.notes, j.bytes = d.job, d.version, d.notes, d.bytes
	k.sizes.add(d.job.AppName, d.bytes)
}

// loaded joins what was loaded: jobs to their apps, and marks to both.
func (k *Set) Loaded() {
	for name, a := range k.apps {
		a.disabled = k.marked[store.Under(store.PathAppDisabled, name)].Disables()
	}
	for name, j := range k.jobs {
		j.mark = k.marked[store.Under(store.PathJobDisabled, name)]
		k.join(j)
	}
}

// addFault notes that what is found at a path can't be used.
func (k *Set) AddFault(path string, why error, version int64) {
	k.faulty[path] = Fault{why: faultOf(why), version: version, since: k.Wall()}
}

// appChanged follows a committed change of an app, and returns the app as it is now, nil when it is no more; jobs
// are its jobs, by name, and other is set when its executors are others from now on.
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

// jobChanged follows a committed change of a job, and returns it; nil for the removal of one that is not there.
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

// markChanged follows a disabled mark that an external edit has set or removed (rule F6), and returns the
// jobs that it concerns. A mark may be there before its document is.
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

// Fault is what is wrong with a document in the registry ([D15]).
type Fault struct {
	why     reason.Reason
	version int64
	since   time.Time // as far as this leader knows
}

func (k *Set) HasFault(path string) bool { return !k.faulty[path].why.IsZero() }

// documentFaulty takes the word that somebody left a document that can't be
// used. The last good one stays in force.
func (k *Set) MarkFaulty(e DocumentFaulty) {
	k.Note(step.Note{Kind: step.NoteFaulty, Detail: e.Path + ": " + e.Why.String(), Problem: true})
	since := k.Wall()
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

// isFaulty reports whether the job's document, or its app's, can't be used.
func (k *Set) IsFaulty(j *Job) bool {
	if j.cfg == nil {
		return k.HasFault(store.Under(store.PathJobs, j.name))
	}
	return k.apps[j.cfg.AppName] == nil && k.HasFault(store.Under(store.PathApps, j.cfg.AppName))
}

// removeEndedJob forgets a removed job whose executions have ended (rule K2).
func (k *Set) RemoveEndedJob(j *Job, busy bool) {
	if j.cfg == nil && !busy && !k.IsFaulty(j) {
		delete(k.jobs, j.name)
	}
}

// jobsOf names the jobs of an app, also of one whose document can't be used.
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

func (k *Set) JobOrRemoved(name string) *Job {
	j := k.jobs[name]
	if j == nil {
		j = &Job{name: name}
		k.jobs[name] = j
	}
	return j
}

// planned is a change of configuration, checked against what the core knows:
// Writes are committed alone, version-checked, then Events are stepped with (rule T4).
type Planned struct {
	Writes []registry.Write
	Events []step.Event
	// AppName or JobName is what the request is answered with: its view after the change, or, when it is Removed, before.
	AppName, JobName string
	Removed          bool
}

func (k *Set) CountDropped(j *Job, n int64, why reason.Reason) {
	k.Numbers.FiresDropped += n
	j.stored.Fires.Dropped += n
	j.stored.Fires.LastDropped, j.stored.Fires.DroppedWhy = k.Wall(), why
	k.fireCountsChanged(j)
}

func (k *Set) CountMissed(j *Job, why reason.Reason) {
	k.Numbers.FiresMissed++
	j.stored.Fires.Missed++
	j.stored.Fires.LastMissed, j.stored.Fires.MissedWhy = k.Wall(), why
	k.fireCountsChanged(j)
}

func (k *Set) fireCountsChanged(j *Job) {
	k.SeeJob(j.name)
	if j.isStored && k.Now().Sub(j.countsWritten) >= fireCountsEvery {
		j.countsWritten = k.Now()
		k.touch(j)
	}
}

// appOf is the app that an execution runs, or will run, with; nil if it is not registered.
func (k *Set) AppOf(e *executions.Execution) *App {
	if e.Launched() {
		return k.apps[e.Settings().App.AppName]
	}
	if j := k.jobs[e.Job()]; j != nil && j.cfg != nil {
		return k.apps[j.cfg.AppName]
	}
	return nil
}

// app is the app of that name with a document that can be used, or nil, and job the job of that name, or nil.
func (k *Set) App(name string) *App { return k.apps[name] }

func (k *Set) Job(name string) *Job { return k.jobs[name] }

// allApps and allJobs are all of them, in no order; appNames and jobNames their names, sorted.
func (k *Set) AllApps() iter.Seq2[string, *App] { return maps.All(k.apps) }

func (k *Set) AllJobs() iter.Seq2[string, *Job] { return maps.All(k.jobs) }

func (k *Set) AppNames() []string { return step.SortedKeys(k.apps) }

func (k *Set) JobNames() []string { return step.SortedKeys(k.jobs) }

// numApps is how many apps there are.
func (k *Set) NumApps() int { return len(k.apps) }

// faults are the paths of what can't be used, sorted.
func (k *Set) Faults() []string { return step.SortedKeys(k.faulty) }

// fault is what is wrong with what is at a path.
func (k *Set) FaultAt(path string) Fault { return k.faulty[path] }

// plan checks a change against what is known, and says what it would write, or returns an *problem.Error.
func (k *Set) Plan(ch Change) (*Planned, error) {
	p, err := ch.plan(k)
	return &p, err
}

// draft is a job as it would be after a planned change.
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
	if j.schedule, err = jobs.Schedule(*j.cfg, k.Opt.Zone); err != nil {
		return nil, problem.Errorf(problem.Invalid, "invalid", "%s", err)
	}
	return j, nil
}

// readCron gives a job the schedule that its document has now. When the next job of its app fires is not known any more.
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
		k.Note(step.Note{Kind: step.NoteFaulty, Job: j.name, Problem: true, Detail: err.Error()})
	}
	j.schedule = s
}

// fires counts a job with those that fire, or not.
func (k *Set) Fires(j *Job, fires bool) {
	if fires && j.schedule != nil {
		k.schedules.set(j)
	} else {
		k.schedules.remove(j)
	}
}

// follow writes down how a job is made to fire, if that has changed: fires are made from now (rule F2), and never from an
// earlier moment than before: the clock may have been ahead, and the fires up to then are made. Whoever disables a job or
// shuts it down ends its pause: enabled, it starts clean (rule F6).
func (k *Set) Follow(j *Job, inactive bool) {
	want := Record{Schedule: j.cfg.Cron + " " + j.cfg.TimeZone, Inactive: inactive, Paused: j.stored.Paused && !j.mark.Disables()}
	if j.IsDaemon() {
		want.Schedule += " daemon" // its fires are made elsewhere, as long as it is one
	}
	if j.isStored && j.stored.Schedule == want.Schedule && j.stored.Inactive == want.Inactive && j.stored.Paused == want.Paused {
		return
	}
	if k.Wall().After(j.since) {
		j.since = k.Wall()
	}
	want.Since, want.Fires = j.since, j.stored.Fires
	j.stored, j.isStored = want, true
	k.touch(j)
}

// forgetRecord removes what is stored of a job that was removed.
func (k *Set) ForgetRecord(j *Job) {
	if j.isStored {
		k.touch(j)
		j.isStored, j.stored, j.since = false, Record{}, time.Time{}
	}
}

// restoreRecord takes in what is stored of a job.
func (k *Set) RestoreRecord(name string, value []byte) error {
	var r Record
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	j := k.JobOrRemoved(name)
	j.stored, j.isStored, j.since = r, true, r.Since
	return nil
}

// forgetUnused removes a job of which nothing is stored and nothing runs, and reports whether it was one.
func (k *Set) ForgetUnused(j *Job, busy bool) bool {
	unused := !j.isStored && j.cfg == nil && !busy && !k.IsFaulty(j)
	if unused {
		delete(k.jobs, j.name)
	}
	return unused
}

// pause pauses a job, or ends its pause. The record is stored also while the job's app can't be used.
func (k *Set) Pause(j *Job, paused bool) {
	j.stored.Paused, j.isStored = paused, true
	k.touch(j)
}

// firedUpTo notes that a job's fires up to a moment were made, or are missed.
func (k *Set) FiredUpTo(j *Job, at time.Time) {
	j.since = at
	k.touch(j)
}

// keepNextDue keeps when the next job of an app fires.
func (k *Set) KeepNextDue(a *App, at time.Time) { a.nextDue = at }

// parse is a job's cron. Many jobs share few crons, so parsed ones are kept; they never change.
func (k *Set) parse(cfg jobs.Config) (*cron.Schedule, error) {
	key := cfg.Cron + "\x00" + cfg.TimeZone
	if s, ok := k.parsed[key]; ok {
		return s, nil
	}
	s, err := jobs.Schedule(cfg, k.Opt.Zone)
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

// contradiction says which of the promises of configuration does not hold, "" if all do. Tests ask for it after each step.
func (k *Set) Contradiction() string {
	sizes := documentSizes{byApp: map[string]int64{}}
	for name, a := range k.apps {
		sizes.add(name, a.bytes)
	}
	for _, j := range k.jobs {
		if j.cfg != nil {
			sizes.add(j.cfg.AppName, j.bytes)
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

// Jobs is the jobs.
func (c *Set) Jobs() map[string]*Job { return c.jobs }

// Faulty is the faulty.
func (c *Set) Faulty() map[string]Fault { return c.faulty }

// Why is the why.
func (f Fault) Why() reason.Reason { return f.why }

// Since: as far as this leader knows
func (f Fault) Since() time.Time { return f.since }
