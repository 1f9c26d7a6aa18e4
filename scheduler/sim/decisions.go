package sim

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// watch is the state of the checks about one leader.
type watch struct {
	held        map[string]heldOffer
	outstanding map[string]int64 // tasks → the unanswered ACCEPT
	seen        map[string]bool  // tasks that the session reported
	session     int64
	decidedAt   time.Time // the wall clock at its last step
	idle        int       // the number of last steps that did nothing
	idleSince   time.Duration
	acks        []cluster.Update     // updates of the last step that must be acknowledged
	reused      []string             // launches on executors that have ended
	failures    []string             // executors whose end was reported
	leaving     map[string]time.Time // agents with planned maintenance, and its begin
	away        map[string]bool      // tasks whose agent is away according to the last report of the session
	// back are the agents that have reported or were on offer since they were last reported as unreachable.
	back         map[string]bool
	unorphaned   map[string]bool          // orphans that the present decision removes
	forgotten    []string                 // tasks that an event of the present step declares ended
	heard        map[string]time.Duration // when each executor last reported
	sessionBegan time.Duration
}

// heldOffer is an offer that the leader has neither used nor declined.
type heldOffer struct {
	agent string
	since time.Duration
}

func (v *watch) reset() {
	*v = watch{decidedAt: v.decidedAt, held: map[string]heldOffer{}, outstanding: map[string]int64{},
		seen: map[string]bool{}, leaving: map[string]time.Time{}, away: map[string]bool{}, back: map[string]bool{},
		heard: v.heard}
	if v.heard == nil {
		v.heard = map[string]time.Duration{}
	}
}

// checkDecision checks a decision before it is committed.
func (c *checker) checkDecision(l *leader, events []core.Event, d *core.Decision) {
	w, v := c.w, &l.watch
	v.decidedAt = w.wall()
	w.mixDecision(events, d)
	clock := w.wall().Format("15:04:05.000")
	w.trace.add("leader %d steps (%d) at %s with %d events: %s", l.no, w.report.Steps, clock, len(events),
		shown{events})
	v.acks, v.forgotten = v.acks[:0], v.forgotten[:0]
	for _, e := range events {
		switch e := e.(type) {
		case core.SessionBegan:
			v.reset()
			v.session, v.sessionBegan = e.Session, w.now
		case core.SessionEnded:
			if e.Session == v.session {
				clear(v.held)
				v.session = -1
			}
		case core.LaunchAnswered:
			maps.DeleteFunc(v.outstanding, func(_ string, seq int64) bool { return seq == e.Seq })
		case core.Request:
			if forget, ok := e.Event.(operator.ForgetRequested); ok {
				delete(c.alive, forget.TaskID) // an operator declared that it has ended
				v.forgotten = append(v.forgotten, forget.TaskID)
			}
		case core.ClusterEvent:
			if e.Session == v.session {
				c.checkClusterEvent(l, e.Event)
			}
		}
	}
	if len(events) == 0 && len(d.Writes) == 0 && len(d.Calls) == 0 {
		if v.idle == 0 {
			v.idleSince = w.now
		}
		if v.idle++; v.idle > 100 && w.now-v.idleSince < 10*time.Second {
			w.fail("the core does not spin", "%d steps in %s did nothing; it wants to wake at %s, now it is %s",
				v.idle, w.now-v.idleSince, d.Wake, w.wall())
		}
	} else {
		v.idle = 0
	}
	fires := 0
	for _, n := range d.Notes {
		w.trace.add("  note %s job=%s exec=%s task=%s %s", n.Kind, n.Job, n.Execution, n.Task, n.Text())
		switch n.Kind {
		case step.NoteExecutionCreated:
			fires++
		case step.NoteExecutionEnded:
			c.endNoted[n.Execution] = true // it may be displaced from the ring in the same step
		}
	}
	if fires > 2 {
		w.count(ManyFiresAtOnce)
	}
	for _, u := range v.acks {
		if !slices.ContainsFunc(d.Calls, func(call step.Call) bool {
			a, ok := call.(step.CallAcknowledge)
			return ok && a.Ack.TaskID == u.TaskID && bytes.Equal(a.Ack.UUID, u.UUID)
		}) {
			w.fail("S3 every update with a uuid is acknowledged", "task %s, %s", u.TaskID, u.State)
		}
	}
	v.unorphaned = map[string]bool{}
	for i := range d.Writes {
		if dir, name := splitPath(d.Writes[i].Path); dir == pathOrphan && d.Writes[i].Delete {
			v.unorphaned[name] = true
		}
	}
	for _, call := range d.Calls {
		c.checkDecidedCall(l, call)
	}
	c.checkHeldLong(l)
	c.checkHeldForNothing(l, d)
}

