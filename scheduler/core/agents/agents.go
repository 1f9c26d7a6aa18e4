// Package agents holds what the scheduler knows about each agent: whether the master has it registered, its address,
// its capacity, its maintenance window, its attributes and the error of its clock.
//
// All of this comes from reports of the cluster and of executors, and only the methods of Set change it. Nothing is
// stored: a new term learns it again from offers and status updates. The package decides neither what is placed on an
// agent nor what happens to tasks there.
package agents

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Set holds every agent that was seen. These hold between any two calls of its methods:
//
//   - excludable has at least the ids of the agents with a maintenanceStart and of the silent ones;
//   - byHost has, by host name, the ids of the agents with that host name, except "";
//   - questions has, by the task that was invented for it, the id of every agent with a question.
type Set struct {
	shared     *step.Shared
	byID       map[string]*Agent
	excludable map[string]bool
	byHost     map[string][]string
	questions  map[string]string
	// returned has the agents that have registered since TakeReturned was last called.
	returned map[string]bool
	// allClosed is the reason why no agent takes tasks, none if one does or no agent is known.
	allClosed reason.Reason
	// capacities counts the changes of capacities and of the set of known agents.
	capacities int64
	// attributes counts the changes of the attributes of any agent.
	attributes int64
}

// New returns a Set without agents.
func New(s *step.Shared) *Set {
	return &Set{shared: s, byID: map[string]*Agent{}, excludable: map[string]bool{}, byHost: map[string][]string{},
		questions: map[string]string{}, returned: map[string]bool{}}
}

// Get returns the agent with that id, or nil if it was never seen or is forgotten.
func (as *Set) Get(id string) *Agent { return as.byID[id] }

// All iterates over the agents by id, in no order.
func (as *Set) All() iter.Seq2[string, *Agent] { return maps.All(as.byID) }

// Len is the number of known agents, including those that are away.
func (as *Set) Len() int { return len(as.byID) }

// OnHost lists the ids of the known agents of a machine, sorted. The list must not be changed.
func (as *Set) OnHost(host string) []string { return as.byHost[host] }

// setHost records the host name of an agent; "" changes nothing.
func (as *Set) setHost(a *Agent, host string) {
	if host == "" || a.host == host {
		return
	}
	as.dropHost(a)
	a.host = host
	at, _ := slices.BinarySearch(as.byHost[host], a.id)
	as.byHost[host] = slices.Insert(slices.Clone(as.byHost[host]), at, a.id)
}

// dropHost removes an agent from byHost.
func (as *Set) dropHost(a *Agent) {
	left := slices.DeleteFunc(slices.Clone(as.byHost[a.host]), func(id string) bool { return id == a.id })
	if as.byHost[a.host] = left; len(left) == 0 {
		delete(as.byHost, a.host)
	}
}

// IDs lists the ids of all known agents, sorted.
func (as *Set) IDs() []string { return step.SortedKeys(as.byID) }

// AgentOfQuestion returns the agent that the invented task taskID asks about (see Ask), and false for any other task.
func (as *Set) AgentOfQuestion(taskID string) (agentID string, is bool) {
	agentID, is = as.questions[taskID]
	return agentID, is
}

// TakeReturned returns the ids of the agents that have registered since the last call, and forgets them. The caller
// reconciles the tasks there, because the master may report nothing more of them by itself.
func (as *Set) TakeReturned() map[string]bool {
	back := as.returned
	if len(back) > 0 {
		as.returned = map[string]bool{}
	}
	return back
}

// RecordOffer applies an offer's data about its agent. It returns true if the agent was not registered before, so that
// calls to it were lost meanwhile.
func (as *Set) RecordOffer(o cluster.Offer) (back bool) {
	a := as.GetOrAdd(o.AgentID)
	back = !a.registered
	as.Register(a)
	as.setHost(a, o.Hostname)
	a.closed, as.allClosed = "", reason.Reason{}
	as.setMaintenance(a, o.Unavailable, o.AvailableAgain)
	if o.AgentURL != "" {
		a.url = o.AgentURL
	}
	as.setAttributes(a, o.Attributes)
	as.setTotal(a, o.Total)
	return back
}

