package startfailures

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// RecordUnreachable records that an attempt, launched then, could not fetch its app's package because the host was not
// reached. It returns until when that counts. It returns zero if the attempt was launched before the last known
// failure, because both count as one.
func (f *Set) RecordUnreachable(a app.Config, execution string, launched time.Time,
	why reason.Reason) (until time.Time) {
	t := &Failure{Host: wire.HostPort(a.AppURL)}
	if a.PodTemplate != "" {
		t.Package = podKey(a)
	}
	return f.recordNotFetched(a, t, execution, launched, why)
}

// RecordUnanswered records that an attempt could not fetch its app's package although the host was reached, because
// its URL had no good answer in time. It returns what Unreachable does.
func (f *Set) RecordUnanswered(a app.Config, execution string, launched time.Time, why reason.Reason) time.Time {
	host := wire.HostPort(a.AppURL)
	if a.PodTemplate != "" {
		return f.recordNotFetched(a, &Failure{Host: host, Package: podKey(a)}, execution, launched, why)
	}
	if t := f.sources[host]; t != nil && launched.After(t.Since) {
		f.forgetSource(t)
	}
	return f.recordNotFetched(a, &Failure{Host: host, Package: urlKey(a.AppURL)}, execution, launched, why)
}

// urlKey returns the key of a package's URL, without the URL itself, which may hold a secret.
func urlKey(packageURL string) string { return "url-" + store.Fingerprint(packageURL) }

// podKey returns the key of the package of an app whose tasks' pods have a template. The template may give host names
// other addresses, so a failure there counts for this app alone.
func podKey(a app.Config) string { return "pod-" + store.Fingerprint(a.AppName+" "+a.AppURL) }

// recordNotFetched counts one more failure to fetch from a source.
func (f *Set) recordNotFetched(
	a app.Config, t *Failure, execution string, launched time.Time, why reason.Reason,
) (until time.Time) {
	if known := f.sources[t.source()]; known != nil {
		t = known
	}
	if t.probes[a.AppName] == execution {
		delete(t.probes, a.AppName)
	}
	// An attempt that began before the failure was known is no further failure.
	if launched.After(t.Since) || t.Tries == 0 {
		t.Executor, t.Since, t.Reason = execution, f.shared.Now(), why
		t.Tries++
		until = t.Until()
	}
	delete(f.fetched, a.AppName)
	f.put(a.AppName, EveryAgent, t)
	f.changed.Add(keyOf(a.AppName, EveryAgent))
	return until
}

// RecordFetched records that a process of an app began, so that its package could be fetched. It returns true if it
// removed a failure.
func (f *Set) RecordFetched(a app.Config) (doubted bool) {
	f.fetched[a.AppName] = true
	for _, t := range f.against(a) {
		f.forgetSource(t)
		doubted = true
	}
	return doubted
}

// forgetSource removes a failure to fetch from all apps.
func (f *Set) forgetSource(t *Failure) {
	for _, name := range step.SortedKeys(f.byApp) {
		if f.byApp[name][EveryAgent] == t {
			f.Remove(name, EveryAgent)
		}
	}
}

// against returns the failures that concern the fetch of an app's package: those of its host and of its URL, or of the
// app alone.
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

// doubts returns the failures that hold against an app whose package has not been fetched since.
func (f *Set) doubts(a *app.Config) []*Failure {
	if a == nil || f.fetched[a.AppName] {
		return nil
	}
	return f.against(*a)
}

// PackageWait describes why an execution waits because its package cannot be fetched. failure is that of its host or
// URL, and probe the execution of its app that tries it now, "" during the delay before the next try. The zero value
// means no wait.
type PackageWait struct {
	failure *Failure
	probe   string
}

// MustWait reports whether the execution has to wait.
func (w PackageWait) MustWait() bool { return w.failure != nil }

// Wait returns whether an execution of an app has to wait because its package cannot be fetched. After the delay,
// one execution of the app at a time may try; placement calls Tried for it.
func (f *Set) Wait(a *app.Config, id string) PackageWait {
	for _, t := range f.doubts(a) {
		probe := t.probes[a.AppName]
		switch {
		case t.Until().After(f.shared.Now()):
			return PackageWait{failure: t}
		case probe != id && f.isOpen(probe):
			return PackageWait{failure: t, probe: probe}
		}
	}
	return PackageWait{}
}

// WaitReason returns the reason of a wait, for people. It must not be called for the zero value.
func (f *Set) WaitReason(w PackageWait) reason.Reason {
	if w.probe == "" {
		return reason.PackageUnfetchable(w.failure.WhatFailed(), w.failure.Tries, f.shared.Shown(w.failure.Until()))
	}
	return reason.PackageBeingTried(w.failure.WhatFailed(), w.failure.Tries, w.probe)
}

// IsShared reports whether another app has the same failure to fetch as this app. Its Reason may then come from a
// run of that other app.
func (f *Set) IsShared(appName string) bool {
	t := f.byApp[appName][EveryAgent]
	for name, of := range f.byApp {
		if name != appName && of[EveryAgent] == t {
			return true
		}
	}
	return false
}

// RecordTry records that an execution, for which Wait returned no wait, is the one of its app that tries the package
// now.
func (f *Set) RecordTry(a *app.Config, id string) {
	for _, t := range f.doubts(a) {
		if t.probes == nil {
			t.probes = map[string]string{}
		}
		t.probes[a.AppName] = id
	}
}
