package startfailures

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// RecordUnreachable records that an attempt could not fetch its app's package because the host was not reached. It
// returns when the package may be fetched again. If the attempt was launched before the last failure of the same host
// (with a pod template, of the app's pods), both count as one failure, and it returns zero.
func (fs *Set) RecordUnreachable(a app.Config, execution string, launched time.Time,
	why reason.Reason) (until time.Time) {
	f := &Failure{Host: wire.HostPort(a.AppURL)}
	if a.PodTemplate != "" {
		f.Package = podKey(a)
	}
	return fs.recordNotFetched(a, f, execution, launched, why)
}

// RecordUnanswered records that an attempt could not fetch its app's package although the host was reached, because
// its URL gave no good answer in time. It returns what RecordUnreachable does. It also removes the failure of the
// host, unless the attempt was launched before that failure, or the app has a pod template, which may give the name to
// another host.
func (fs *Set) RecordUnanswered(a app.Config, execution string, launched time.Time, why reason.Reason) time.Time {
	host := wire.HostPort(a.AppURL)
	if a.PodTemplate != "" {
		return fs.recordNotFetched(a, &Failure{Host: host, Package: podKey(a)}, execution, launched, why)
	}
	if f := fs.sources[host]; f != nil && launched.After(f.Since) {
		fs.forgetSource(f)
	}
	return fs.recordNotFetched(a, &Failure{Host: host, Package: urlKey(a.AppURL)}, execution, launched, why)
}

// urlKey returns the key of a package's URL: a fingerprint, because the URL may hold a secret.
func urlKey(packageURL string) string { return "url-" + store.Fingerprint(packageURL) }

// podKey returns the key of the package of an app with a pod template. The template may give host names other
// addresses, so a failure in such a pod counts for this app alone.
func podKey(a app.Config) string { return "pod-" + store.Fingerprint(a.AppName+" "+a.AppURL) }

// recordNotFetched records a failure to fetch from the source of f. If there is no failure of that source yet, f
// becomes that failure.
func (fs *Set) recordNotFetched(
	a app.Config, f *Failure, execution string, launched time.Time, why reason.Reason,
) (until time.Time) {
	if existing := fs.sources[f.source()]; existing != nil {
		f = existing
	}
	if f.probes[a.AppName] == execution {
		delete(f.probes, a.AppName)
	}
	// An attempt that was launched before the last failure does not count as another one.
	if launched.After(f.Since) || f.Tries == 0 {
		f.Executor, f.Since, f.Reason = execution, fs.shared.Now(), why
		f.Tries++
		until = f.Until()
	}
	delete(fs.fetched, a.AppName)
	fs.put(a.AppName, EveryAgent, f)
	fs.changed.Add(keyOf(a.AppName, EveryAgent))
	return until
}

// RecordFetched records that the package of an app was fetched, because a process of the app has begun. It returns
// whether it removed a failure.
func (fs *Set) RecordFetched(a app.Config) (removed bool) {
	fs.fetched[a.AppName] = true
	for _, f := range fs.sourceFailures(a) {
		fs.forgetSource(f)
		removed = true
	}
	return removed
}

// forgetSource removes the failure of a source, for all apps that share it.
func (fs *Set) forgetSource(f *Failure) {
	for _, name := range step.SortedKeys(fs.byApp) {
		if fs.byApp[name][EveryAgent] == f {
			fs.Remove(name, EveryAgent)
		}
	}
}

// sourceFailures returns the failures to fetch from the sources of an app's package: from its host and its URL or,
// with a pod template, in the pods of the app alone.
func (fs *Set) sourceFailures(a app.Config) (found []*Failure) {
	if len(fs.sources) == 0 {
		return nil
	}
	sources := []string{wire.HostPort(a.AppURL), urlKey(a.AppURL)}
	if a.PodTemplate != "" {
		sources = []string{podKey(a)}
	}
	for _, source := range sources {
		if f := fs.sources[source]; f != nil {
			found = append(found, f)
		}
	}
	return found
}

// unresolved returns the failures that may require an app to wait. There are none if its package was fetched
// under this leader and none of its fetches has failed since.
func (fs *Set) unresolved(a *app.Config) []*Failure {
	if a == nil || fs.fetched[a.AppName] {
		return nil
	}
	return fs.sourceFailures(*a)
}

// PackageWait says that an execution has to wait because its package cannot be fetched. failure is that of the host,
// the URL or the app's pods. probe is the execution of the same app that tries the fetch now, "" during the delay
// before the next try. The zero value means no wait.
type PackageWait struct {
	failure *Failure
	probe   string
}

// MustWait reports whether the execution has to wait.
func (w PackageWait) MustWait() bool { return w.failure != nil }

// Wait says whether an execution of an app has to wait because its package cannot be fetched. After the delay, one
// execution of the app at a time need not wait; placement calls RecordTry for it. id is the execution's id, or "" for a
// preview.
func (fs *Set) Wait(a *app.Config, id string) PackageWait {
	for _, f := range fs.unresolved(a) {
		probe := f.probes[a.AppName]
		switch {
		case f.Until().After(fs.shared.Now()):
			return PackageWait{failure: f}
		case probe != id && fs.isOpen(probe):
			return PackageWait{failure: f, probe: probe}
		}
	}
	return PackageWait{}
}

// WaitReason returns the reason of a wait that users see. It must not be called for the zero value.
func (fs *Set) WaitReason(w PackageWait) reason.Reason {
	if w.probe == "" {
		return reason.PackageUnfetchable(w.failure.WhatFailed(), w.failure.Tries, fs.shared.Shown(w.failure.Until()))
	}
	return reason.PackageBeingTried(w.failure.WhatFailed(), w.failure.Tries, w.probe)
}

// IsShared reports whether another app shares this app's failure to fetch. The Reason of the failure may then come from
// a run of the other app.
func (fs *Set) IsShared(appName string) bool {
	f := fs.byApp[appName][EveryAgent]
	for name, of := range fs.byApp {
		if f != nil && name != appName && of[EveryAgent] == f {
			return true
		}
	}
	return false
}

// RecordTry records that an execution, for which Wait returned no wait, is the one of its app that tries the package
// now.
func (fs *Set) RecordTry(a *app.Config, id string) {
	for _, f := range fs.unresolved(a) {
		if f.probes == nil {
			f.probes = map[string]string{}
		}
		f.probes[a.AppName] = id
	}
}