// checkClusterEvent checks an event that the cluster reported before this step.
func (c *checker) checkClusterEvent(l *leader, e cluster.Event) {
	v := &l.watch
	switch e := e.(type) {
	case cluster.Offers:
		for _, o := range e.Offers {
			v.held[o.ID] = heldOffer{o.AgentID, c.w.now}
			v.back[o.AgentID] = true
			v.leaving[o.AgentID] = o.Unavailable
		}
	case cluster.Rescind:
		delete(v.held, e.OfferID)
	case cluster.Message:
		if e.Heartbeat {
			v.heard[e.ExecutorID] = c.w.now
			if l.term == c.w.store.term && slices.Contains(slices.Collect(maps.Values(c.silentOrphans)), e.ExecutorID) {
				c.w.count(HeardAfterGivenUp)
			}
		}
	case cluster.Update:
		v.seen[e.TaskID] = true
		if e.Source == cluster.FromExecutor {
			v.heard[e.ExecutorID] = c.w.now
		}
		if e.Source != cluster.FromMaster {
			v.back[e.AgentID] = true
		}
		v.away[e.TaskID] = e.State == cluster.Unknown ||
			e.State == cluster.Unreachable && (e.KillStored || c.w.api == nil)
		removed := e.State == cluster.Gone && e.Reason == cluster.ReasonAgentRemoved // no agent returns with that id
		if e.State == cluster.Unreachable || removed {
			delete(v.back, e.AgentID)
		}
		if l.term == c.w.store.term {
			c.recordStaged(e)
		}
		// Updates to a deposed leader do not count. If the executor of a task is silent, a master that reports the
		// task as alive only remembers it, so that does not count either.
		alive := e.State == cluster.Running || e.State == cluster.Starting || e.State == cluster.Staging
		remembered := alive && c.silentOrphans[e.TaskID] != "" && e.Source == cluster.FromMaster
		kept := c.orphans[e.TaskID] != "" && !slices.Contains(v.forgotten, e.TaskID)
		switch {
		case !kept || l.term != c.w.store.term || remembered:
		case alive:
			c.alive[e.TaskID] = l.term
		default:
			delete(c.alive, e.TaskID)
		}
		// The core asks about an agent with the id of an invented task (agents.Set.Ask). This answer means that the
		// agent is away.
		if strings.HasPrefix(e.TaskID, "question-") && e.State != cluster.Gone &&
			!strings.Contains(e.Message, "to the agent") && l.term == c.w.store.term {
			for orphan, agent := range c.orphans { // orphans of a removed framework
				if agent == e.AgentID {
					v.away[orphan] = true
					delete(v.back, agent)
					delete(c.alive, orphan)
				}
			}
		}
		if len(e.UUID) > 0 {
			v.acks = append(v.acks, e)
		}
	case cluster.Failure:
		if e.ExecutorID != "" {
			v.failures = append(v.failures, e.ExecutorID)
			return
		}
		delete(v.back, e.AgentID)
		// The offers of a lost agent are void.
		maps.DeleteFunc(v.held, func(_ string, o heldOffer) bool { return o.agent == e.AgentID })
	}
}

