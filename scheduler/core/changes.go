package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
)

// appChanged takes a committed change of an app (rule T4).
func (c *Core) appChanged(e AppChanged) {
	c.needChanged()
	if !e.MarkOnly {
		delete(c.faulty, under(pathApps, e.Name))
	}
	c.mark(under(pathAppDisabled, e.Name), e.Disabled)
	a := c.apps[e.Name]
	if e.Config == nil {
		if a == nil {
			return
		}
		c.starts.forgetApp(a.name)
		delete(c.apps, e.Name)
		c.applyJobStates(a)
		c.checkObsolete(e.Name)
		return
	}
	if a == nil {
		a = &appState{name: e.Name, jobs: map[string]*jobState{}}
		c.apps[e.Name] = a
		for _, j := range c.jobs {
			if j.cfg != nil && j.cfg.AppName == e.Name {
				a.jobs[j.name] = j
			}
		}
	}
	kind := executorKey(*e.Config)
	if kind != a.executorKey {
		c.starts.forgetApp(a.name)
		c.matchAgain = true
	}
	a.cfg, a.version, a.disabled, a.executorKey, a.notes = *e.Config, e.Version, e.Disabled, kind, e.Notes
	c.applyJobStates(a)
	c.checkObsolete(e.Name)
}

func (c *Core) applyJobStates(a *appState) {
	for _, name := range sortedKeys(a.jobs) {
		c.applyJobState(a.jobs[name])
	}
}

