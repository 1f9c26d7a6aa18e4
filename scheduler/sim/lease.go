package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// exclusive reports whether the jobs of the world are exclusive (rule K5).
func (w *world) exclusive() bool { return w.cfg.Seed%5 == 2 }

// unleased reports whether the exclusive tasks of the world can't ask for leases, as on a Kubernetes without
// --lease-urls.
func (w *world) unleased() bool { return w.cfg.Pods && w.cfg.Seed/5%4 == 0 }

// makeExclusive makes the jobs of some worlds exclusive.
func (w *world) makeExclusive(cfg *jobs.Config) {
	if w.exclusive() {
		cfg.Exclusive, cfg.LeaseSeconds = true, []int{10, 20, 60}[w.cfg.Seed/5%3]
		if w.firesRarely() && cfg.JobExecutionType == jobs.Transient && cfg.Cron != "" {
			cfg.Cron = "0 0/5 * * * ?" // so rarely that a leader without a registry has nothing to commit for minutes
		}
	}
}

// firesRarely reports whether little happens in a world with exclusive jobs.
func (w *world) firesRarely() bool { return w.cfg.Seed/15%2 == 1 }

// The clock of an executor's machine runs at these rates, compared with the leader's. The slowest is that of a clock
// that is slewed by -9 percent, compared with one that is slewed by 9 percent.
var clockRates = []float64{0.91 / 1.09, 1, 1.09 / 0.91}

// holder is an executor, or a task with an executor of its own, that asks for leases.
type holder struct {
	a      *agent
	x      *executor
	rate   float64
	start  uint64
	number uint64
	term   int64
	// askedAt has the times of its requests by their numbers.
	askedAt map[uint64]time.Duration
	tasks   map[string]*hold
	// It reaches only that leader, or none, until a time.
	only  *leader
	until time.Duration
}

// hold is the lease of a task.
type hold struct {
	t     *task
	until time.Duration // zero before the first lease
	begin func()        // begins the task with its first lease; nil once that was done
}

// local returns how long a duration of the holder's clock takes.
func (h *holder) local(d time.Duration) time.Duration { return time.Duration(float64(d) / h.rate) }

// beginWithLease begins an exclusive task once it has a lease. It returns false for any other task.
func (a *agent) beginWithLease(x *executor, t *task) bool {
	grant := t.wire.Lease
	if grant == nil {
		return false
	}
	w := a.w
	h := x.holders[grant.Holder]
	if h == nil {
		w.holders++
		h = &holder{a: a, x: x, rate: clockRates[w.rng.IntN(len(clockRates))], start: w.holders,
			askedAt: map[uint64]time.Duration{}, tasks: map[string]*hold{}}
		if x.holders == nil {
			x.holders = map[string]*holder{}
		}
		x.holders[grant.Holder] = h
	}
	if of := h.tasks[t.launch.TaskID]; of != nil {
		return of.until <= w.now // with a lease it begins
	}
	h.tasks[t.launch.TaskID] = &hold{t: t, begin: func() { a.begin(x, t) }}
	if len(h.tasks) == 1 {
		h.ask(grant)
	}
	return true
}

// ask asks for the leases of all tasks of the holder, and goes on until none is left.
func (h *holder) ask(grant *lease.Grant) {
	w := h.a.w
	r := lease.Request{Holder: grant.Holder, Start: h.start}
	for _, id := range sorted(h.tasks) {
		of := h.tasks[id]
		if of.t.state.Terminal() || of.begin == nil && of.t.process == nil {
			delete(h.tasks, id)
			continue
		}
		r.Tasks = append(r.Tasks, id)
	}
	if len(r.Tasks) == 0 || h.x.dead || h.a.lost {
		return
	}
	w.after(h.local(lease.Renewal(time.Duration(grant.Seconds)*time.Second)), func() { h.ask(grant) })
	if h.x.stopped {
		return
	}
	h.number++
	r.Number = h.number
	h.askedAt[h.number] = w.now
	l := h.leader()
	if l == nil || l.dead {
		w.count(LeaseUnanswered)
		return
	}
	r.Term = h.term
	for range 1 + w.leaseChance(10, 10) {
		w.after(w.leaseLatency(), func() { l.answerLeases(h, core.LeaseRequested{Request: r}) })
	}
}

// leader returns the leader that the holder reaches. A network may be cut: between the machine and all leaders or all
// but one, perhaps deposed; often also between the machine and the master, and between that leader and all others.
func (h *holder) leader() *leader {
	w := h.a.w
	if w.calm {
		return w.leading
	}
	if h.until <= w.now && w.leaseChance(60, 20) == 1 {
		h.only, h.until = nil, w.now+w.between(0, 5*time.Minute)
		split := w.rng.IntN(3) == 0 // the machine and the leader are on one side, all others on the other
		if split || w.rng.IntN(2) == 0 {
			h.only = w.leading
		}
		if a := h.a; a.online() && (split || w.rng.IntN(2) == 0) {
			a.cut = true
			a.disconnect()
			w.after(h.until-w.now, a.repair)
		}
		if l := w.leading; l != nil && (split || w.rng.IntN(2) == 0) {
			l.isolate(h.until - w.now)
		}
	}
	if h.until > w.now {
		return h.only
	}
	return w.leading
}

