package core

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
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
type configuration struct {
	*step.Shared
	apps    map[string]*appState
	jobs    map[string]*jobState
	marked  map[string]mark
	faulty  map[string]fault
	sizes   documentSizes
	changed store.Changed
	// planned is the change that is being committed, for the request with plannedToken.
	planned      *planned
	plannedToken uint64
}

func newConfiguration(s *step.Shared) configuration {
	return configuration{Shared: s, apps: map[string]*appState{}, jobs: map[string]*jobState{}, marked: map[string]mark{},
		faulty: map[string]fault{}, sizes: documentSizes{byApp: map[string]int64{}}}
}

// touch has a job's record be written.
func (k *configuration) touch(j *jobState) { k.changed.Add(j.name) }

func (k *configuration) write(r *store.Commit) {
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
func (k *configuration) loadApp(name string, d Document) {
	if d.err != nil {
		k.addFault(d.path, d.err, d.version)
		return
	}
	k.apps[name] = &appState{name: name, cfg: d.app, version: d.version, notes: d.notes, executorKey: executors.Key(d.app), jobs: map[string]*jobState{}, bytes: d.bytes}
	k.sizes.add(name, d.bytes)
}

// loadJob takes in the document of a job as it was found.
func (k *configuration) loadJob(name string, d Document) {
	j := k.jobOrRemoved(name)
	if d.err != nil {
		k.addFault(d.path, d.err, d.version)
		return
	}
	j.cfg, j.version, j.notes, j.bytes = d.job, d.version, d.notes, d.bytes
	k.sizes.add(d.job.AppName, d.bytes)
}

// loaded joins what was loaded: jobs to their apps, and marks to both.
func (k *configuration) loaded() {
	for name, a := range k.apps {
		a.disabled = k.marked[store.Under(store.PathAppDisabled, name)].disables()
	}
	for name, j := range k.jobs {
		j.mark = k.marked[store.Under(store.PathJobDisabled, name)]
		k.join(j)
	}
}

// addFault notes that what is found at a path can't be used.
func (k *configuration) addFault(path string, why error, version int64) {
	k.faulty[path] = fault{why: faultOf(why), version: version, since: k.Wall()}
}

// committed takes out the change that is being committed for the request with that token, nil if there is none.
func (k *configuration) committed(token uint64) *planned {
	p := k.planned
	if p == nil || k.plannedToken != token {
		return nil
	}
	k.planned = nil
	return p
}

// appChanged follows a committed change of an app, and returns the app as it is now, nil when it is no more; jobs
// are its jobs, by name, and other is set when its executors are others from now on.
func (k *configuration) appChanged(e AppChanged) (a *appState, jobs []*jobState, other bool) {
	if !e.MarkOnly {
		delete(k.faulty, store.Under(store.PathApps, e.Name))
	}
	k.setMark(store.Under(store.PathAppDisabled, e.Name), markWhen(e.Disabled, false))
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
func (k *configuration) addApp(name string) *appState {
	a := &appState{name: name, jobs: map[string]*jobState{}}
	k.apps[name] = a
	for _, j := range k.jobs {
		if j.cfg != nil && j.cfg.AppName == name {
			a.jobs[j.name] = j
		}
	}
	return a
}

func (a *appState) sortedJobs() []*jobState {
	out := make([]*jobState, 0, len(a.jobs))
	for _, name := range step.SortedKeys(a.jobs) {
		out = append(out, a.jobs[name])
	}
	return out
}

// jobChanged follows a committed change of a job, and returns it; nil for the removal of one that is not there.
func (k *configuration) jobChanged(e JobChanged) *jobState {
	if !e.MarkOnly {
		delete(k.faulty, store.Under(store.PathJobs, e.Name))
	}
	k.setMark(store.Under(store.PathJobDisabled, e.Name), markWhen(e.Disabled, e.Shutdown))
	if e.Config == nil && k.jobs[e.Name] == nil {
		return nil
	}
	j := k.jobOrRemoved(e.Name)
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
func (k *configuration) join(j *jobState) {
	if j.cfg == nil {
		return
	}
	if a := k.apps[j.cfg.AppName]; a != nil {
		a.jobs[j.name] = j
	}
}

// markChanged follows a disabled mark that an external edit has set or removed (rule F6), and returns the
// jobs that it concerns. A mark may be there before its document is.
func (k *configuration) markChanged(e MarkChanged) []*jobState {
	now := markWhen(e.Disabled, e.Shutdown)
	k.setMark(e.Path, now)
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
		return []*jobState{j}
	}
	return nil
}

// fault is what is wrong with a document in the registry ([D15]).
type fault struct {
	why     reason.Reason
	version int64
	since   time.Time // as far as this leader knows
}

func (k *configuration) hasFault(path string) bool { return !k.faulty[path].why.IsZero() }

// documentFaulty takes the word that somebody left a document that can't be
// used. The last good one stays in force.
func (k *configuration) documentFaulty(e DocumentFaulty) {
	k.Note(step.Note{Kind: step.NoteFaulty, Detail: e.Path + ": " + e.Why.String(), Problem: true})
	since := k.Wall()
	if f, ok := k.faulty[e.Path]; ok {
		since = f.since
	}
	k.faulty[e.Path] = fault{e.Why, e.Version, since}
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
			k.jobOrRemoved(name) // explain answers for it
		}
	}
}

