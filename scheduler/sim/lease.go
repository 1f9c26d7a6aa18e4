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
			cfg.Cron = "0 0/5 * * * ?" // so rarely that a leader cut off from the registry commits nothing for minutes
		}
	}
}

// firesRarely reports whether little happens in a world with exclusive jobs.
func (w *world) firesRarely() bool { return w.cfg.Seed/15%2 == 1 }

// clockRates are the rates of the clock of an executor's machine, relative to the leader's clock. The extreme rates
// occur when one of the two clocks is slewed by 9 percent, and the other by -9 percent.
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
	tasks   map[string]*taskLease
	// Before the time until, the holder reaches only this leader, or none.
	only  *leader
	until time.Duration
}

// taskLease is the lease of a task.
type taskLease struct {
	t     *task
	until time.Duration // zero before the first lease
	begin func()        // begins the task with its first lease; nil once that was done
}

// local returns how long a duration of the holder's clock takes.
func (h *holder) local(d time.Duration) time.Duration { return time.Duration(float64(d) / h.rate) }

// beginWithLease makes an exclusive task begin once it has a lease. It returns false if the caller may begin the task
// now, because it has a lease or is not exclusive.
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
			askedAt: map[uint64]time.Duration{}, tasks: map[string]*taskLease{}}
		if x.holders == nil {
			x.holders = map[string]*holder{}
		}
		x.holders[grant.Holder] = h
	}
	if tl := h.tasks[t.launch.TaskID]; tl != nil {
		return tl.until <= w.now // with a lease the task begins now
	}
	h.tasks[t.launch.TaskID] = &taskLease{t: t, begin: func() { a.begin(x, t) }}
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
		tl := h.tasks[id]
		if tl.t.state.Terminal() || tl.begin == nil && tl.t.process == nil {
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

// leader returns the leader that the holder reaches, or nil. Sometimes it cuts the network between the holder's machine
// and all leaders, or all but one, which may be deposed later. Then it often also cuts the machine off from the master,
// and that leader off from the registry and the master.
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

// isolate cuts the leader off from the registry and the master for a time, in which it believes that it leads.
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

// answered applies an answer, which may be late, and may come twice.
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
		tl := h.tasks[id]
		if tl == nil {
			continue
		}
		until := from + h.local(time.Duration(tl.t.wire.Lease.Seconds)*time.Second)
		if until <= max(w.now, tl.until) {
			continue
		}
		tl.until = until
		w.after(until-w.now, func() { h.expire(tl, until) })
		if begin := tl.begin; begin != nil {
			tl.begin = nil
			begin()
		}
	}
	for _, id := range a.Ended {
		if tl := h.tasks[id]; tl != nil {
			h.end(tl, "the scheduler has ended it")
		}
	}
}

// expire ends the task if its lease was not renewed until then. The supervisor does this even if the executor is
// stopped.
func (h *holder) expire(tl *taskLease, until time.Duration) {
	if w := h.a.w; tl.until == until && tl.t.process != nil {
		w.count(LeaseRanOut)
		h.end(tl, "its lease has ended")
	}
}

// end ends the task's process within its grace period and the time that the kill itself may take.
func (h *holder) end(tl *taskLease, why string) {
	a, w, p := h.a, h.a.w, tl.t.process
	delete(h.tasks, tl.t.launch.TaskID)
	grace := time.Duration(tl.t.wire.KillGraceMillis) * time.Millisecond
	wait := h.local(grace) + 5*time.Second - time.Millisecond
	if w.rng.IntN(2) == 0 {
		wait = w.between(time.Millisecond, wait)
	}
	if p == nil {
		wait = time.Millisecond
	}
	w.after(wait, func() {
		if tl.t.process != p || tl.t.state.Terminal() {
			return
		}
		a.processEnds(tl.t)
		if !h.x.dead && !a.lost {
			a.reportFromExecutor(tl.t, cluster.Killed, why)
		}
	})
}

// leaseLatency returns the latency of a message about leases. It is mostly like that of other messages, but sometimes
// longer than a lease, so that messages overtake each other.
func (w *world) leaseLatency() time.Duration {
	if w.leaseChance(20, 5) == 1 {
		return w.between(time.Second, 2*time.Minute)
	}
	return w.latency()
}

// leaseChance returns 1 with the probability 1/n, or 1/rough in some of the worlds in which little happens, and else 0.
// It returns 0 after the faults have stopped.
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