// executorKey names the executors that can run an app's tasks: a changed
// package, script or size makes another kind, and so another generation
// (rule X1, [D14]).
func executorKey(a app.Config) string {
	text, _ := json.Marshal([]any{a.AppURL, a.AppSHA256, a.BootstrapScript, a.Resources(), a.AppCacheEnable})
	return a.AppName + "@" + fingerprint(string(text))
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// jobChanged takes a committed change of a job (rule T4).
func (c *Core) jobChanged(e JobChanged) {
	c.needChanged()
	if !e.MarkOnly {
		delete(c.faulty, under(pathJobs, e.Name))
	}
	c.mark(under(pathJobDisabled, e.Name), e.Disabled)
	j := c.jobs[e.Name]
	if j == nil {
		if e.Config == nil {
			return
		}
		j = &jobState{name: e.Name}
		c.jobs[e.Name] = j
	}
	if old := j.cfg; old != nil && (e.Config == nil || e.Config.AppName != old.AppName) {
		if a := c.apps[old.AppName]; a != nil {
			delete(a.jobs, j.name)
		}
	}
	j.cfg, j.version, j.disabled, j.notes = e.Config, e.Version, e.Disabled, e.Notes
	if j.cfg != nil {
		if a := c.apps[j.cfg.AppName]; a != nil {
			a.jobs[j.name] = j
		}
	}
	c.applyJobState(j)
}

// applyJobState makes the core's state of a job follow its documents and disabled marks. It
// compares with what was stored, not with what was in memory, so that a leader
// that finds a change of which it saw only the document does the same (rule T4).
func (c *Core) applyJobState(j *jobState) {
	if j.cfg != nil && c.apps[j.cfg.AppName] != nil {
		c.apps[j.cfg.AppName].nextDue = time.Time{}
	}
	inactive := c.inactive(j) != active
	want := jobRecord{Inactive: inactive}
	j.schedule = nil
	if j.cfg != nil {
		want.Schedule = j.cfg.Cron + " " + j.cfg.TimeZone
		s, err := c.fires.schedule(*j.cfg, c.opt.Zone)
		if err != nil {
			c.note(Note{Kind: NoteFaulty, Job: j.name, Problem: true, Detail: err.Error()})
		}
		j.schedule = s
	}
	switch {
	case c.isFaulty(j):
		// What runs has its settings and goes on; what waits, waits ([D15]).
		c.fires.timetable.Remove(j.name)
		return
	case j.cfg == nil:
		c.killExecutionsOf(j, "the job was deregistered")
	case inactive:
		c.killExecutionsOf(j, c.inactiveReason(j))
	}
	if j.cfg == nil {
		c.fires.timetable.Remove(j.name)
		c.jobStats.forget(j.name)
		if j.isStored {
			c.dirty.job(j.name)
			j.isStored, j.stored, j.since = false, jobRecord{}, time.Time{}
		}
		c.removeEndedJob(j)
		return
	}
	if !j.isStored || j.stored.Schedule != want.Schedule || j.stored.Inactive != want.Inactive {
		// Registered, enabled, or its schedule changed: fires are made from now (rule F2).
		// Never from an earlier moment than before: the clock may have been ahead, and the fires up to then are made.
		if c.wall.After(j.since) {
			j.since = c.wall
		}
		want.Since, want.Fires = j.since, j.stored.Fires
		j.stored, j.isStored = want, true
		c.dirty.job(j.name)
	}
	if j.schedule != nil && !inactive {
		from := c.fireFrom()
		if !c.loading && j.since.After(from) {
			from = j.since // its own group has nothing to catch up
		}
		c.fires.timetable.Set(j.name, j.schedule, from)
	} else {
		c.fires.timetable.Remove(j.name)
	}
	c.checkOverrides(j)
	c.headOfQueue(j)
	if len(j.queue) > 0 && !j.queue[0].launched() {
		j.queue[0].unplaced = unplaced{} // it may take something else now
		c.matchAgain = true
	}
}

// checkOverrides ends what waits with settings of its own that the job, as it is now, can't be run with: it may have
// fewer shards. With other settings than were asked for it must not run.
func (c *Core) checkOverrides(j *jobState) {
	for _, e := range append([]*execution(nil), j.queue...) {
		if e.launched() || e.Overrides == nil {
			continue
		}
		if bad := e.Overrides.Check(*j.cfg); len(bad) > 0 {
			c.killExecution(e, fmt.Sprintf("its job has changed, and what the trigger asked for no longer fits: %v", bad))
		}
	}
}

// killExecutionsOf ends what waits of a job and wants what runs killed (rule F6).
func (c *Core) killExecutionsOf(j *jobState, reason string) {
	for _, e := range append([]*execution(nil), j.queue...) {
		c.killExecution(e, reason)
	}
}

// fault is what is wrong with a document in the registry ([D15]).
type fault struct {
	why     string
	version int64
	since   time.Time // as far as this leader knows
}

func (c *Core) hasFault(path string) bool { return c.faulty[path].why != "" }

// documentFaulty takes the word that somebody left a document that can't be
// used. The last good one stays in force.
func (c *Core) documentFaulty(e DocumentFaulty) {
	c.note(Note{Kind: NoteFaulty, Detail: e.Path + ": " + e.Why, Problem: true})
	since := c.wall
	if f, ok := c.faulty[e.Path]; ok {
		since = f.since
	}
	c.faulty[e.Path] = fault{e.Why, e.Version, since}
	dir, name := splitPath(e.Path)
	switch dir {
	case pathApps:
		if a := c.apps[name]; a != nil {
			a.version = e.Version
		}
	case pathJobs:
		if j := c.jobs[name]; j != nil {
			j.version = e.Version
		} else {
			c.jobOrRemoved(name) // explain answers for it
		}
	}
}

// isFaulty reports whether the job's document, or its app's, can't be used.
func (c *Core) isFaulty(j *jobState) bool {
	if j.cfg == nil {
		return c.hasFault(under(pathJobs, j.name))
	}
	return c.apps[j.cfg.AppName] == nil && c.hasFault(under(pathApps, j.cfg.AppName))
}

// removeEndedJob forgets a removed job whose executions have ended (rule K2).
func (c *Core) removeEndedJob(j *jobState) {
	if j.cfg == nil && len(j.queue) == 0 && !c.isFaulty(j) {
		delete(c.jobs, j.name)
	}
}

func jobNotFound(name string) *Error {
	return Errorf(NotFound, "job_not_found", "there is no job %q; GET /api/job/jobs lists all", name)
}

func appNotFound(name string) *Error {
	return Errorf(NotFound, "app_not_found", "there is no app %q; GET /api/app/list lists all", name)
}

// appInUse says why an app with jobs cannot be deleted.
func appInUse(name string, jobNames []string) *Error {
	return Errorf(Conflict, "app_has_jobs", "app %q has %s (%s): deregister them first, or delete with ?jobs=true", name, counted(len(jobNames), "job"), someNames(jobNames))
}

func someNames(names []string) string {
	const most = 10
	if len(names) <= most {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
}