// RecordClosed records that the cluster has stopped placing tasks on an agent, or places them there again, and returns
// whether the reason has changed.
func (as *Set) RecordClosed(e cluster.Closed) (changed bool) {
	a := as.GetOrAdd(e.AgentID)
	if e.Why != "" {
		as.setHost(a, e.Hostname)
		as.setAttributes(a, e.Attributes)
		as.setTotal(a, e.Total)
		a.removedAt = time.Time{}
	}
	changed = a.closed != e.Why
	a.closed = e.Why
	as.updateAllClosed()
	return changed
}

// Restore adds the agent of a stored task, with the address of its API and its host name at the launch.
func (as *Set) Restore(id, url, host string) {
	a := as.GetOrAdd(id)
	if a.url == "" {
		a.url = url
	}
	if a.host == "" {
		as.setHost(a, host)
	}
}

// MarkNotRegistered records that the master answered a question about an agent with "not registered". RecordRegistered
// starts to count again, because the agent may have been away before, too.
func (as *Set) MarkNotRegistered(id string) { as.GetOrAdd(id).registeredSince = time.Time{} }

// RecordClock records the reported time of an agent's own clock. It returns whether people now see something else
// about that clock: another error, or none. It ignores an unknown agent and a zero time.
func (as *Set) RecordClock(id string, reported time.Time) (changed bool) {
	a := as.byID[id]
	if a == nil || reported.IsZero() {
		return false
	}
	a.clock.add(as.shared.Now(), reported)
	was, drift := a.clock.recorded, a.clock.drift(as.shared.Now(), as.shared.Wall())
	signChanged := cmp.Compare(drift, 0) != cmp.Compare(was, 0) // it became right, or wrong in another direction
	if !signChanged && (drift-was).Abs() < clockTolerance {
		return false
	}
	a.clock.recorded = drift
	as.shared.ClusterChanged()
	switch {
	case signChanged && drift == 0:
		as.shared.Note(step.Note{Kind: step.NoteAgentClock,
			Detail: fmt.Sprintf("the clock of agent %s is correct again", a.id)})
	case signChanged:
		as.shared.Note(step.Note{Kind: step.NoteAgentClock, Detail: as.ClockNote(a.id).String(), Problem: true})
	}
	return true
}

// ClockNote says by how much the clock of an agent is wrong; none while the clock is right or the agent is unknown.
func (as *Set) ClockNote(id string) reason.Reason {
	a := as.byID[id]
	if a == nil || a.clock.recorded == 0 {
		return reason.Reason{}
	}
	return reason.ClockOff(reason.Agent{ID: a.id, Host: a.host}, a.clock.recorded.Round(100*time.Millisecond))
}

// GetOrAdd returns the agent with that id, adding it if it is new, and records that it was seen now.
func (as *Set) GetOrAdd(id string) *Agent {
	a := as.byID[id]
	if a == nil {
		a = &Agent{id: id}
		as.byID[id] = a
	}
	a.lastSeen = as.shared.Now()
	return a
}

// Registered reports whether the present master has had the agent registered in this session, and has not removed it
// or lost contact since.
func (as *Set) Registered(id string) bool { return as.byID[id] != nil && as.byID[id].registered }

// Register records that the present master has an agent registered. If the agent was away, the master may report
// nothing more of the tasks that it called unreachable or unknown meanwhile, because the agent may have come back
// without them. So TakeReturned returns the agent, and its tasks are reconciled at once.
func (as *Set) Register(a *Agent) {
	a.heardAt, a.gone = as.shared.Now(), false
	if !a.unreachable.IsZero() || !a.removedAt.IsZero() {
		a.unreachable, a.removedAt = time.Time{}, time.Time{}
		as.markPresence()
	}
	if !a.registered {
		a.registered, a.registeredAt, as.returned[a.id] = true, as.shared.Now(), true
		as.markPresence()
	}
}

// MarkRemoved records that the master has removed an agent. gone says that the cluster does not expect the agent back.
// An unknown agent is ignored.
func (as *Set) MarkRemoved(id string, gone bool) {
	if a := as.byID[id]; a != nil {
		a.gone = a.gone || gone
		a.registered, a.registeredSince, a.removedAt, a.closed = false, time.Time{}, as.shared.Now(), ""
		as.updateAllClosed()
		as.markPresence()
	}
}

