package agents

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Agent is what is known of an agent.
type Agent struct {
	id, host, url string
	// capacity is the most ever seen free plus used by us.
	capacity resources.Amount
	// settled is the most ever seen when nothing was counted twice: what people are shown as all that there is. Capacity may be a
	// little too much, which does no harm where it says what could ever fit, and settled too little while an agent is never quiet.
	settled resources.Amount
	// reservable is capacity, measured again when a reservation ended without a launch: it was estimated too high (rule L2).
	reservable resources.Amount
	// registered is set when this very master has had it in this session, since registeredAt.
	registered   bool
	registeredAt time.Time
	clock        remoteClock
	// registeredSince and registeredSeen are the first and the last of the signs, in this session, that it is
	// registered; question is the invented task that is reconciled to find that out (orphans of removed frameworks).
	registeredSince, registeredSeen  time.Time
	question                         string
	maintenanceStart, maintenanceEnd time.Time // when its maintenance begins and ends; zero when the master named no time
	lastSeen                         time.Time
	// attributes are those of its last offer, nil without any.
	attributes *cluster.Attributes
	// closed is why the cluster has no tasks placed there, "" if it has; it counts for people, and for what is expected of the agent.
	closed string
	// own is what tasks with an executor of their own take here (Options.TaskExecutors).
	own resources.Account
	// unreachable is since when the master says, of a task there, that the agent does not answer it; removedAt is when the master
	// had it no more. Both are zero while it is registered, and nothing is decided by them.
	unreachable, removedAt time.Time
}

// agents are all that were seen. These hold between any two calls of its methods:
//
//   - maintained has at least the ids of those with maintenanceStart;
//   - questions has, by the task that was invented for it, the id of every one with a question.
type Set struct {
	*step.Shared
	byID       map[string]*Agent
	maintained map[string]bool
	questions  map[string]string
	// back has those that have registered, until it is asked about the tasks of those that came back.
	back map[string]bool
	// allClosed is why no agent takes tasks, none if one does or no agent is known.
	allClosed reason.Reason
	// capacities counts the changes of what agents are known to hold, and of which agents are known.
	capacities int64
	// attributes counts the changes of the attributes of any of them.
	attributes int64
}

func New(s *step.Shared) *Set {
	return &Set{Shared: s, byID: map[string]*Agent{}, maintained: map[string]bool{}, questions: map[string]string{}, back: map[string]bool{}}
}

// Get is the agent of that id, or nil.
func (as *Set) Get(id string) *Agent { return as.byID[id] }

// All are the agents by their ids, in no order.
func (as *Set) All() iter.Seq2[string, *Agent] { return maps.All(as.byID) }

// Len is how many there are.
func (as *Set) Len() int { return len(as.byID) }

// IDs are those of all agents, sorted.
func (as *Set) IDs() []string { return step.SortedKeys(as.byID) }

// Asked is the agent that an invented task is a question about; false for any other task.
func (as *Set) Asked(taskID string) (agentID string, is bool) {
	agentID, is = as.questions[taskID]
	return agentID, is
}

// TakeBack returns the agents that have registered since it was called last.
func (as *Set) TakeBack() map[string]bool {
	back := as.back
	if len(back) > 0 {
		as.back = map[string]bool{}
	}
	return back
}

// Offered takes what an offer says of its agent, and returns whether it is back: calls to it meanwhile were lost.
func (as *Set) Offered(o cluster.Offer) (back bool) {
	a := as.See(o.AgentID)
	back = !a.registered
	as.Register(a)
	a.host, a.closed, as.allClosed = o.Hostname, "", reason.Reason{}
	as.maintenance(a, o.Unavailable, o.AvailableAgain)
	if o.AgentURL != "" {
		a.url = o.AgentURL
	}
	as.attribute(a, o.Attributes)
	as.total(a, o.Total)
	return back
}

// ClosedNow takes note that the cluster has no tasks placed on an agent, or has them placed there again, and returns whether
// that is news.
func (as *Set) ClosedNow(e cluster.Closed) (news bool) {
	a := as.See(e.AgentID)
	if e.Why != "" {
		a.host = e.Hostname
		as.attribute(a, e.Attributes)
		as.total(a, e.Total)
		a.removedAt = time.Time{}
	}
	news = a.closed != e.Why
	a.closed = e.Why
	as.lookAtClosed()
	return news
}

