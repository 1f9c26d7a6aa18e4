package sim

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// cordonSeeds is the remainder by 4 of the seeds of worlds whose machines are cordoned from time to time.
const cordonSeeds = 2

// cordons are the marks of machines that leaders have committed because of an operator's requests.
type cordons struct {
	rng *rand.Rand // separate, so that worlds without cordons stay the same
	// marked are the marked machines, with the end of their cordon, which may be zero.
	marked map[string]time.Time
	// hosts is the machine of each agent that ever was.
	hosts map[string]string
	// stored are the marks as they are stored, by path.
	stored map[string][]byte
	// drained are the tasks that were to be stopped because their machine was drained.
	drained map[string]bool
}

// planCordons makes an operator cordon machines from time to time.
func (w *world) planCordons() {
	if w.cfg.Seed%4 != cordonSeeds {
		return
	}
	w.cordons.rng = rand.New(rand.NewPCG(w.cfg.Seed, 0xc0fd0))
	w.after(w.cordonDelay(time.Minute), w.cordonSome)
}

// cordonDelay returns a random delay up to limit.
func (w *world) cordonDelay(limit time.Duration) time.Duration {
	return time.Second + time.Duration(w.cordons.rng.Int64N(int64(limit)))
}

// cordonSome cordons or drains a machine, with or without an end, or declares one dead. It uncordons the machine later.
func (w *world) cordonSome() {
	if w.calm {
		return
	}
	w.after(w.cordonDelay(2*time.Minute), w.cordonSome)
	rng := w.cordons.rng
	l := w.leading
	if l == nil || l.dead || len(w.agents) == 0 {
		return
	}
	a := w.agents[rng.IntN(len(w.agents))]
	if rng.IntN(3) == 0 {
		if i := slices.IndexFunc(w.agents, func(a *agent) bool { return a.lost || a.cut }); i >= 0 {
			a = w.agents[i]
		}
		w.declareDead(l, a)
		return
	}
	r := operator.CordonRequested{Machine: a.host, Reason: "its disk fails", Force: rng.IntN(2) == 0,
		Actor: byUser}
	if rng.IntN(2) == 0 {
		r.Machine = a.id
		r.Force = false // an unknown id would be taken for a host
	}
	if rng.IntN(3) == 0 {
		r.Until = w.wall().Add(w.cordonDelay(3 * time.Minute))
	}
	if rng.IntN(3) == 0 {
		after := []time.Duration{0, 5 * time.Second, w.cordonDelay(2 * time.Minute)}[rng.IntN(3)]
		w.trace.add("a user drains %s, stops the rest after %s", r.Machine, after)
		l.request(operator.DrainRequested{CordonRequested: r, After: after}, func(reply core.Reply) {
			if reply.Err == nil {
				w.count(MachineDraining)
			}
		})
		w.after(w.cordonDelay(4*time.Minute), func() { w.uncordon(a.host) })
		return
	}
	w.trace.add("a user cordons %s until %s", r.Machine, r.Until)
	l.request(r, func(reply core.Reply) {
		if reply.Err == nil {
			w.count(MachineCordoned)
		}
	})
	w.after(w.cordonDelay(4*time.Minute), func() { w.uncordon(a.host) })
}

// declareDead declares the machine of an agent dead. The operator insists only if the machine is lost. Otherwise the
// leader must reject the request if it has heard of the machine (rule M2).
func (w *world) declareDead(l *leader, a *agent) {
	force := a.lost
	tasks := w.tasksOn(a.host)
	for _, task := range tasks {
		w.forgotten[task] = true // rightly or wrongly
	}
	w.trace.add("a user declares %s dead, by force: %v", a.host, force)
	l.request(operator.DeadRequested{Machine: a.host, Force: force, Actor: byUser}, func(r core.Reply) {
		if r.Err != nil {
			w.count(MachineDeadRefused)
			return
		}
		w.count(MachineDead)
		_, cordoned := w.cordons.marked[a.host]
		for _, task := range w.tasksOn(a.host) {
			if cordoned && slices.Contains(tasks, task) {
				w.fail("M2 everything on a dead machine is over", "task %s", task)
			}
		}
	})
	w.after(w.cordonDelay(4*time.Minute), func() { w.uncordon(a.host) })
}

