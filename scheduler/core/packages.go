package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"time"

	"github.com/elasticjob-go/elasticjob/wire"
)

// A host that accepts connections and never answers, or none at all, keeps every attempt whose package it has waiting for nothing,
// with the attempt's CPU and memory, for as long as a fetch is given. So a host that was found unreachable gets no more room than
// one execution at a time needs to find out whether it is back, with growing pauses (rule L8). An app that was fetched from
// it before is tried only if a fetch of its own has failed since: it may be in the agents' caches.
//
// What was found out is kept with the app whose fetch failed, so that a new leader does not find it out again (rule F8).

// everyAgent stands in the place of an agent's id where an app's package could not be fetched: that is no agent's fault.
const everyAgent = "*"

// packageBackoff bounds the pause between two tries to fetch from an unreachable host. It is short, since a try costs little.
const packageBackoff = time.Minute

// packageHost is where an app's package is fetched from, "" for a URL without a host.
func packageHost(packageURL string) string {
	u, err := url.Parse(packageURL)
	if err != nil {
		return ""
	}
	return u.Host
}

// packageUnreachable notes that an attempt could not fetch its package because host gave no answer.
func (c *Core) packageUnreachable(ref taskRef, host string) {
	a, s := c.apps[ref.exec.Settings.App.AppName], ref.shard()
	if a == nil || packageHost(a.cfg.AppURL) != host {
		return // it was changed since
	}
	t := c.unreachableHosts[host]
	if t == nil {
		t = &startFailure{Host: host}
		c.unreachableHosts[host] = t
	}
	a.fetched = false
	a.starts[everyAgent] = t
	c.dirty.starts[startKey(a.name, everyAgent)] = true
	c.forgetStartFailureLater(a.name, everyAgent, t)
	if !s.Launched.After(t.Since) && t.Tries > 0 {
		return // it had begun before that was known
	}
	t.Executor, t.Since, t.Reason, t.probe = ref.exec.ID, c.now, s.Cause, ""
	t.Tries++
	c.wakeMatch(t.packageUntil())
}

// packageFetched notes that a process of an app began, so that its package was there.
func (c *Core) packageFetched(ref taskRef) {
	a := c.apps[ref.exec.Settings.App.AppName]
	if a == nil {
		return
	}
	a.fetched = true
	if len(c.unreachableHosts) == 0 {
		return
	}
	host := packageHost(a.cfg.AppURL)
	t := c.unreachableHosts[host]
	if t == nil {
		return
	}
	delete(c.unreachableHosts, host)
	for _, other := range c.apps {
		if other.starts[everyAgent] == t {
			c.forgetStartFailure(other, everyAgent)
		}
	}
	c.matchAgain = true
}

// packageUntil is when the package may be fetched again.
func (t *startFailure) packageUntil() time.Time {
	return t.Since.Add(Backoff(time.Second, packageBackoff, t.Tries-1))
}

// unreachableHost is what is known against fetching an app's package, or nil.
func (c *Core) unreachableHost(a *appState) *startFailure {
	if a == nil || a.fetched || len(c.unreachableHosts) == 0 {
		return nil
	}
	return c.unreachableHosts[packageHost(a.cfg.AppURL)]
}

// packageWait is what an execution waits for whose package can't be fetched: failure is what is known of its host, and probe
// the execution that tries it now, "" when the pause before the next try has not passed. The zero value is no wait.
type packageWait struct {
	failure *startFailure
	probe   string
}

func (w packageWait) waits() bool { return w.failure != nil }

// packageWait says whether an execution of an app waits because its package can't be fetched. When the pause has passed, one
// execution at a time may try.
func (c *Core) packageWait(a *appState, id string) packageWait {
	t := c.unreachableHost(a)
	switch {
	case t == nil:
	case t.packageUntil().After(c.now):
		return packageWait{failure: t}
	case t.probe != "" && t.probe != id && c.executions.open[t.probe] != nil:
		return packageWait{failure: t, probe: t.probe}
	}
	return packageWait{}
}

// packageReason is the same for people.
func (c *Core) packageReason(w packageWait) string {
	if w.probe == "" {
		return fmt.Sprintf("its package can't be fetched: %s did not answer, %s; tried again at %s", w.failure.Host, counted(w.failure.Tries, "time"), c.shown(w.failure.packageUntil()).Format(time.TimeOnly))
	}
	return fmt.Sprintf("its package could not be fetched: %s did not answer, %s; execution %s tries it now", w.failure.Host, counted(w.failure.Tries, "time"), w.probe)
}

// packageTried notes that an execution, for which there is no packageWait, is the one that tries.
func (c *Core) packageTried(a *appState, id string) {
	if t := c.unreachableHost(a); t != nil {
		t.probe = id
	}
}

// appOf is the app that an execution runs, or will run, with; nil if it is not registered.
func (c *Core) appOf(e *execution) *appState {
	if e.launched() {
		return c.apps[e.Settings.App.AppName]
	}
	if j := c.jobs[e.Job]; j != nil && j.cfg != nil {
		return c.apps[j.cfg.AppName]
	}
	return nil
}

// learnPackage keeps which package an attempt runs with, and reports whether that was news.
func (c *Core) learnPackage(ref taskRef, st wire.Status) (changed bool) {
	s := ref.shard()
	if sum, err := hex.DecodeString(st.PackageSHA256); err != nil || len(sum) != sha256.Size || s.Package == st.PackageSHA256 {
		return false
	}
	s.Package = st.PackageSHA256
	if st.PackageNote != "" {
		c.note(Note{Kind: NotePackageChanged, Job: ref.exec.Job, Execution: ref.exec.ID, Task: s.TaskID, Detail: "agent " + s.Agent + ": " + shorten(st.PackageNote), Problem: true})
	}
	return true
}
