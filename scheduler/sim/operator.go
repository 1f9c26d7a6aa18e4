package sim

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// edit changes the registry behind the leader's back, as people do with zkCli.
func (u *users) edit(name string) {
	w := u.w
	path := pathJobs + "/" + name
	e, there := w.store.entries[path]
	if w.rng.IntN(2) == 0 { // somebody else changes it at the same time
		w.after(w.between(0, 100*time.Millisecond), func() { u.disableJob(name, w.rng.IntN(2) == 0) })
		w.after(w.between(0, 100*time.Millisecond), func() { u.updateJob(name) })
	}
	switch n := w.rng.IntN(7); {
	case n == 1, n == 2:
		u.write(path, w.encode(u.job(name)))
	case n == 5:
		u.write(pathJobDisabled+"/"+name, []byte([]string{name, "shutdown"}[w.rng.IntN(2)]))
	case n == 6:
		u.write(pathJobDisabled+"/"+name, nil)
	case !there:
	case n == 0: // a write that changes nothing
		u.write(path, e.Value)
	case n == 3:
		w.count(EditBreaks)
		u.write(path, []byte(`{"jobName":"`+name+`","cron":"every day`))
	case n == 4:
		u.write(path, nil)
	}
}

// write puts a value, or deletes the path without one. The leader hears of it within a second.
func (u *users) write(path string, value []byte) {
	w := u.w
	if _, there := w.store.entries[path]; value == nil && !there {
		return
	}
	w.count(OperatorEdits)
	w.trace.add("an operator writes %s %.300s", path, value)
	if value == nil {
		w.store.remove(path)
	} else {
		w.store.put(path, value)
	}
	index := w.store.index
	w.after(w.between(time.Millisecond, time.Second), func() {
		if l := w.leading; l != nil {
			l.noticed(path, index)
		}
	})
}

// repair makes documents usable again that an operator broke.
func (u *users) repair() {
	for _, name := range u.jobs {
		e, there := u.w.store.entries[pathJobs+"/"+name]
		if _, _, err := jobs.Schema.Decode(e.Value, jobs.Default()); there && err != nil {
			u.write(e.Path, u.w.encode(u.job(name)))
		}
	}
}

// documentsLoaded: a new leader has read all documents, also those that people wrote;
// of one that can't be used he knows no last good one.
func (c *checker) documentsLoaded() {
	for _, j := range c.jobs {
		j.document(nil, c.w.opt.Zone)
	}
	for _, e := range c.w.store.list(pathJobs) {
		c.documentRead(e.Path, e, true)
	}
}

// documentsRead: what a leader has read holds from here on. What a deposed one reads is nobody's.
func (c *checker) documentsRead(l *leader, read []term.Document) {
	for _, doc := range read {
		missing := errors.Is(doc.Err, registry.ErrNotFound)
		if l.term == c.w.store.term && (doc.Err == nil || missing) {
			c.documentRead(doc.Path, doc.Entry, !missing)
			c.w.audits.read(doc.Path, doc.Entry, !missing)
		}
	}
}

// documentRead: the leader has read a path; from here on what is there holds, if it can be used.
func (c *checker) documentRead(path string, entry registry.Entry, there bool) {
	dir, name := splitPath(path)
	if dir != pathJobs {
		return
	}
	if !there {
		c.job(name).document(nil, c.w.opt.Zone)
	} else if cfg, _, err := jobs.Schema.Decode(entry.Value, jobs.Default()); err == nil {
		c.job(name).document(&cfg, c.w.opt.Zone)
	}
}

// maintain plans a maintenance window: offers say so, then the agent is away for a while.
func (w *world) maintain(a *agent) bool {
	if !a.unavailable.IsZero() || w.master.agents[a.id] == nil {
		return false
	}
	ahead := w.between(5*time.Second, 3*time.Minute)
	a.unavailable = w.wall().Add(ahead)
	w.master.rescind(a.id)
	w.master.allocate(time.Millisecond)
	w.after(ahead, func() {
		if a.online() && !w.calm {
			a.stop()
			if w.rng.IntN(2) == 0 {
				a.endAll(true)
			}
		}
		w.after(w.between(time.Minute, 20*time.Minute), func() {
			a.unavailable = time.Time{}
			a.restart()
		})
	})
	return true
}

// forgetSome is an operator who says that a task has ended, right or wrong: one that was
// abandoned is forgotten, a live one is not (rule E5).
func (w *world) forgetSome(l *leader) bool {
	given := true
	task, ok := pick(w, sorted(w.check.orphans))
	if !ok || w.rng.IntN(4) == 0 {
		given = false
		if task, ok = pick(w, sorted(w.check.live)); !ok {
			return false
		}
	}
	if given {
		w.forgotten[task] = true
	}
	l.request(func(token uint64) core.Request {
		return operator.ForgetRequested{Token: token, TaskID: task, Actor: byUser}
	}, func(r core.Reply) {
		switch {
		case r.Err == nil && w.check.live[task] != "":
			w.fail("E5 only what was abandoned is forgotten", "task %s is live", task)
		case r.Err != nil && !given:
			w.count(ForgetRefused)
		}
	})
	return true
}

// cutFromRegistry cuts the leader's connection: commits wait, and the end of the session ends the term if it takes too
// long.
func (l *leader) cutFromRegistry(d time.Duration) {
	w := l.w
	l.cutUntil = w.now + d
	if d < registrySession {
		return
	}
	w.after(registrySession, l.sessionEnds)
	l.soon(d, l.endTerm)
}

// registrySession is the session timeout.
const registrySession = 10 * time.Second
