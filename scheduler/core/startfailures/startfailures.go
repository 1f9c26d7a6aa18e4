// Package startfailures keeps where an app must not be placed for a while, because its executor did not start there
// (rule L6) or its package could not be fetched (rule L8). A Set owns these failures and stores them, so that the next
// leader does not repeat them (rule F8). The ends of attempts add failures. The start of a process, a change of the
// app and the passing of time remove them. The package places nothing: placement asks it which agents to avoid and
// which executions have to wait.
package startfailures

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Failure describes why the executors of an app did not start on an agent (rule L6), or why its package could not
// be fetched (rule L8). It is stored, so that the next leader knows it (rule F8).
type Failure struct {
	// Executor is the last executor that did not start or, for tasks that bring their own, the execution and its
	// attempt.
	Executor string `json:"executor"`
	// Tries counts the failures in a row, and Since is the time of the last one, in the time of the term.
	Tries  int           `json:"tries"`
	Since  time.Time     `json:"since"`
	Reason reason.Reason `json:"reason,omitzero"`
	// Host is the host, with its port, from which the app's package could not be fetched; Executor is then the
	// execution that last tried. Package is "" if the host itself is at fault. Otherwise it is the key of the one URL
	// there that gave no good answer in time (the URL itself may hold a secret), or the key of one app with a pod
	// template.
	Host    string `json:"host,omitempty"`
	Package string `json:"package,omitempty"`
	// probes has, by app, the execution that tries the fetch now. Each app has its own, so that an execution that
	// hangs does not keep other apps waiting.
	probes map[string]string
}

// source is the key of the failure among all failures to fetch: the package, or the host.
func (f Failure) source() string { return cmp.Or(f.Package, f.Host) }

const (
	// Backoff bounds how long an app is kept off an agent after a failed start (rule L6). The delay begins at a
	// second and doubles with each failure.
	Backoff = 5 * time.Minute
	// packageBackoff bounds the pause between two tries to fetch a package. It is short, since a try costs little.
	packageBackoff = time.Minute
	// EveryAgent takes the place of an agent's id for a package that could not be fetched, because no agent is at
	// fault.
	EveryAgent = "*"
)

// Until returns when the app may be placed there again, or its package be fetched again, in the time of the term. That
// time may have passed.
func (f Failure) Until() time.Time {
	limit := Backoff
	if f.Host != "" {
		limit = packageBackoff
	}
	return f.Since.Add(step.Backoff(time.Second, limit, f.Tries-1))
}

// Set keeps where apps must not be placed for a while.
//
// A host that accepts connections and never answers, or accepts none at all, delays every attempt that needs a package
// from it, and the attempt occupies its CPU and memory until the fetch times out. So after a host was found
// unreachable, only one execution of each app at a time tries it, with growing delays (rule L8). A host that was
// reached, but whose answer for a package is bad or late, is not at fault. Then the package's URL is limited in the
// same way; otherwise a user who publishes an app with a bad URL would delay all apps with good ones on that host. An
// app that was fetched before is limited only if one of its own fetches has failed since, because its package may be
// in the agents' caches.
//
// A failure to fetch is stored with the apps that met it, so that a new leader does not have to find it out again
// (rule F8).
//
// These hold between any two calls of its methods:
//
//   - byApp has, by app and agent, every failure, with EveryAgent for a package that cannot be fetched;
//   - sources has every failure to fetch a package by its host or URL; all apps that last failed to fetch from
//     there share it;
//   - changed has the key of every failure that differs from what is stored, or is stored and was removed.
type Set struct {
	shared *step.Shared
	// isOpen reports whether an execution that tries a package still exists.
	isOpen  func(execution string) bool
	byApp   map[string]map[string]*Failure
	sources map[string]*Failure
	// fetched has the apps whose package was fetched under this leader and for which no fetch has failed since.
	fetched map[string]bool
	changed store.Changed
}

// New makes a Set without failures. isOpen reports whether an execution of that id is open.
func New(s *step.Shared, isOpen func(execution string) bool) *Set {
	return &Set{shared: s, isOpen: isOpen, byApp: map[string]map[string]*Failure{},
		sources: map[string]*Failure{}, fetched: map[string]bool{}}
}

// keyOf returns the name under which the failures of an app on an agent are stored, below store.PathStartFailure.
func keyOf(appName, agent string) string { return appName + "@-@" + agent }

// get returns the failure that is kept under a key, or nil.
func (fs *Set) get(key string) *Failure {
	appName, agent, _ := strings.Cut(key, "@-@")
	return fs.byApp[appName][agent]
}

// put keeps a failure with an app until it is too old.
func (fs *Set) put(appName, agent string, f *Failure) {
	if fs.byApp[appName] == nil {
		fs.byApp[appName] = map[string]*Failure{}
	}
	former := fs.byApp[appName][agent]
	fs.byApp[appName][agent] = f
	if f.Host != "" {
		fs.sources[f.source()] = f
	}
	fs.dropSource(former)
	fs.scheduleForget(appName, agent, f)
}

// Restore adds a stored failure while a term is loaded, and returns until when it counts. If its app is not
// registered, the failure is removed with the next commit instead, and the time is zero.
func (fs *Set) Restore(e registry.Entry, registered func(appName string) bool) (until time.Time, err error) {
	var f Failure
	if err := json.Unmarshal(e.Value, &f); err != nil {
		return until, err
	}
	fs.shared.Clamp(0, &f.Since)
	_, key := store.Split(e.Path)
	appName, agent, _ := strings.Cut(key, "@-@")
	if !registered(appName) {
		fs.changed.Add(key)
		return until, nil
	}
	kept := &f
	// Apps share a failure to fetch; of their stored copies the newest counts.
	if shared := fs.sources[f.source()]; shared != nil {
		if f.Since.After(shared.Since) {
			*shared = f
		}
		kept = shared
	}
	fs.put(appName, agent, kept)
	return kept.Until(), nil
}