// isFaulty reports whether the job's document, or its app's, can't be used.
func (k *configuration) isFaulty(j *jobState) bool {
	if j.cfg == nil {
		return k.hasFault(store.Under(store.PathJobs, j.name))
	}
	return k.apps[j.cfg.AppName] == nil && k.hasFault(store.Under(store.PathApps, j.cfg.AppName))
}

// removeEndedJob forgets a removed job whose executions have ended (rule K2).
func (k *configuration) removeEndedJob(j *jobState, busy bool) {
	if j.cfg == nil && !busy && !k.isFaulty(j) {
		delete(k.jobs, j.name)
	}
}

// jobsOf names the jobs of an app, also of one whose document can't be used.
func (k *configuration) jobsOf(appName string) []string {
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

func (k *configuration) jobOrRemoved(name string) *jobState {
	j := k.jobs[name]
	if j == nil {
		j = &jobState{name: name}
		k.jobs[name] = j
	}
	return j
}

// planned is a change of configuration, checked against what the core knows:
// writes are committed alone, version-checked, then events are stepped with (rule T4).
type planned struct {
	writes []registry.Write
	events []Event
	audit  []auditRow // in writes, too
	// appName or jobName is what the request is answered with: its view after the change, or, when it is removed, before.
	appName, jobName string
	removed          bool
	answer           Reply
}

func (k *configuration) countDropped(j *jobState, n int64, why reason.Reason) {
	k.Numbers.FiresDropped += n
	j.stored.Fires.Dropped += n
	j.stored.Fires.LastDropped, j.stored.Fires.DroppedWhy = k.Wall(), why
	k.fireCountsChanged(j)
}

func (k *configuration) countMissed(j *jobState, why reason.Reason) {
	k.Numbers.FiresMissed++
	j.stored.Fires.Missed++
	j.stored.Fires.LastMissed, j.stored.Fires.MissedWhy = k.Wall(), why
	k.fireCountsChanged(j)
}

func (k *configuration) fireCountsChanged(j *jobState) {
	k.SeeJob(j.name)
	if j.isStored && k.Now().Sub(j.countsWritten) >= fireCountsEvery {
		j.countsWritten = k.Now()
		k.touch(j)
	}
}

// appOf is the app that an execution runs, or will run, with; nil if it is not registered.
func (k *configuration) appOf(e *executions.Execution) *appState {
	if e.Launched() {
		return k.apps[e.Settings().App.AppName]
	}
	if j := k.jobs[e.Job()]; j != nil && j.cfg != nil {
		return k.apps[j.cfg.AppName]
	}
	return nil
}