// MarkUnreachable records since when the master has reported an agent as unreachable; the earliest time counts. It is
// called for updates of tasks there, because the FAILURE event with the same news may get lost. An unknown agent is
// ignored.
func (as *Set) MarkUnreachable(id string, since time.Time) {
	a := as.byID[id]
	if a == nil {
		return
	}
	a.registered, a.registeredSince = false, time.Time{}
	if a.unreachable.IsZero() || since.Before(a.unreachable) {
		a.unreachable = since
		as.markPresence()
	}
}

// markPresence records that an agent became silent, was heard again or left.
func (as *Set) markPresence() {
	as.shared.ClusterChanged()
	as.shared.MarkPresence()
}

// BeginSession forgets what another master or an earlier session reported. An agent's capacity, address and
// maintenance stay.
func (as *Set) BeginSession() {
	for _, a := range as.byID {
		a.registered, a.registeredSince, a.question = false, time.Time{}, ""
		a.unreachable, a.removedAt, a.closed, a.gone = time.Time{}, time.Time{}, "", false
	}
	clear(as.questions)
	clear(as.returned)
	as.allClosed = reason.Reason{}
}

// Ask returns the id of an invented task to reconcile. No such task was ever launched, so the master's answer shows
// whether the agent is registered. An agent has at most one such task in a session.
func (as *Set) Ask(id string) (question string) {
	a := as.GetOrAdd(id)
	if a.question == "" {
		a.question = QuestionPrefix + as.shared.UUID()
		as.questions[a.question] = id
	}
	return a.question
}

// QuestionPrefix begins the ids of invented tasks (see Ask).
const QuestionPrefix = "question-"

// RecordRegistered records a sign that an agent is registered, and returns for how long there have been such signs
// without a gap of more than maxRegisteredGap.
func (as *Set) RecordRegistered(id string) time.Duration {
	a := as.GetOrAdd(id)
	if a.registeredSince.IsZero() || as.shared.Now().Sub(a.lastRegistered) > maxRegisteredGap {
		a.registeredSince = as.shared.Now()
	}
	a.lastRegistered = as.shared.Now()
	return as.shared.Now().Sub(a.registeredSince)
}

// maxRegisteredGap is the longest time between two signs that an agent is registered. In a longer gap the agent may
// have been away.
const maxRegisteredGap = time.Minute

// ForgetOld removes the agents that have been away for longer than Retention and have neither tasks of their own nor
// executors. hasExecutor reports whether an executor is still on an agent.
func (as *Set) ForgetOld(hasExecutor func(id string) bool) {
	for id, a := range as.byID {
		if !a.registered && a.closed == "" && a.own.Tasks() == 0 && as.shared.Now().Sub(a.lastSeen) > Retention &&
			!hasExecutor(id) {
			as.capacities++
			as.dropHost(a)
			delete(as.byID, id)
			delete(as.excludable, id)
		}
	}
}

// Retention is how long an agent that left is remembered.
const Retention = time.Hour

// updateAllClosed sets allClosed to the reason why no agent takes tasks, or to none.
func (as *Set) updateAllClosed() {
	as.allClosed = reason.Reason{}
	first, closed := "", 0
	for id, a := range as.byID {
		switch {
		case a.closed == "" && a.registered:
			return
		case a.closed != "":
			if closed++; first == "" || id < first {
				first = id
			}
		}
	}
	if closed > 0 {
		as.allClosed = reason.AgentsClosed(first, as.byID[first].closed, closed-1)
	}
}

// Contradiction describes an invariant of Set that does not hold, "" if all hold. Tests call it after each step.
func (as *Set) Contradiction() string {
	for id, a := range as.byID {
		if a.id != id || !(a.maintenanceStart.IsZero() && a.silent.IsZero()) && !as.excludable[id] {
			return fmt.Sprintf("agent %s is kept as %s, and may be excluded: %v", a.id, id, as.excludable[id])
		}
		if a.host != "" && !slices.Contains(as.byHost[a.host], id) {
			return fmt.Sprintf("agent %s is not among those of host %s", id, a.host)
		}
		if a.question != "" && as.questions[a.question] != id {
			return fmt.Sprintf("the question about agent %s is about %q", id, as.questions[a.question])
		}
	}
	return ""
}

// AllClosed is the reason why no agent takes tasks; none if one does or no agent is known.
func (as *Set) AllClosed() reason.Reason { return as.allClosed }
