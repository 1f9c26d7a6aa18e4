package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// startFailure is what went wrong when an app's executors were to start on an
// agent (rule L6). It is kept, so that the next leader knows it (rule F8).
type startFailure struct {
	Executor string    `json:"executor"` // the last one that did not start
	Tries    int       `json:"tries"`
	Since    time.Time `json:"since"`
	Reason   string    `json:"reason"`
	// Host gave no answer when the app's package was to be fetched; Executor is then the execution that tried it last.
	Host  string `json:"host,omitempty"`
	probe string // the execution that tries it now
}

// startBackoff bounds how long an app is kept off an agent (rule L6).
const startBackoff = 5 * time.Minute

// until is when the app may be placed there again.
func (t *startFailure) until() time.Time {
	return t.Since.Add(Backoff(time.Second, startBackoff, t.Tries-1))
}

// startKey is where the start failures of an app on an agent are kept, below pathStartFailure.
func startKey(appName, agent string) string { return appName + "@-@" + agent }

// recordStartFailure keeps an app off an agent with growing delays (rule L6).
func (c *Core) recordStartFailure(ref taskRef) {
	s := ref.shard()
	a := c.apps[ref.exec.Settings.App.AppName]
	if a == nil {
		return
	}
	t := a.starts[s.Agent]
	if t == nil {
		t = &startFailure{}
		a.starts[s.Agent] = t
	}
	if t.Executor == s.Executor {
		return // one start that failed, however many tasks waited for it
	}
	t.Executor, t.Since, t.Reason = s.Executor, c.now, s.Cause
	t.Tries++
	c.dirty.starts[startKey(a.name, s.Agent)] = true
	c.wakeMatch(t.until())
	c.forgetStartFailureLater(a.name, s.Agent, t)
}

// clearStartFailure: a task began on the agent, so its executor starts there.
func (c *Core) clearStartFailure(ref taskRef) {
	if a := c.apps[ref.exec.Settings.App.AppName]; a != nil && a.starts[ref.shard().Agent] != nil {
		c.forgetStartFailure(a, ref.shard().Agent)
	}
}

func (c *Core) forgetStartFailure(a *appState, agent string) {
	if t := a.starts[agent]; t != nil && agent == everyAgent && c.unreachableHosts[t.Host] == t {
		delete(c.unreachableHosts, t.Host)
	}
	delete(a.starts, agent)
	c.dirty.starts[startKey(a.name, agent)] = true
}

// forgetStartFailures is for an app that was changed: what it fetches and starts is something else.
func (c *Core) forgetStartFailures(a *appState) {
	for agent := range a.starts {
		c.forgetStartFailure(a, agent)
	}
}

// forgetStartFailureLater bounds how long an agent that may be gone for ever is remembered.
func (c *Core) forgetStartFailureLater(appName, agent string, t *startFailure) {
	c.timers.at(t.Since.Add(agentKept), func(now time.Time) {
		switch a := c.apps[appName]; {
		case a == nil || a.starts[agent] != t:
		case now.Sub(t.Since) < agentKept: // it has failed again since
			c.forgetStartFailureLater(appName, agent, t)
		default:
			c.forgetStartFailure(a, agent)
		}
	})
}

func (c *Core) loadStartFailure(e registry.Entry) error {
	var t startFailure
	if err := json.Unmarshal(e.Value, &t); err != nil {
		return err
	}
	c.clampLoaded(0, &t.Since)
	_, key := splitPath(e.Path)
	name, agent, _ := strings.Cut(key, "@-@")
	c.loadedStartFailures = append(c.loadedStartFailures, loadedStartFailure{name, agent, &t})
	return nil
}

type loadedStartFailure struct {
	app, agent string
	failure    *startFailure
}

// joinStartFailures gives loaded start failures to their apps.
func (c *Core) joinStartFailures() {
	for _, l := range c.loadedStartFailures {
		a := c.apps[l.app]
		if a == nil {
			c.dirty.starts[startKey(l.app, l.agent)] = true
			continue
		}
		a.starts[l.agent] = l.failure
		if l.agent == everyAgent {
			c.unreachableHosts[l.failure.Host] = l.failure
			c.wakeMatch(l.failure.packageUntil())
		} else {
			c.wakeMatch(l.failure.until())
		}
		c.forgetStartFailureLater(l.app, l.agent, l.failure)
	}
	c.loadedStartFailures = nil
}

// startFailureAt finds what is kept under a key, or nil.
func (c *Core) startFailureAt(key string) *startFailure {
	name, agent, _ := strings.Cut(key, "@-@")
	if a := c.apps[name]; a != nil {
		return a.starts[agent]
	}
	return nil
}

// avoid is where an app is not to be placed, and why: where its executors did not start
// (rule L6), and where maintenance begins soon: those are maintained.
func (c *Core) avoid(appName string, maintained map[string]string) map[string]string {
	a := c.apps[appName]
	if a == nil || len(a.starts) == 0 {
		return maintained
	}
	out := map[string]string{}
	for agent, t := range a.starts {
		if agent == everyAgent {
			continue // see packageWait
		}
		if until := t.until(); until.After(c.now) {
			out[agent] = fmt.Sprintf("the app's executor failed to start there %s, last: %s; tried again at %s", counted(t.Tries, "time"), t.Reason, c.shown(until).Format(time.TimeOnly))
		}
	}
	maps.Copy(out, maintained)
	return out
}