// tasksOn returns the live tasks and the orphans on a machine.
func (w *world) tasksOn(machine string) (tasks []string) {
	for _, task := range slices.Concat(sorted(w.check.live), sorted(w.check.orphans)) {
		if id, err := jobs.ParseTaskID(task); err == nil && w.cordons.hosts[id.Agent] == machine {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

func (w *world) uncordon(machine string) {
	if l := w.leading; l != nil && !l.dead {
		l.request(operator.UncordonRequested{Machine: machine, Actor: byUser}, nil)
	}
}

// uncordonAll ends all cordons, when the faults have stopped.
func (w *world) uncordonAll() {
	for _, machine := range sorted(w.cordons.marked) {
		w.uncordon(machine)
	}
	if len(w.cordons.marked) > 0 {
		w.after(5*time.Second, w.uncordonAll)
	}
}

// marksCommitted records the marks of machines that a commit changes.
func (c *checker) marksCommitted(writes []registry.Write) {
	for i := range writes {
		dir, machine := splitPath(writes[i].Path)
		switch {
		case dir != pathMachine:
		case writes[i].Delete:
			delete(c.w.cordons.marked, machine)
			delete(c.w.cordons.stored, writes[i].Path)
			c.w.count(MachineUncordoned)
		default:
			var mark struct{ Until, Draining, Drained time.Time }
			if err := json.Unmarshal(writes[i].Value, &mark); err != nil {
				c.w.fail("what is written can be read", "%s: %v", writes[i].Path, err)
			}
			c.w.cordons.marked[machine] = mark.Until
			c.w.cordons.stored[writes[i].Path] = writes[i].Value
			if !mark.Drained.IsZero() {
				c.w.count(MachineDrained)
			}
		}
	}
}

// checkCordon checks that a commit launches no new task on a cordoned machine (rule M1).
func (c *checker) checkCordon(now shardRecord) {
	if now.State != executions.Launching {
		return
	}
	id, err := jobs.ParseTaskID(now.TaskID)
	if err != nil {
		return
	}
	machine := c.w.cordons.hosts[id.Agent]
	if _, cordoned := c.w.cordons.marked[machine]; cordoned {
		c.w.fail("M1 nothing is launched on a cordoned machine", "task %s on %s", now.TaskID, machine)
	}
	if len(c.w.cordons.marked) > 0 {
		c.w.count(LaunchedBesideCordon)
	}
}

// checkDrained checks that a task that is stopped because of a drain is on a machine that is drained (rule M3), and
// records it.
func (c *checker) checkDrained(was, now shardRecord) {
	known := was.TaskID == now.TaskID && was.Kill.Is(reason.Drained)
	if known || !now.Kill.Is(reason.Drained) {
		return // an attempt may be taken back and stopped in one commit
	}
	id, err := jobs.ParseTaskID(now.TaskID)
	if _, marked := c.w.cordons.marked[c.w.cordons.hosts[id.Agent]]; err == nil && !marked {
		c.w.fail("M3 only what is on a drained machine is stopped for that", "task %s", now.TaskID)
	}
	c.w.cordons.drained[now.TaskID] = true
	c.w.count(TaskDrained)
}

// checkMarks checks after a commit that its leader knows the marks that are stored (rule M1).
func (c *checker) checkMarks(l *leader) {
	if l.term != c.w.store.term {
		return // it is deposed
	}
	known := []string{}
	for _, m := range l.core.Views().Machines() {
		known = append(known, m.Machine)
	}
	if stored := sorted(c.w.cordons.marked); !slices.Equal(known, stored) {
		c.w.fail("M1 marks outlive leaders", "stored are %q, the leader has %q", stored, known)
	}
}
