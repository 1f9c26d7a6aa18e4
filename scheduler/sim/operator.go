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

// edit changes the registry externally, as people do with zkCli.
func (u *users) edit(name string) {
	w := u.w
	path := pathJobs + "/" + name
	e, there := w.store.entries[path]
	if w.rng.IntN(2) == 0 { // another user changes it at the same time
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
	case n == 0: // a write without a change
		u.write(path, e.Value)
	case n == 3:
		w.count(EditBreaks)
		u.write(path, []byte(`{"jobName":"`+name+`","cron":"every day`))
	case n == 4:
		u.write(path, nil)
	}
}

// write writes a value, or deletes the path if the value is nil. The leader learns of it within a second.
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
			l.reportEdit(path, index)
		}
	})
}

// repair makes broken documents usable again.
func (u *users) repair() {
	for _, name := range u.jobs {
		e, there := u.w.store.entries[pathJobs+"/"+name]
		if _, _, err := jobs.Schema.Decode(e.Value, jobs.Default()); there && err != nil {
			u.write(e.Path, u.w.encode(u.job(name)))
		}
	}
}

// documentsLoaded records that a new leader has read all documents, including external edits. It knows no valid version
// of a document that is unusable now.
func (c *checker) documentsLoaded() {
	for _, j := range c.jobs {
		j.setDocument(nil, c.w.opt.Zone)
	}
	for _, e := range c.w.store.list(pathJobs) {
		c.documentRead(e.Path, e, true)
	}
}

// documentsRead records that the documents a leader has read are in force. Reads of a deposed leader do not count.
func (c *checker) documentsRead(l *leader, read []term.Document) {
	for _, doc := range read {
		missing := errors.Is(doc.Err, registry.ErrNotFound)
		if l.term == c.w.store.term && (doc.Err == nil || missing) {
			c.documentRead(doc.Path, doc.Entry, !missing)
			c.w.audits.recordRead(doc.Path, doc.Entry, !missing)
		}
	}
}

// documentRead records that the leader has read a path. The document there is in force from then on, if it can be
// used.
func (c *checker) documentRead(path string, entry registry.Entry, there bool) {
	dir, name := splitPath(path)
	if dir != pathJobs {
		return
	}
	if !there {
		c.job(name).setDocument(nil, c.w.opt.Zone)
	} else if cfg, _, err := jobs.Schema.Decode(entry.Value, jobs.Default()); err == nil {
		c.job(name).setDocument(&cfg, c.w.opt.Zone)
	}
}

// maintain schedules a maintenance window: offers announce it, then the agent is away for a while.
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

// forgetSome declares a task as ended, rightly or wrongly, as an operator does. The leader must forget only an orphan,
// never a live task (rule E5).
func (w *world) forgetSome(l *leader) bool {
	isOrphan := true
	task, ok := pick(w, sorted(w.check.orphans))
	if !ok || w.rng.IntN(4) == 0 {
		isOrphan = false
		if task, ok = pick(w, sorted(w.check.live)); !ok {
			return false
		}
	}
	if isOrphan {
		w.forgotten[task] = true
	}
	l.request(operator.ForgetRequested{TaskID: task, Actor: byUser}, func(r core.Reply) {
		switch {
		case r.Err == nil && w.check.live[task] != "":
			w.fail("E5 only what was abandoned is forgotten", "task %s is live", task)
		case r.Err != nil && !isOrphan:
			w.count(ForgetRefused)
		}
	})
	return true
}

// cutFromRegistry cuts the leader off from the registry for a time: commits wait. If the time is longer than the
// session timeout, the session ends, and with it the term.
func (l *leader) cutFromRegistry(d time.Duration) {
	w := l.w
	l.cutUntil = w.now + d
	if d < registrySession {
		return
	}
	w.after(registrySession, l.endSession)
	l.soon(d, l.endTerm)
}

// registrySession is the session timeout.
const registrySession = 10 * time.Second
