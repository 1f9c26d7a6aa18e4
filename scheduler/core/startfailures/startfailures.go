// Package startfailures keeps where an app must not be placed for a while, because its executor did not start there
// (rule L6) or its package could not be fetched (rule L8). A Set owns these failures and stores them, so that the
// next leader does not repeat them (rule F8). The ends of attempts add failures; a process that begins, a changed
// app, or time removes them. The package places nothing: placement asks it which agents to avoid and which
// executions have to wait.
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
	// execution that tried it last. Package is "" if the host itself was at fault. Otherwise it is the key of the one
	// URL there that had no good answer in time (the URL itself may hold a secret), or that of one app whose pods have
	// a template.
	Host    string `json:"host,omitempty"`
	Package string `json:"package,omitempty"`
	// probes are the executions that try it now, by their apps, so that one that hangs holds up no other app.
	probes map[string]string
}

// source is the key of the failure among all failures to fetch: the package, or the host.
func (t Failure) source() string { return cmp.Or(t.Package, t.Host) }

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

// Until returns when the app may be placed there again, or its package be fetched again, in the time of the term.
// It may have passed.
func (t Failure) Until() time.Time {
	limit := Backoff
	if t.Host != "" {
		limit = packageBackoff
	}
	return t.Since.Add(step.Backoff(time.Second, limit, t.Tries-1))
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
	// fetched has the apps of which a process began under this leader and no fetch has failed since.
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

// at returns the failure that is kept under a key, or nil.
func (f *Set) at(key string) *Failure {
	appName, agent, _ := strings.Cut(key, "@-@")
	return f.byApp[appName][agent]
}

// put keeps a failure with an app until it is too old.
func (f *Set) put(appName, agent string, t *Failure) {
	if f.byApp[appName] == nil {
		f.byApp[appName] = map[string]*Failure{}
	}
	former := f.byApp[appName][agent]
	f.byApp[appName][agent] = t
	if t.Host != "" {
		f.sources[t.source()] = t
	}
	f.dropSource(former)
	f.scheduleForget(appName, agent, t)
}

// Restore adds a stored failure and returns until when it counts. If its app is not registered, the failure is removed
// with the next commit instead, and the time is zero.
func (f *Set) Restore(e registry.Entry, registered func(appName string) bool) (until time.Time, err error) {
	var t Failure
	if err := json.Unmarshal(e.Value, &t); err != nil {
		return until, err
	}
	f.shared.Clamp(0, &t.Since)
	_, key := store.Split(e.Path)
	appName, agent, _ := strings.Cut(key, "@-@")
	if !registered(appName) {
		f.changed.Add(key)
		return until, nil
	}
	kept := &t
	// It may be another app's, too: the last failure counts for all.
	if known := f.sources[t.source()]; known != nil {
		if t.Since.After(known.Since) {
			*known = t
		}
		kept = known
	}
	f.put(appName, agent, kept)
	return kept.Until(), nil
}

// Record keeps an app off an agent on which its executor did not start, with growing delays (rule L6), and returns
// until when. One failed start is one failure, however many tasks waited for it: further calls for it return zero.
func (f *Set) Record(appName, agent, executorID string, why reason.Reason) (until time.Time) {
	t := f.byApp[appName][agent]
	if t == nil {
		t = &Failure{}
	}
	if t.Executor == executorID {
		return until
	}
	t.Executor, t.Since, t.Reason = executorID, f.shared.Now(), why
	t.Tries++
	f.changed.Add(keyOf(appName, agent))
	f.put(appName, agent, t)
	return t.Until()
}

// Remove removes the failure of an app on an agent, if there is one, because an executor started there.
func (f *Set) Remove(appName, agent string) {
	t := f.byApp[appName][agent]
	if t == nil {
		return
	}
	delete(f.byApp[appName], agent)
	if len(f.byApp[appName]) == 0 {
		delete(f.byApp, appName)
	}
	f.dropSource(t)
	f.changed.Add(keyOf(appName, agent))
}

// dropSource removes a failure to fetch a package that no app has any more.
func (f *Set) dropSource(t *Failure) {
	if t == nil || t.Host == "" || f.sources[t.source()] != t {
		return
	}
	for _, of := range f.byApp {
		if of[EveryAgent] == t {
			return
		}
	}
	delete(f.sources, t.source())
}

// RemoveAllOf removes all failures of an app that was changed or removed, since it now fetches and starts something
// else.
func (f *Set) RemoveAllOf(appName string) {
	for agent := range f.byApp[appName] {
		f.Remove(appName, agent)
	}
	delete(f.fetched, appName)
}

// scheduleForget bounds how long a failure is kept for an agent that may never come back.
func (f *Set) scheduleForget(appName, agent string, t *Failure) {
	f.shared.Timers.At(t.Since.Add(agents.Retention), func(now time.Time) {
		switch {
		case f.byApp[appName][agent] != t:
		case now.Sub(t.Since) < agents.Retention: // it has failed again since
			f.scheduleForget(appName, agent, t)
		default:
			f.Remove(appName, agent)
		}
	})
}

// Write adds the failures that changed in this step to its commit, and removes those that are forgotten.
func (f *Set) Write(r *store.Commit) {
	for _, key := range f.changed.Take() {
		if t := f.at(key); t != nil {
			r.Put(store.Under(store.PathStartFailure, key), t)
		} else {
			r.Remove(store.Under(store.PathStartFailure, key))
		}
	}
}

// Avoid returns the agents on which an app must not be placed now, with the reasons: those on which its executors
// did not start (rule L6), and those of maintained, where maintenance begins soon. The map may be maintained
// itself, so the caller must not change it.
func (f *Set) Avoid(appName string, maintained map[string]reason.Reason) map[string]reason.Reason {
	of := f.byApp[appName]
	if len(of) == 0 {
		return maintained
	}
	out := map[string]reason.Reason{}
	for agent, t := range of {
		if agent == EveryAgent {
			continue // it concerns no agent; see Wait
		}
		if until := t.Until(); until.After(f.shared.Now()) {
			out[agent] = reason.StartFailed(f.shared.Opt.TaskExecutors, t.Tries, t.Reason, f.shared.Shown(until))
		}
	}
	maps.Copy(out, maintained)
	return out
}

// WhatFailed returns what is wrong with the source of a package. It leaves out the cause of the attempt, which may
// name another app's package if the host is at fault.
func (t Failure) WhatFailed() reason.Reason {
	if t.Package != "" {
		return reason.AnswerBad(t.Host)
	}
	return reason.HostSilent(t.Host)
}

// Each calls fn with every failure, sorted by app and agent. The agent is EveryAgent for a package that cannot be
// fetched.
func (f *Set) Each(fn func(appName, agent string, t Failure)) {
	for _, appName := range step.SortedKeys(f.byApp) {
		for _, agent := range step.SortedKeys(f.byApp[appName]) {
			fn(appName, agent, *f.byApp[appName][agent])
		}
	}
}

// Of returns a copy of the failure of an app on an agent; false if there is none.
func (f *Set) Of(appName, agent string) (t Failure, known bool) {
	if kept := f.byApp[appName][agent]; kept != nil {
		return *kept, true
	}
	return t, false
}

// Contradiction describes which invariant of the Set does not hold, or returns "" if all do. Tests call it after
// each step.
func (f *Set) Contradiction() string {
	for source, t := range f.sources {
		if t.source() != source {
			return "a start failure is misfiled " + source
		}
	}
	for name, of := range f.byApp {
		if len(of) == 0 {
			return "start failures are kept without reason " + name
		}
		for agent, t := range of {
			if (agent == EveryAgent) != (t.Host != "") || t.Host != "" && f.sources[t.source()] != t {
				return "a start failure is not indexed " + keyOf(name, agent)
			}
		}
	}
	return ""
}