// isolate cuts the leader from the registry and the master. It believes for that time that it leads.
func (l *leader) isolate(d time.Duration) {
	if s := l.session; s != nil {
		s.stream.slowUntil = l.w.now + d
	}
	l.cutFromRegistry(d)
}

// answerLeases answers a request for leases after the registry has confirmed the leader's term.
func (l *leader) answerLeases(h *holder, r core.LeaseRequested) {
	w := l.w
	if l.dead {
		return
	}
	l.request(r, func(reply core.Reply) {
		if reply.Lease == nil {
			return
		}
		l.soon(w.latency(), func() {
			switch {
			case l.term == w.store.term:
			case w.cfg.Bug != AnswersUnconfirmed:
				w.count(LeaseOfDeposed)
				return
			}
			for range 1 + w.leaseChance(10, 10) {
				w.after(w.leaseLatency(), func() { h.answered(reply.Lease) })
			}
		})
	})
}

// answered applies an answer. It may be late, and come twice.
func (h *holder) answered(a *lease.Answer) {
	w := h.a.w
	if h.x.stopped {
		h.x.deferred = append(h.x.deferred, func() { h.answered(a) })
		return
	}
	if a.Start != h.start {
		w.fail("K5 an answer is for its holder", "%+v", a)
		return
	}
	if a.Term < h.term || h.x.dead || h.a.lost {
		return
	}
	h.term = a.Term
	from := h.askedAt[a.Number]
	if w.cfg.Bug == LeaseFromAnswer {
		from = w.now
	}
	for _, id := range a.Granted {
		of := h.tasks[id]
		if of == nil {
			continue
		}
		until := from + h.local(time.Duration(of.t.wire.Lease.Seconds)*time.Second)
		if until <= max(w.now, of.until) {
			continue
		}
		of.until = until
		w.after(until-w.now, func() { h.expire(of, until) })
		if begin := of.begin; begin != nil {
			of.begin = nil
			begin()
		}
	}
	for _, id := range a.Ended {
		if of := h.tasks[id]; of != nil {
			h.end(of, "the scheduler has ended it")
		}
	}
}

// expire ends the task if its lease was not renewed. The supervisor does that, even if the executor is stopped.
func (h *holder) expire(of *hold, until time.Duration) {
	if w := h.a.w; of.until == until && of.t.process != nil {
		w.count(LeaseRanOut)
		h.end(of, "its lease has ended")
	}
}

// end ends the task's process within its grace and the time that this may take.
func (h *holder) end(of *hold, why string) {
	a, w, p := h.a, h.a.w, of.t.process
	delete(h.tasks, of.t.launch.TaskID)
	grace := time.Duration(of.t.wire.KillGraceMillis) * time.Millisecond
	wait := h.local(grace) + 5*time.Second - time.Millisecond
	if w.rng.IntN(2) == 0 {
		wait = w.between(time.Millisecond, wait)
	}
	if p == nil {
		wait = time.Millisecond
	}
	w.after(wait, func() {
		if of.t.process != p || of.t.state.Terminal() {
			return
		}
		a.processEnds(of.t)
		if !h.x.dead && !a.lost {
			a.reportFromExecutor(of.t, cluster.Killed, why)
		}
	})
}

// leaseLatency is how long a message about leases is on its way: mostly as long as others, sometimes for longer than a
// lease, so that messages overtake each other.
func (w *world) leaseLatency() time.Duration {
	if w.leaseChance(20, 5) == 1 {
		return w.between(time.Second, 2*time.Minute)
	}
	return w.latency()
}

// leaseChance returns 1 once in n calls, or once in rough calls where little else happens, else 0. It returns 0 after
// the faults.
func (w *world) leaseChance(n, rough int) int {
	if w.firesRarely() && w.cfg.Seed/60%2 == 0 {
		n = rough
	}
	if !w.calm && w.rng.IntN(n) == 0 {
		return 1
	}
	return 0
}

// checkExclusive checks that no process of an exclusive shard begins while another one runs.
func (c *checker) checkExclusive(p *process) {
	for _, old := range c.running[shardOf{p.job, p.item}] {
		if old.exclusive && !c.w.forgotten[old.task] && !c.w.forgotten[p.task] {
			c.w.fail("K5 no two processes of an exclusive shard run at once", "%s begins on %s while %s runs on %s",
				p.task, p.agent, old.task, old.agent)
		}
	}
	if e := c.execs[p.exec]; e != nil && e.done[p.item] && !c.w.forgotten[p.task] {
		c.w.fail("K5 no exclusive shard begins late", "%s begins on %s after its end", p.task, p.agent)
	}
}