// Record keeps an app off an agent on which its executor did not start, with growing delays (rule L6), and returns
// until when. One failed start is one failure, however many tasks waited for it: further calls for it return zero.
func (fs *Set) Record(appName, agent, executorID string, why reason.Reason) (until time.Time) {
	f := fs.byApp[appName][agent]
	if f == nil {
		f = &Failure{}
	}
	if f.Executor == executorID {
		return until
	}
	f.Executor, f.Since, f.Reason = executorID, fs.shared.Now(), why
	f.Tries++
	fs.changed.Add(keyOf(appName, agent))
	fs.put(appName, agent, f)
	return f.Until()
}

// Remove removes the failure of an app on an agent, if there is one, because an executor started there.
func (fs *Set) Remove(appName, agent string) {
	f := fs.byApp[appName][agent]
	if f == nil {
		return
	}
	delete(fs.byApp[appName], agent)
	if len(fs.byApp[appName]) == 0 {
		delete(fs.byApp, appName)
	}
	fs.dropSource(f)
	fs.changed.Add(keyOf(appName, agent))
}

// dropSource removes a failure to fetch a package that no app has any more.
func (fs *Set) dropSource(f *Failure) {
	if f == nil || f.Host == "" || fs.sources[f.source()] != f {
		return
	}
	for _, of := range fs.byApp {
		if of[EveryAgent] == f {
			return
		}
	}
	delete(fs.sources, f.source())
}

// RemoveAllOf removes all failures of an app that was changed or removed, because it fetches and starts something else
// from now on.
func (fs *Set) RemoveAllOf(appName string) {
	for agent := range fs.byApp[appName] {
		fs.Remove(appName, agent)
	}
	delete(fs.fetched, appName)
}

// scheduleForget schedules the removal of a failure that has not recurred for agents.Retention, because its agent may
// never come back.
func (fs *Set) scheduleForget(appName, agent string, f *Failure) {
	fs.shared.Timers.At(f.Since.Add(agents.Retention), func(now time.Time) {
		switch {
		case fs.byApp[appName][agent] != f:
		case now.Sub(f.Since) < agents.Retention: // it has failed again since
			fs.scheduleForget(appName, agent, f)
		default:
			fs.Remove(appName, agent)
		}
	})
}

// Write adds the failures that changed in this step to its commit, and removes those that are forgotten.
func (fs *Set) Write(r *store.Commit) {
	for _, key := range fs.changed.Take() {
		if f := fs.get(key); f != nil {
			r.Put(store.Under(store.PathStartFailure, key), f)
		} else {
			r.Remove(store.Under(store.PathStartFailure, key))
		}
	}
}

// Avoid returns the agents on which an app must not be placed now, with the reasons: those on which its executors did
// not start (rule L6), and those of excluded (state.State.Excluded). The result may be excluded itself, so the caller
// must not change it.
func (fs *Set) Avoid(appName string, excluded map[string]reason.Reason) map[string]reason.Reason {
	of := fs.byApp[appName]
	if len(of) == 0 {
		return excluded
	}
	out := map[string]reason.Reason{}
	for agent, f := range of {
		if agent == EveryAgent {
			continue // it concerns no agent; see Wait
		}
		if until := f.Until(); until.After(fs.shared.Now()) {
			out[agent] = reason.StartFailed(fs.shared.Opt.TaskExecutors, f.Tries, f.Reason, fs.shared.Shown(until))
		}
	}
	maps.Copy(out, excluded)
	return out
}

// WhatFailed returns what is wrong with the source of a package. It leaves out the cause of the attempt, which may
// name another app's package if the host is at fault.
func (f Failure) WhatFailed() reason.Reason {
	if f.Package != "" {
		return reason.AnswerBad(f.Host)
	}
	return reason.HostSilent(f.Host)
}

// Each calls fn with every failure, sorted by app and agent. The agent is EveryAgent for a package that cannot be
// fetched.
func (fs *Set) Each(fn func(appName, agent string, f Failure)) {
	for _, appName := range step.SortedKeys(fs.byApp) {
		for _, agent := range step.SortedKeys(fs.byApp[appName]) {
			fn(appName, agent, *fs.byApp[appName][agent])
		}
	}
}

// Of returns a copy of the failure of an app on an agent; false if there is none.
func (fs *Set) Of(appName, agent string) (f Failure, found bool) {
	if kept := fs.byApp[appName][agent]; kept != nil {
		return *kept, true
	}
	return f, false
}

// Contradiction describes which invariant of the Set does not hold, or returns "" if all do. Tests call it after
// each step.
func (fs *Set) Contradiction() string {
	for source, f := range fs.sources {
		if f.source() != source {
			return "a start failure is misfiled " + source
		}
	}
	for name, of := range fs.byApp {
		if len(of) == 0 {
			return "start failures are kept without reason " + name
		}
		for agent, f := range of {
			if (agent == EveryAgent) != (f.Host != "") || f.Host != "" && fs.sources[f.source()] != f {
				return "a start failure is not indexed " + keyOf(name, agent)
			}
		}
	}
	return ""
}