// Restore takes from a stored task what it says of its agent.
func (as *Set) Restore(id, url string) {
	if a := as.See(id); a.url == "" {
		a.url = url
	}
}

// MeasureAgain takes an agent for as large as it looks now.
func (as *Set) MeasureAgain(id string, seen resources.Amount) {
	as.See(id).reservable = resources.Amount{}
	as.Grow(id, seen)
}

// NotRegistered notes that an agent was not registered when it was asked about: it may have been away before, too.
func (as *Set) NotRegistered(id string) { as.See(id).registeredSince = time.Time{} }

// Allot puts a task that brings its executor on the account of its agent, and release takes it off.
func (as *Set) Allot(id string, need resources.Amount, daemon bool) {
	as.See(id).own.Allot(need, daemon)
}

func (as *Set) Release(id string, need resources.Amount, daemon bool) {
	as.See(id).own.Release(need, daemon)
}

// ClockReported takes the time by an agent's clock, and returns whether people see that clock otherwise now: it is off, or
// right again.
func (as *Set) ClockReported(id string, its time.Time) (seen bool) {
	a := as.byID[id]
	if a == nil || its.IsZero() {
		return false
	}
	a.clock.hear(as.Now(), its)
	was, drift := a.clock.off, a.clock.drift(as.Now(), as.Wall())
	turned := cmp.Compare(drift, 0) != cmp.Compare(was, 0)
	if !turned && (drift-was).Abs() < clockOff {
		return false
	}
	a.clock.off = drift
	as.SeeCluster()
	switch {
	case turned && drift == 0:
		as.Note(step.Note{Kind: step.NoteAgentClock, Detail: fmt.Sprintf("the clock of agent %s is right again", a.id)})
	case turned:
		as.Note(step.Note{Kind: step.NoteAgentClock, Detail: as.ClockNote(a.id).String(), Problem: true})
	}
	return true
}

// ClockNote says that the clock of an agent is off, or nothing.
func (as *Set) ClockNote(id string) reason.Reason {
	a := as.byID[id]
	if a == nil || a.clock.off == 0 {
		return reason.Reason{}
	}
	return reason.ClockOff(reason.Agent{ID: a.id, Host: a.host}, a.clock.off.Round(100*time.Millisecond))
}

// See is the agent of that id, seen now.
func (as *Set) See(id string) *Agent {
	a := as.byID[id]
	if a == nil {
		a = &Agent{id: id}
		as.byID[id] = a
	}
	a.lastSeen = as.Now()
	return a
}

// Registered reports whether this very master has had the agent in this session, and has not removed it since.
func (as *Set) Registered(id string) bool { return as.byID[id] != nil && as.byID[id].registered }

// Register notes that this very master has an agent. If it was away, the master may report nothing more of the tasks that it
// called unreachable or unknown meanwhile: the agent may have come back without them. So they are asked about at once.
func (as *Set) Register(a *Agent) {
	if !a.unreachable.IsZero() || !a.removedAt.IsZero() {
		a.unreachable, a.removedAt = time.Time{}, time.Time{}
		as.SeeCluster()
	}
	if !a.registered {
		a.registered, a.registeredAt, as.back[a.id] = true, as.Now(), true
		as.SeeCluster()
	}
}

// Remove notes that the master has removed an agent.
func (as *Set) Remove(id string) {
	if a := as.byID[id]; a != nil {
		a.registered, a.registeredSince, a.removedAt, a.closed = false, time.Time{}, as.Now(), ""
		as.lookAtClosed()
		as.SeeCluster()
	}
}

// Lost notes that the master says of a task of an agent that the agent does not answer since then. Its FAILURE, which
// says the same, may get lost.
func (as *Set) Lost(id string, since time.Time) {
	a := as.byID[id]
	if a == nil {
		return
	}
	a.registered, a.registeredSince = false, time.Time{}
	if a.unreachable.IsZero() || since.Before(a.unreachable) {
		a.unreachable = since
		as.SeeCluster()
	}
}

