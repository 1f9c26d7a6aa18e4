package startfailures

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/wire"
)

// startFailure is what went wrong when an app's executors were to start on an
// agent (rule L6). It is kept, so that the next leader knows it (rule F8).
type Failure struct {
	Executor string        `json:"executor"` // the last one that did not start; for tasks that bring theirs, the execution and its attempt
	Tries    int           `json:"tries"`
	Since    time.Time     `json:"since"`
	Reason   reason.Reason `json:"reason,omitzero"`
	// Host is where the app's package could not be fetched from, with its port; Executor is then the execution that tried it last.
	// Package is "" if the host itself was at fault. Otherwise it stands for the one URL there that has no good
	// answer in time, which may hold a secret, or for that of one app whose pods have a template.
	Host    string `json:"host,omitempty"`
	Package string `json:"package,omitempty"`
	// probes are the executions that try it now, by their apps: one that hangs holds up no other app.
	probes map[string]string
}

// source is what the failure is kept under among all fetches: a host, or a URL.
func (t Failure) source() string { return cmp.Or(t.Package, t.Host) }

const (
	// startBackoff bounds how long an app is kept off an agent (rule L6).
	Backoff = 5 * time.Minute
	// packageBackoff bounds the pause between two tries to fetch a package. It is short, since a try costs little.
	packageBackoff = time.Minute
	// everyAgent stands in the place of an agent's id where an app's package could not be fetched: that is no agent's fault.
	EveryAgent = "*"
)

// until is when the app may be placed there again, or its package be fetched again.
func (t Failure) Until() time.Time {
	most := Backoff
	if t.Host != "" {
		most = packageBackoff
	}
	return t.Since.Add(step.Backoff(time.Second, most, t.Tries-1))
}

// startFailures say where apps are not to be placed for a while.
//
// A host that accepts connections and never answers, or none at all, keeps every attempt whose package it has waiting
// for nothing, with the attempt's CPU and memory, for as long as a fetch is given. So a host that was found
// unreachable gets no more room than one execution of each app at a time needs to find out whether it is back, with
// growing pauses (rule L8). A host that was reached, and whose answer for a package is bad or late, is not to blame:
// the same holds for the package's URL then, or whoever publishes an app with a bad URL would delay all that have good
// ones there. An app that was fetched before is tried only if a fetch of its own has failed since: it may be in the
// agents' caches.
//
// What was found out is kept with the app whose fetch failed, so that a new leader does not find it out again (rule F8).
//
// These hold between any two calls of its methods:
//
//   - byApp has, by agent, the failures of every app that has one, with everyAgent for a package that can't be fetched;
//   - sources has every failure to fetch a package by its host or URL, which all apps have that tried to fetch from
//     there last;
//   - changed has the key of every one that differs from what is stored, or is stored and was removed.
type Set struct {
	*step.Shared
	isOpen  func(execution string) bool // whether one that tries a package still does
	byApp   map[string]map[string]*Failure
	sources map[string]*Failure
	// fetched are the apps of which a process began under this leader, and no fetch has failed since.
	fetched map[string]bool
	changed store.Changed
}

func New(s *step.Shared, isOpen func(execution string) bool) *Set {
	return &Set{Shared: s, isOpen: isOpen, byApp: map[string]map[string]*Failure{},
		sources: map[string]*Failure{}, fetched: map[string]bool{}}
}

// startKey is where the start failures of an app on an agent are kept, below pathStartFailure.
func Key(appName, agent string) string { return appName + "@-@" + agent }

// at is what is kept under a key, or nil.
func (f *Set) at(key string) *Failure {
	appName, agent, _ := strings.Cut(key, "@-@")
	return f.byApp[appName][agent]
}

// put keeps a failure with an app, and until it is too old.
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
	f.forgetLater(appName, agent, t)
}

// restore takes in one that is stored, if its app is registered, and returns until when it holds; else it is to be removed.
func (f *Set) Restore(e registry.Entry, registered func(appName string) bool) (until time.Time, err error) {
	var t Failure
	if err := json.Unmarshal(e.Value, &t); err != nil {
		return until, err
	}
	f.Clamp(0, &t.Since)
	_, key := store.Split(e.Path)
	appName, agent, _ := strings.Cut(key, "@-@")
	if !registered(appName) {
		f.changed.Add(key)
		return until, nil
	}
	kept := &t
	if known := f.sources[t.source()]; known != nil { // another app's, too: what was found out last holds for all
		if t.Since.After(known.Since) {
			*known = t
		}
		kept = known
	}
	f.put(appName, agent, kept)
	return kept.Until(), nil
}