// checkDecidedCall checks a call of a decision before the decision is committed.
func (c *checker) checkDecidedCall(l *leader, call step.Call) {
	w, v := c.w, &l.watch
	switch call := call.(type) {
	case step.CallLaunch:
		a := call.Launch
		if at := v.leaving[a.AgentID]; !at.IsZero() && at.Sub(w.wall()) < 30*time.Minute {
			w.fail("nothing is placed on an agent before its maintenance", "ACCEPT %d on %s, closed at %s", call.Seq,
				a.AgentID, at)
		}
		if n := a.Size(); n > w.opt.LaunchBytes && len(a.Tasks) > 1 {
			w.fail("L3 no call is larger than the cluster takes",
				"ACCEPT %d launches %d tasks of %d bytes on %s, at most %d", call.Seq, len(a.Tasks), n, a.AgentID,
				w.opt.LaunchBytes)
		}
		c.checkOffersUsed(l, call, a.OfferIDs)
		for _, t := range a.Tasks {
			if described, err := t.Description(); err != nil || len(described) > t.Size {
				w.fail("L3 no task is larger than its estimate", "ACCEPT %d: %s takes %d bytes, not %d (%v)", call.Seq,
					t.TaskID, len(described), t.Size, err)
			}
			for orphan, term := range c.alive {
				// A leader knows what an earlier one has seen only from its commits. The launch of a deposed leader is
				// never sent, so it is not checked.
				known := term == l.term || c.seenAlive[orphan]
				// That of a removed framework has ended after a time, without a report (rule T7).
				waited := v.unorphaned[orphan] && c.removedBy[orphan] != ""
				if known && !waited && sameShard(orphan, t.TaskID) && !c.staysStaged(orphan) && l.term == w.store.term {
					w.fail("E5 an orphan seen alive has ended before its shard starts again", "orphan %s, launched %s",
						orphan, t.TaskID)
				}
			}
			for orphan, agent := range c.orphans {
				agentAway := v.away[orphan] && !v.back[agent]
				staged := v.seen[orphan] && c.staysStaged(orphan)
				silent := c.silentOrphans[orphan] != "" && v.silentFor(c.silentOrphans[orphan], w.now) >= silence
				if silent && sameShard(orphan, t.TaskID) {
					c.besideSilent[[2]string{t.TaskID, orphan}] = true
				}
				permitted := agentAway || staged || silent || v.unorphaned[orphan]
				if !permitted && sameShard(orphan, t.TaskID) && l.term == w.store.term {
					w.fail("E5 no shard starts while its orphan's agent is reachable",
						"orphan %s, launched %s", orphan, t.TaskID)
				}
			}
			if c.endedExecutors[t.Executor.ID] {
				v.reused = append(v.reused, t.TaskID+" on "+t.Executor.ID)
			}
			v.outstanding[t.TaskID] = call.Seq
		}
	case step.CallDecline:
		c.checkOffersUsed(l, call, call.Offers)
	case step.CallKill:
		c.checkTaskKnown(l, "KILL", call.Kill.TaskID)
	case step.CallReconcile:
		for _, t := range call.Tasks {
			c.checkTaskKnown(l, "RECONCILE", t.TaskID)
		}
	}
}

// checkOffersUsed checks that offers are held, and removes them from those that are.
func (c *checker) checkOffersUsed(l *leader, call step.Call, offers []string) {
	for _, id := range offers {
		if _, ok := l.watch.held[id]; !ok {
			c.w.fail("only offers that are held are used", "%s uses %s", shown{call}, id)
		}
		delete(l.watch.held, id)
	}
}

// checkTaskKnown checks that a call names no task before its ACCEPT was answered (rule L4).
func (c *checker) checkTaskKnown(l *leader, what, task string) {
	if seq, ok := l.watch.outstanding[task]; ok && !l.watch.seen[task] {
		c.w.fail("L4 nothing names a task before its ACCEPT was answered or voided",
			"%s names %s, whose ACCEPT %d has no answer", what, task, seq)
	}
}

// afterDecision checks the registry once all parts are committed.
func (c *checker) afterDecision(l *leader) {
	for _, u := range l.watch.acks {
		c.checkEndCommitted(u)
	}
	for _, what := range l.watch.reused {
		c.w.fail("X1 an executor's id is never used again",
			"launched %s, an executor that has ended or is being ended", what)
	}
	l.watch.reused = nil
	for _, id := range l.watch.failures {
		c.endedExecutors[id] = true
	}
	l.watch.failures = nil
}