// SessionBegan forgets what another master, or another session, said.
func (as *Set) SessionBegan() {
	for _, a := range as.byID {
		a.registered, a.registeredSince, a.question = false, time.Time{}, ""
		a.unreachable, a.removedAt, a.closed = time.Time{}, time.Time{}, ""
	}
	clear(as.questions)
	clear(as.back)
	as.allClosed = reason.Reason{}
}

// Ask is a task to ask the master about, which nobody has launched: what it answers says whether the agent is registered.
func (as *Set) Ask(id string) (question string) {
	a := as.See(id)
	if a.question == "" {
		a.question = QuestionPrefix + as.UUID()
		as.questions[a.question] = id
	}
	return a.question
}

// QuestionPrefix is what the ids of invented tasks begin with.
const QuestionPrefix = "question-"

// StillRegistered notes a sign that an agent is registered, and returns for how long it has been without a gap.
func (as *Set) StillRegistered(id string) time.Duration {
	a := as.See(id)
	if a.registeredSince.IsZero() || as.Now().Sub(a.registeredSeen) > registeredGap {
		a.registeredSince = as.Now()
	}
	a.registeredSeen = as.Now()
	return as.Now().Sub(a.registeredSince)
}

// registeredGap is how far apart two signs may be that an agent is registered: with more, it may have been away meanwhile.
const registeredGap = time.Minute

// Grow remembers the most that was ever seen of an agent.
func (as *Set) Grow(id string, seen resources.Amount) {
	a := as.See(id)
	most := a.capacity.Max(seen)
	if most != a.capacity {
		as.capacities++
	}
	a.capacity, a.reservable = most, a.reservable.Max(seen)
}

// Settle remembers the most that was seen of an agent with nothing counted twice.
func (as *Set) Settle(id string, seen resources.Amount) {
	a := as.See(id)
	if most := a.settled.Max(seen); most != a.settled {
		a.settled = most
		as.SeeCluster()
	}
}

// total takes the cluster's word for all that an agent has, zero where it says nothing.
func (as *Set) total(a *Agent, all resources.Amount) {
	if all.IsZero() {
		return
	}
	if a.capacity != all {
		a.capacity, as.capacities = all, as.capacities+1
	}
	if a.settled != all {
		a.settled = all
		as.SeeCluster()
	}
}

// attribute takes what operators have said of an agent.
func (as *Set) attribute(a *Agent, says *cluster.Attributes) {
	if a.attributes != says {
		a.attributes = says
		as.attributes++
	}
}

// ForgetOld forgets agents that went away long ago, but those that are used.
func (as *Set) ForgetOld(used func(id string) bool) {
	for id, a := range as.byID {
		if !a.registered && a.closed == "" && a.own.Tasks() == 0 && as.Now().Sub(a.lastSeen) > Kept && !used(id) {
			as.capacities++
			delete(as.byID, id)
			delete(as.maintained, id)
		}
	}
}

// agentKept is how long an agent that went away is remembered.
const Kept = time.Hour

// maintenance notes when an agent's maintenance begins and ends; zero is for a time that was not named.
func (as *Set) maintenance(a *Agent, begin, end time.Time) {
	a.maintenanceStart, a.maintenanceEnd = begin, end
	if !begin.IsZero() {
		as.maintained[a.id] = true
	}
}

// maintenanceSoon is how long before an agent's maintenance nothing new is placed there.
const maintenanceSoon = time.Hour

// InMaintenance reports whether an agent's maintenance has begun or begins soon.
func (as *Set) InMaintenance(id string) bool {
	a := as.byID[id]
	return a != nil && !a.maintenanceStart.IsZero() && !a.maintenanceStart.After(as.Wall().Add(maintenanceSoon)) &&
		(a.maintenanceEnd.IsZero() || a.maintenanceEnd.After(as.Wall())) // a schedule may stand long after its window
}