// record keeps an app off an agent where its executor did not start, with growing delays (rule L6). One start that failed is
// one failure, however many tasks waited for it; only the first of them gets a time.
func (f *Set) Record(appName, agent, executorID string, why reason.Reason) (until time.Time) {
	t := f.byApp[appName][agent]
	if t == nil {
		t = &Failure{}
	}
	if t.Executor == executorID {
		return until
	}
	t.Executor, t.Since, t.Reason = executorID, f.Now(), why
	t.Tries++
	f.changed.Add(Key(appName, agent))
	f.put(appName, agent, t)
	return t.Until()
}

// forget removes what is known against an app on an agent, if there is anything.
func (f *Set) Forget(appName, agent string) {
	t := f.byApp[appName][agent]
	if t == nil {
		return
	}
	delete(f.byApp[appName], agent)
	if len(f.byApp[appName]) == 0 {
		delete(f.byApp, appName)
	}
	f.dropSource(t)
	f.changed.Add(Key(appName, agent))
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

// forgetApp is for an app that was changed or removed: what it fetches and starts is something else.
func (f *Set) ForgetApp(appName string) {
	for agent := range f.byApp[appName] {
		f.Forget(appName, agent)
	}
	delete(f.fetched, appName)
}

// forgetLater bounds how long an agent that may be gone for ever is remembered.
func (f *Set) forgetLater(appName, agent string, t *Failure) {
	f.Timers.At(t.Since.Add(agents.Kept), func(now time.Time) {
		switch {
		case f.byApp[appName][agent] != t:
		case now.Sub(t.Since) < agents.Kept: // it has failed again since
			f.forgetLater(appName, agent, t)
		default:
			f.Forget(appName, agent)
		}
	})
}

func (f *Set) Write(r *store.Commit) {
	for _, key := range f.changed.Take() {
		if t := f.at(key); t != nil {
			r.Put(store.Under(store.PathStartFailure, key), t)
		} else {
			r.Remove(store.Under(store.PathStartFailure, key))
		}
	}
}

// avoid is where an app is not to be placed, and why: where its executors did not start
// (rule L6), and where maintenance begins soon: those are maintained.
func (f *Set) Avoid(appName string, maintained map[string]reason.Reason) map[string]reason.Reason {
	of := f.byApp[appName]
	if len(of) == 0 {
		return maintained
	}
	out := map[string]reason.Reason{}
	for agent, t := range of {
		if agent == EveryAgent {
			continue // see wait
		}
		if until := t.Until(); until.After(f.Now()) {
			out[agent] = reason.StartFailed(f.Opt.TaskExecutors, t.Tries, t.Reason, f.Shown(until))
		}
	}
	maps.Copy(out, maintained)
	return out
}

// unreachable notes that an attempt of an execution, launched then, could not fetch its app's package because its
// host was not reached. Only the first attempt that finds that out gets a time until which it holds.
func (f *Set) Unreachable(a app.Config, execution string, launched time.Time, why reason.Reason) (until time.Time) {
	t := &Failure{Host: wire.HostPort(a.AppURL)}
	if a.PodTemplate != "" {
		t.Package = podKey(a)
	}
	return f.notFetched(a, t, execution, launched, why)
}

// unanswered notes the same of a package whose host was reached, and had no good answer for its URL in time.
func (f *Set) Unanswered(a app.Config, execution string, launched time.Time, why reason.Reason) time.Time {
	host := wire.HostPort(a.AppURL)
	if a.PodTemplate != "" {
		return f.notFetched(a, &Failure{Host: host, Package: podKey(a)}, execution, launched, why)
	}
	if t := f.sources[host]; t != nil && launched.After(t.Since) {
		f.fetchable(t)
	}
	return f.notFetched(a, &Failure{Host: host, Package: urlKey(a.AppURL)}, execution, launched, why)
}

// urlKey stands for a package's URL, which may hold a secret.
func urlKey(packageURL string) string { return "url-" + store.Fingerprint(packageURL) }

// podKey stands for the package of an app whose tasks' pods have a template. It may give names addresses of its own, so
// what is found out from there is of this app alone.
func podKey(a app.Config) string { return "pod-" + store.Fingerprint(a.AppName+" "+a.AppURL) }

// notFetched counts one more failure of a source.
func (f *Set) notFetched(
	a app.Config, t *Failure, execution string, launched time.Time, why reason.Reason,
) (until time.Time) {
	if known := f.sources[t.source()]; known != nil {
		t = known
	}
	if t.probes[a.AppName] == execution {
		delete(t.probes, a.AppName)
	}
	if launched.After(t.Since) || t.Tries == 0 { // else it had begun before that was known
		t.Executor, t.Since, t.Reason = execution, f.Now(), why
		t.Tries++
		until = t.Until()
	}
	delete(f.fetched, a.AppName)
	f.put(a.AppName, EveryAgent, t)
	f.changed.Add(Key(a.AppName, EveryAgent))
	return until
}

// packageFetched notes that a process of an app began, so that its package was there, and reports whether that was doubted.
func (f *Set) PackageFetched(a app.Config) (doubted bool) {
	f.fetched[a.AppName] = true
	for _, t := range f.against(a) {
		f.fetchable(t)
		doubted = true
	}
	return doubted
}

// fetchable forgets a failure to fetch, with all apps.
func (f *Set) fetchable(t *Failure) {
	for _, name := range step.SortedKeys(f.byApp) {
		if f.byApp[name][EveryAgent] == t {
			f.Forget(name, EveryAgent)
		}
	}
}

// against is what is known against fetching an app's package: of its host and of its URL, or of the app alone.
func (f *Set) against(a app.Config) (known []*Failure) {
	if len(f.sources) == 0 {
		return nil
	}
	sources := []string{wire.HostPort(a.AppURL), urlKey(a.AppURL)}
	if a.PodTemplate != "" {
		sources = []string{podKey(a)}
	}
	for _, source := range sources {
		if t := f.sources[source]; t != nil {
			known = append(known, t)
		}
	}
	return known
}

// doubts are what is known against fetching an app's package.
func (f *Set) doubts(a *app.Config) []*Failure {
	if a == nil || f.fetched[a.AppName] {
		return nil
	}
	return f.against(*a)
}

// packageWait is what an execution waits for whose package can't be fetched: failure is what is known of its host or
// URL, and probe the execution of its app that tries it now, "" when the pause before the next try has not passed. The
// zero value is no wait.
type packageWait struct {
	failure *Failure
	probe   string
}

func (w packageWait) Waits() bool { return w.failure != nil }

// wait says whether an execution of an app waits because its package can't be fetched. When the pause has passed, one
// execution of the app at a time may try.
func (f *Set) Wait(a *app.Config, id string) packageWait {
	for _, t := range f.doubts(a) {
		probe := t.probes[a.AppName]
		switch {
		case t.Until().After(f.Now()):
			return packageWait{failure: t}
		case probe != id && f.isOpen(probe):
			return packageWait{failure: t, probe: probe}
		}
	}
	return packageWait{}
}

// waitReason is the same for people.
func (f *Set) WaitReason(w packageWait) reason.Reason {
	if w.probe == "" {
		return reason.PackageUnfetchable(w.failure.WhatFailed(), w.failure.Tries, f.Shown(w.failure.Until()))
	}
	return reason.PackageBeingTried(w.failure.WhatFailed(), w.failure.Tries, w.probe)
}

// whatFailed says what is wrong with where a package is fetched from. It leaves the cause of the attempt out, which
// names another app's package where the host is at fault for all that it has.
func (t Failure) WhatFailed() reason.Reason {
	if t.Package != "" {
		return reason.AnswerBad(t.Host)
	}
	return reason.HostSilent(t.Host)
}

// isShared reports whether another app has the same failure to fetch as an app, whose cause may then be of a run of that app.
func (f *Set) IsShared(appName string) bool {
	t := f.byApp[appName][EveryAgent]
	for name, of := range f.byApp {
		if name != appName && of[EveryAgent] == t {
			return true
		}
	}
	return false
}

// tried notes that an execution, for which there is no wait, is the one of its app that tries.
func (f *Set) Tried(a *app.Config, id string) {
	for _, t := range f.doubts(a) {
		if t.probes == nil {
			t.probes = map[string]string{}
		}
		t.probes[a.AppName] = id
	}
}

// each calls fn with every failure: of which app, and on which agent, everyAgent for a package that can't be fetched. They
// come sorted by app and agent.
func (f *Set) Each(fn func(appName, agent string, t Failure)) {
	for _, appName := range step.SortedKeys(f.byApp) {
		for _, agent := range step.SortedKeys(f.byApp[appName]) {
			fn(appName, agent, *f.byApp[appName][agent])
		}
	}
}

// of is what is known against an app on an agent; false for nothing.
func (f *Set) Of(appName, agent string) (t Failure, known bool) {
	if kept := f.byApp[appName][agent]; kept != nil {
		return *kept, true
	}
	return t, false
}

// contradiction says which of the promises of startFailures does not hold, "" if all do. Tests ask for it after each step.
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
				return "a start failure is not indexed " + Key(name, agent)
			}
		}
	}
	return ""
}
