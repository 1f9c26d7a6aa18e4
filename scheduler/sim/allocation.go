package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// eachClaim calls claim with the resources of each of the framework's tasks, executors and offers on an agent.
func (m *master) eachClaim(id string, claim func(all resources.Amount, reserved []cluster.Reserved)) {
	for _, t := range m.tasks {
		if t.agent == id && !t.latest.Terminal() {
			claim(t.res, t.reserved)
		}
	}
	for _, x := range m.agents[id].executors {
		claim(x.Resources, x.Reserved)
	}
	for _, o := range m.offers {
		if o.agent == id {
			claim(o.res, o.reserved)
		}
	}
}

// used returns the resources of an agent that tasks, executors, offers and other frameworks take.
func (m *master) used(id string) resources.Amount {
	sum := m.agents[id].other
	m.eachClaim(id, func(all resources.Amount, _ []cluster.Reserved) { sum = sum.Plus(all) })
	return sum
}

func (m *master) makeOffers() {
	if m.w.master != m || m.stream == nil || m.suppressed {
		return
	}
	w := m.w
	var made []cluster.Offer
	for _, id := range sorted(m.agents) {
		k := m.agents[id]
		if !k.connected {
			continue
		}
		free := k.a.total.Minus(m.used(id))
		if free.CPUMilli < 10 || free.MemMilli < 32_000 {
			continue
		}
		if f, ok := m.filters[id]; ok && f.until > w.now && free.Fits(f.res) {
			m.allocate(f.until - w.now + time.Millisecond)
			continue
		}
		w.offerNo++
		o := &offer{id: fmt.Sprintf("offer-%d", w.offerNo), agent: id, res: free, reserved: m.reservedFree(id)}
		m.offers[o.id] = o
		made = append(made, cluster.Offer{ID: o.id, AgentID: id, Hostname: k.a.host,
			AgentURL:  "http://" + k.a.host + ":5051",
			Resources: free, Reserved: o.reserved, ExecutorIDs: sorted(k.executors), Unavailable: k.a.unavailable})
		if !k.a.unavailable.IsZero() {
			w.count(AgentAboutToGo)
		}
	}
	if len(made) > 0 {
		m.send(cluster.Offers{Offers: made})
	}
}

// endOthers ends the use of resources by other frameworks.
func (m *master) endOthers() {
	for _, k := range m.agents {
		k.other = resources.Amount{}
	}
}

func (m *master) revive() {
	m.suppressed = false
	clear(m.filters)
	m.allocate(m.w.between(100*time.Microsecond, 20*time.Millisecond))
}

// accept launches tasks on offers.
func (m *master) accept(a cluster.Launch) {
	w := m.w
	k := m.agents[a.AgentID]
	free, good, stock := resources.Amount{}, k != nil && k.connected, &stock{left: map[string]resources.Amount{}}
	for _, id := range a.OfferIDs {
		o := m.offers[id]
		if o == nil || o.agent != a.AgentID {
			good = false
			continue
		}
		free = free.Plus(o.res)
		stock.add(o)
		delete(m.offers, id)
	}
	if !good {
		w.count(OfferGone)
		for _, t := range a.Tasks {
			m.sendUpdate(cluster.Update{TaskID: t.TaskID, AgentID: a.AgentID, State: cluster.Dropped,
				Reason: cluster.ReasonInvalidOffers, Message: "Offer no longer valid"})
		}
		m.allocate(w.between(time.Millisecond, 100*time.Millisecond))
		return
	}
	started := false
	for _, t := range a.Tasks {
		_, runs := k.executors[t.Executor.ID]
		started = started || !runs
		why := m.taskError(k, t, free, started)
		if why == "" {
			why = m.reservationError(k, t, stock, started)
		}
		if why != "" {
			stock.disturbed = true
			m.sendUpdate(cluster.Update{TaskID: t.TaskID, AgentID: a.AgentID, State: cluster.Error,
				Reason: cluster.ReasonTaskInvalid, Message: why, ExecutorMismatch: why == notCompatible})
			continue
		}
		if !runs {
			if _, again := w.roles[t.Executor.ID]; again {
				stock.disturbed = true
				w.count(ExecutorGoneAtAccept)
			}
			w.roles[t.Executor.ID] = m.role
			free = free.Minus(t.Executor.Resources)
			k.executors[t.Executor.ID] = t.Executor
		}
		free = free.Minus(t.Resources)
		m.tasks[t.TaskID] = &mtask{id: t.TaskID, agent: a.AgentID, executor: t.Executor.ID, res: t.Resources,
			reserved: t.Reserved, state: cluster.Staging, latest: cluster.Staging}
		if runs && w.roll(ExecutorCrashAtLaunch) {
			if x := k.a.executors[t.Executor.ID]; x != nil && k.a.online() {
				k.a.end(x, cluster.ReasonExecutorTerminated, "Executor terminated", 1280)
			}
		}
		m.toAgent(a.AgentID, RunLost, func(ag *agent) { ag.run(t, !runs) })
	}
	stock.check(w, a)
	m.refuse(a.AgentID, free, a.Refuse)
}

// taskError returns why the master rejects a task, or "". The world fails if a correct framework never launches such a
// task.
func (m *master) taskError(k *registeredAgent, t cluster.TaskLaunch, free resources.Amount, started bool) string {
	w := m.w
	if w.roll(MasterRejects) {
		return "the master does not like it"
	}
	if m.tasks[t.TaskID] != nil {
		w.fail("L5 a repeated launch has a new task id", "task %s is launched a second time", t.TaskID)
		return "Task has duplicate ID"
	}
	need := t.Resources
	if x, ok := k.executors[t.Executor.ID]; !ok {
		need = need.Plus(t.Executor.Resources)
	} else if !sameExecutor(x, t.Executor) {
		w.fail("X4 ExecutorInfo is kept byte for byte", "executor %s on %s: %+v, launched with %+v", t.Executor.ID,
			k.a.id, x, t.Executor)
		return notCompatible
	} else if w.roles[t.Executor.ID] != m.role {
		w.fail("X1 an executor of another role is not used again",
			"executor %s on %s has role %q, launched on with %q", t.Executor.ID, k.a.id, w.roles[t.Executor.ID],
			m.role)
		return notCompatible
	} else if w.refused[t.Executor.ID] || w.roll(ExecutorRefused) {
		w.refused[t.Executor.ID] = true
		return notCompatible
	}
	if !need.Fits(free) {
		// An executor that the core wrongly believed to run is charged as well; the ERROR corrects that belief.
		if !started && w.now-k.a.executorLost > time.Minute {
			w.fail("agents are never over-committed", "task %s needs %s on %s, the offers have %s left", t.TaskID,
				need, k.a.id, free)
		}
		return "Total resources required by task and its executor more than available"
	}
	return ""
}

const notCompatible = "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID."

func sameExecutor(a, b cluster.Executor) bool {
	return a.ID == b.ID && a.Framework == b.Framework && a.Name == b.Name && a.Resources == b.Resources &&
		a.BinaryURI == b.BinaryURI &&
		a.Version == b.Version && slices.Equal(a.Command, b.Command) &&
		a.User == b.User && a.ShutdownGrace == b.ShutdownGrace && maps.Equal(a.Environment, b.Environment) &&
		slices.Equal(a.Reserved, b.Reserved)
}