// checkEndCommitted checks that an acknowledgement of an end leaves only after the end is in the registry (S3).
func (c *checker) checkEndCommitted(u cluster.Update) {
	if u.State.Terminal() && c.live[u.TaskID] != "" {
		c.w.fail("S3 an update is acknowledged after its consequence is committed",
			"task %s is %s, the registry has it as live", u.TaskID, u.State)
	}
}

// recordCall checks a launch that is sent, and records its executors.
func (c *checker) recordCall(l *leader, call step.Call) {
	if a, ok := call.(step.CallLaunch); ok {
		for _, t := range a.Launch.Tasks {
			if old, ok := c.infos[t.Executor.ID]; ok && !sameExecutor(old, t.Executor) {
				c.w.fail("X4 ExecutorInfo is kept byte for byte", "%+v, then %+v", old, t.Executor)
			}
			c.infos[t.Executor.ID] = t.Executor
			if c.live[t.TaskID] == "" && l.term == c.w.store.term {
				c.w.fail("write, then act", "ACCEPT launches %s, which is not committed", t.TaskID)
			}
		}
	}
}

// checkHeldForNothing checks that no offer is held when no execution waits and no fire is due soon.
func (c *checker) checkHeldForNothing(l *leader, d *core.Decision) {
	w := c.w
	if len(l.watch.held) == 0 || !c.isNothingDue() || w.now-w.lastJump < time.Minute || l.term != w.store.term {
		return // a deposed leader does not know what its successor has removed
	}
	for i := range d.Writes {
		if !d.Writes[i].Delete {
			return // a write may create an execution that waits
		}
	}
	// A declined offer is back within twice OfferAhead, however slow the master is.
	soon := w.wall().Add(2*w.opt.OfferAhead + time.Second)
	for _, j := range c.jobs {
		if j.cfg == nil || j.schedule == nil || j.off || !j.stored {
			continue
		}
		if next := j.schedule.Next(latest(c.cursor, j.since).Add(-time.Second)); !next.IsZero() && !next.After(soon) {
			return
		}
	}
	first := sorted(l.watch.held)[0]
	w.fail("no offer is held that nothing needs", "offer %s, held for %s", first, w.now-l.watch.held[first].since)
}

// checkHeldLong checks that offers are not hoarded (promise 6). The offers of a deposed leader are void.
func (c *checker) checkHeldLong(l *leader) {
	w := c.w
	deposed := l.term != w.store.term
	if w.now-l.lastPause < 10*time.Second || w.now-w.lastJump < 3*time.Minute || l.paused || deposed {
		return
	}
	limit := w.opt.OfferHold + 8*time.Second // a slow commit may take place in between
	long := false
	for _, o := range l.watch.held {
		long = long || w.now-o.since > limit
	}
	if !long {
		return
	}
	for _, e := range c.execs {
		waited := l.termTime().Sub(e.Made)
		if e.since < l.loadedAt {
			// The clock may have been set back since the execution was made, but it has waited since this leader
			// began.
			waited = max(waited, w.now-l.loadedAt)
		}
		if e.Settings == nil && e.Ended == 0 && waited >= w.opt.ReserveAfter {
			if w.lastJump > 0 {
				return // the durations of shards are computed with a clock that was set meanwhile
			}
			limit = c.longestRun() + w.opt.ReserveBeyond + w.opt.OfferHold + 8*time.Second // reserved (rule L2)
		}
	}
	for _, id := range sorted(l.watch.held) {
		if age := w.now - l.watch.held[id].since; age > limit {
			w.fail("no offer is hoarded", "%s is held for %s", id, age)
		}
	}
}

// longestRun returns the longest time that a task was live so far, without tasks of daemons, which stay.
func (c *checker) longestRun() time.Duration {
	longest := c.longest
	for id := range c.live {
		if e := c.execs[c.live[id]]; e == nil || !e.daemon() {
			longest = max(longest, c.w.now-c.liveSince[id])
		}
	}
	return longest
}

// sameShard reports whether two task ids belong to one shard of one job.
func sameShard(a, b string) bool {
	x, err1 := jobs.ParseTaskID(a)
	y, err2 := jobs.ParseTaskID(b)
	return err1 == nil && err2 == nil && x.Job == y.Job && x.Item == y.Item
}
