package sim

import (
	"fmt"
	"strings"
	"time"
)

// openExecution returns an execution that has not ended although it could, or "".
func (c *checker) openExecution() string {
	if c.hasCrons() {
		return "users have not stopped"
	}
	for _, id := range sorted(c.execs) {
		e := c.execs[id]
		if e.Ended > 0 {
			continue
		}
		j := c.job(e.Job)
		// An execution that never fits, or whose app was deleted, waits, and so do all later ones of its job.
		if j.cfg != nil && (j.cfg.CPUCount == neverCPUs ||
			c.w.store.entries[pathApps+"/"+j.cfg.AppName].Value == nil) && c.notLaunched(j) {
			continue
		}
		text := fmt.Sprintf("execution %s is open", id)
		if l := c.w.leading; l != nil && j.cfg != nil {
			if x, err := l.core.Views().Explain(e.Job); err == nil {
				text += fmt.Sprintf("; explain: %s %q waiting %+v running %+v", x.State, x.Notes,
					x.Waiting[:min(len(x.Waiting), 2)], x.Running[:min(len(x.Running), 2)])
			}
		}
		return text
	}
	return ""
}

// checkStarvation checks that every execution that the cluster can hold is launched in the end (rule L2).
func (c *checker) checkStarvation() {
	w := c.w
	waits := map[string]time.Duration{}
	for _, id := range sorted(c.execs) {
		e := c.execs[id]
		j := c.job(e.Job)
		if e.Ended > 0 || e.Settings != nil || j.cfg == nil || j.off || j.cfg.CPUCount == neverCPUs ||
			!c.notLaunched(j) ||
			c.w.store.entries[pathApps+"/"+j.cfg.AppName].Value == nil || len(c.orphans) > 0 {
			continue
		}
		since, waited := c.waits[id]
		if !waited {
			since = w.now
		}
		waits[id] = since
		if limit := w.longestWait(); w.now-since > limit {
			text := ""
			if x, err := w.leading.core.Views().Explain(e.Job); err == nil {
				text = fmt.Sprintf("%s %q waiting %+v", x.State, x.Notes, x.Waiting[:min(len(x.Waiting), 2)])
			}
			w.fail("L2 what the cluster can hold is launched in the end", "execution %s waits for %s: %s", id,
				w.now-since, text)
		}
	}
	c.waits = waits
}

func (c *checker) notLaunched(j *jobMirror) bool {
	for id := range j.open {
		if c.execs[id].Settings != nil {
			return false
		}
	}
	return true
}

// leftover returns a task, executor, offer or record that should no longer exist when nothing runs any more, or "".
func (c *checker) leftover() string {
	w := c.w
	for _, a := range w.agents {
		for _, id := range sorted(a.tasks) {
			return fmt.Sprintf("agent %s has task %s, %s, %d updates not acknowledged", a.id, id, a.tasks[id].state,
				len(a.tasks[id].updates))
		}
		for _, id := range sorted(a.executors) {
			if a.executors[id].info.Framework == theirFramework {
				continue // the next offer names an executor whose agent was away (rule X3)
			}
			return fmt.Sprintf("agent %s has executor %s, dead %v; in the registry closing: %v", a.id, id,
				a.executors[id].dead, c.executors[id])
		}
	}
	if len(c.live) > 0 {
		return fmt.Sprintf("task %s is in the registry as live", sorted(c.live)[0])
	}
	if len(c.orphans) > 0 {
		return fmt.Sprintf("task %s is an orphan", sorted(c.orphans)[0])
	}
	if len(c.executors) > 0 {
		return fmt.Sprintf("executor %s is in the registry", sorted(c.executors)[0])
	}
	for _, path := range sorted(w.store.entries) {
		if dir, job := splitPath(path); dir == pathNotification {
			return "people are to be notified of job " + job
		}
	}
	if l := w.leading; l != nil && c.isNothingDue() && len(l.watch.held) > 0 {
		return fmt.Sprintf("offer %s is held with nothing due", sorted(l.watch.held)[0])
	}
	return ""
}

// unknownEdit returns a document whose present version the leader does not know, although all edits were reported to
// it.
func (c *checker) unknownEdit() string {
	for _, name := range c.w.users.jobs {
		for _, dir := range []string{pathJobs, pathJobDisabled} {
			entry, there := c.w.store.entries[dir+"/"+name]
			if l := c.w.leading; l != nil && len(l.core.Reloaded(dir+"/"+name, entry, there)) > 0 {
				return fmt.Sprintf("the leader does not know %s/%s as it is", dir, name)
			}
		}
	}
	return ""
}

func (c *checker) isNothingDue() bool {
	for _, e := range c.execs {
		if e.Ended == 0 {
			return false
		}
	}
	return true
}

// checkNothingLeft checks that no task and no executor is left after a drain.
func (c *checker) checkNothingLeft(when string) {
	for _, a := range c.w.agents {
		if a.with != c.w.platform() {
			continue
		}
		for _, id := range sorted(a.tasks) {
			t := a.tasks[id]
			f := t.launch.Executor.Framework
			// The agent itself ends the tasks of a removed framework within their grace. Orphans, which were abandoned,
			// may run until their agent is back.
			if !t.state.Terminal() && f != theirFramework && c.w.removed[f] == nil && c.orphans[id] == "" {
				c.w.fail("O4 nothing is left running", "%s: agent %s has task %s", when, a.id, id)
			}
		}
		for _, id := range sorted(a.executors) {
			if f := a.executors[id].info.Framework; c.w.removed[f] != nil || f == theirFramework ||
				c.endedExecutors[id] || c.orphans[strings.TrimPrefix(id, podExecutor)] != "" {
				continue // it should have ended while its agent was away: the next offer names it (rule X3)
			}
			c.w.fail("O4 nothing is left running", "%s: agent %s has executor %s", when, a.id, id)
		}
	}
}
