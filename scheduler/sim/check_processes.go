package sim

import (
	"slices"
	"time"
)

// beginProcess records that a process begins, and checks promise 2: nothing runs twice.
func (c *checker) beginProcess(p *process) {
	w := c.w
	w.report.Processes++
	c.checkTakenOver(p)
	if e := c.execs[p.exec]; e != nil {
		p.failover = e.failover()
		switch {
		case !e.done[p.item], w.forgotten[p.task]:
		case p.wasAway, c.orphans[p.task] != "":
			w.count(LateProcess) // the attempt was abandoned, on an agent that was away
		default:
			w.fail("nothing runs twice: what finished has finished", "execution %s, item %d runs again as %s", p.exec,
				p.item, p.task)
		}
	}
	c.checkBeginsOnce(p)
	if p.exclusive {
		c.checkExclusive(p)
	}
	key := shardOf{p.job, p.item}
	for _, old := range c.running[key] {
		switch {
		case w.forgotten[old.task], w.forgotten[p.task]:
			w.count(LateProcess) // an operator declared it as ended
		case old.lingers, old.removed && old.ofOriginal: // no update reported it
			w.count(LateProcess)
		case old.wasAway, c.silentOrphans[old.task] != "", c.besideSilent[[2]string{p.task, old.task}],
			(p.wasAway || c.everSilent[p.task]) && c.orphans[p.task] != "":
			// An abandoned task may begin late.
			w.count(LateProcess)
		default:
			w.fail("nothing runs twice",
				"job %s, item %d: %s begins on %s while %s still runs on %s (execution %s, its agent was away: %v)",
				p.job, p.item, p.task, p.agent, old.task, old.agent, old.exec, old.wasAway)
		}
	}
	c.running[key] = append(c.running[key], p)
	w.trace.add("process of %s begins on %s", p.task, p.agent)
}

// checkBeginsOnce checks that an attempt that may have begun is not repeated unless its job asked for that (rule E1).
// The rule does not cover a task whose agent forgot it when the machine rebooted, nor a task that the drain of its
// machine has ended (rule M3).
func (c *checker) checkBeginsOnce(p *process) {
	e := c.execs[p.exec]
	if e == nil || e.Settings == nil || e.daemon() {
		return
	}
	old := e.begun[p.item]
	e.begun[p.item] = p
	if old == nil || old.ofOriginal || old.forgotten || p.failover || e.Settings.Job.MaxRetries > 0 ||
		c.w.forgotten[old.task] || c.w.cordons.drained[old.task] {
		return
	}
	c.w.fail("E1 what may have begun counts as begun", "execution %s, item %d: %s begins on %s after %s began on %s",
		p.exec, p.item, p.task, p.agent, old.task, old.agent)
}

func (c *checker) endProcess(p *process) {
	delete(c.ofOriginal, p)
	key := shardOf{p.job, p.item}
	c.running[key] = slices.DeleteFunc(c.running[key], func(o *process) bool { return o == p })
	c.w.trace.add("process of %s ends", p.task)
}

// receiveShutdown checks a SHUTDOWN that arrives at an executor, which ends it with all its tasks.
func (c *checker) receiveShutdown(a *agent, x *executor) {
	if c.silent(x.info.ID) {
		return // rule K3
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		if t.executor == x.info.ID && !t.state.Terminal() && c.live[id] != "" {
			c.w.fail("X2 no SHUTDOWN for an executor with live tasks", "executor %s on %s has task %s", x.info.ID,
				a.id, id)
		}
	}
}

// silent reports whether an executor has left a kill unanswered for as long as rule K3 allows.
func (c *checker) silent(executorID string) bool {
	for _, kill := range c.kills {
		given := kill.grace + c.w.opt.KillAnswer - time.Second // the committed time is slightly earlier
		if kill.executor == executorID && c.w.now-kill.since >= given {
			return true
		}
	}
	return false
}