// AllInMaintenance are the agents whose maintenance has begun or begins soon, with the reason for people.
func (as *Set) AllInMaintenance() map[string]reason.Reason {
	var out map[string]reason.Reason
	for id := range as.maintained {
		if !as.InMaintenance(id) {
			continue
		}
		if out == nil {
			out = map[string]reason.Reason{}
		}
		a := as.byID[id]
		say := reason.MaintenanceBegins
		if !a.maintenanceStart.After(as.Wall()) {
			say = reason.InMaintenance
		}
		out[id] = say(a.maintenanceStart.UTC(), a.maintenanceEnd.UTC())
	}
	return out
}

// IsAway reports whether the master has the agent no more, and does not wait for it either.
func (a *Agent) IsAway() bool {
	return !a.registered && a.unreachable.IsZero() && !a.removedAt.IsZero()
}

// lookAtClosed finds out why nothing is on offer where no agent takes tasks.
func (as *Set) lookAtClosed() {
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

// Contradiction says which of the promises of agents does not hold, "" if all do. Tests ask for it after each step.
func (as *Set) Contradiction() string {
	for id, a := range as.byID {
		if a.id != id || !a.maintenanceStart.IsZero() && !as.maintained[id] {
			return fmt.Sprintf("agent %s is kept as %s, and in maintenance: %v", a.id, id, as.maintained[id])
		}
		if a.question != "" && as.questions[a.question] != id {
			return fmt.Sprintf("the question about agent %s is about %q", id, as.questions[a.question])
		}
	}
	return ""
}

// Host is the host.
func (a *Agent) Host() string { return a.host }

// Capacity is the most ever seen free plus used by us.
func (a *Agent) Capacity() resources.Amount { return a.capacity }

// Settled is the most ever seen when nothing was counted twice: what people are shown as all that there is. Capacity may be a little too much, which does no harm where it says what could ever fit, and settled too little while an agent is never quiet.
func (a *Agent) Settled() resources.Amount { return a.settled }

// Reservable is capacity, measured again when a reservation ended without a launch: it was estimated too high (rule L2).
func (a *Agent) Reservable() resources.Amount { return a.reservable }

// Registered is set when this very master has had it in this session, since registeredAt.
func (a *Agent) Registered() bool { return a.registered }

// RegisteredAt is the registeredAt.
func (a *Agent) RegisteredAt() time.Time { return a.registeredAt }

// Question is the question.
func (a *Agent) Question() string { return a.question }

// MaintenanceStart: when its maintenance begins and ends; zero when the master named no time
func (a *Agent) MaintenanceStart() time.Time { return a.maintenanceStart }

// MaintenanceEnd: when its maintenance begins and ends; zero when the master named no time
func (a *Agent) MaintenanceEnd() time.Time { return a.maintenanceEnd }

// Attributes are those of its last offer, nil without any.
func (a *Agent) Attributes() *cluster.Attributes { return a.attributes }

// Closed is why the cluster has no tasks placed there, "" if it has; it counts for people, and for what is expected of the agent.
func (a *Agent) Closed() string { return a.closed }

// Own is what tasks with an executor of their own take here (Options.TaskExecutors).
func (a *Agent) Own() resources.Account { return a.own }

// Unreachable is since when the master says, of a task there, that the agent does not answer it; removedAt is when the master had it no more. Both are zero while it is registered, and nothing is decided by them.
func (a *Agent) Unreachable() time.Time { return a.unreachable }

// RemovedAt: unreachable is since when the master says, of a task there, that the agent does not answer it; removedAt is when the master had it no more. Both are zero while it is registered, and nothing is decided by them.
func (a *Agent) RemovedAt() time.Time { return a.removedAt }

// AllClosed is why no agent takes tasks, none if one does or no agent is known.
func (a *Set) AllClosed() reason.Reason { return a.allClosed }

// Capacities counts the changes of what agents are known to hold, and of which agents are known.
func (a *Set) Capacities() int64 { return a.capacities }

// Attributes counts the changes of the attributes of any of them.
func (a *Set) Attributes() int64 { return a.attributes }

// ID is its id.
func (a *Agent) ID() string { return a.id }

// URL is its url.
func (a *Agent) URL() string { return a.url }
