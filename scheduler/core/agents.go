package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// agent is what is known of an agent.
type agent struct {
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
	own account
	// unreachable is since when the master says, of a task there, that the agent does not answer it; removedAt is when the master
	// had it no more. Both are zero while it is registered, and nothing is decided by them.
	unreachable, removedAt time.Time
}

// agents are all that were seen. These hold between any two calls of its methods:
//
//   - maintained has at least the ids of those with maintenanceStart;
//   - questions has, by the task that was invented for it, the id of every one with a question.
type agents struct {
	*step.Shared
	byID       map[string]*agent
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

// account is what some tasks take together.
type account struct {
	tasks, daemons int
	used           resources.Amount
}

func (a *account) take(need resources.Amount, daemon bool) {
	a.tasks++
	if daemon {
		a.daemons++
	}
	a.used = a.used.Plus(need)
}

func (a *account) release(need resources.Amount, daemon bool) {
	a.tasks--
	if daemon {
		a.daemons--
	}
	a.used = a.used.Minus(need)
}

func newAgents(s *step.Shared) agents {
	return agents{Shared: s, byID: map[string]*agent{}, maintained: map[string]bool{}, questions: map[string]string{}, back: map[string]bool{}}
}

// see is the agent of that id, seen now.
func (as *agents) see(id string) *agent {
	a := as.byID[id]
	if a == nil {
		a = &agent{id: id}
		as.byID[id] = a
	}
	a.lastSeen = as.Now()
	return a
}

// registered reports whether this very master has had the agent in this session, and has not removed it since.
func (as *agents) registered(id string) bool { return as.byID[id] != nil && as.byID[id].registered }

// register notes that this very master has an agent. If it was away, the master may report nothing more of the tasks that it
// called unreachable or unknown meanwhile: the agent may have come back without them. So they are asked about at once.
func (as *agents) register(a *agent) {
	if !a.unreachable.IsZero() || !a.removedAt.IsZero() {
		a.unreachable, a.removedAt = time.Time{}, time.Time{}
		as.SeeCluster()
	}
	if !a.registered {
		a.registered, a.registeredAt, as.back[a.id] = true, as.Now(), true
		as.SeeCluster()
	}
}

// remove notes that the master has removed an agent.
func (as *agents) remove(id string) {
	if a := as.byID[id]; a != nil {
		a.registered, a.registeredSince, a.removedAt, a.closed = false, time.Time{}, as.Now(), ""
		as.lookAtClosed()
		as.SeeCluster()
	}
}

// lost notes that the master says of a task of an agent that the agent does not answer since then. Its FAILURE, which
// says the same, may get lost.
func (as *agents) lost(id string, since time.Time) {
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

// sessionBegan forgets what another master, or another session, said.
func (as *agents) sessionBegan() {
	for _, a := range as.byID {
		a.registered, a.registeredSince, a.question = false, time.Time{}, ""
		a.unreachable, a.removedAt, a.closed = time.Time{}, time.Time{}, ""
	}
	clear(as.questions)
	clear(as.back)
	as.allClosed = reason.Reason{}
}

// ask is a task to ask the master about, which nobody has launched: what it answers says whether the agent is registered.
func (as *agents) ask(id string) (question string) {
	a := as.see(id)
	if a.question == "" {
		a.question = questionPrefix + as.UUID()
		as.questions[a.question] = id
	}
	return a.question
}

// questionPrefix is what the ids of invented tasks begin with.
const questionPrefix = "question-"

// stillRegistered notes a sign that an agent is registered, and returns for how long it has been without a gap.
func (as *agents) stillRegistered(id string) time.Duration {
	a := as.see(id)
	if a.registeredSince.IsZero() || as.Now().Sub(a.registeredSeen) > registeredGap {
		a.registeredSince = as.Now()
	}
	a.registeredSeen = as.Now()
	return as.Now().Sub(a.registeredSince)
}

// registeredGap is how far apart two signs may be that an agent is registered: with more, it may have been away meanwhile.
const registeredGap = time.Minute

// grow remembers the most that was ever seen of an agent.
func (as *agents) grow(id string, seen resources.Amount) {
	a := as.see(id)
	most := a.capacity.Max(seen)
	if most != a.capacity {
		as.capacities++
	}
	a.capacity, a.reservable = most, a.reservable.Max(seen)
}

// settle remembers the most that was seen of an agent with nothing counted twice.
func (as *agents) settle(id string, seen resources.Amount) {
	a := as.see(id)
	if most := a.settled.Max(seen); most != a.settled {
		a.settled = most
		as.SeeCluster()
	}
}

// total takes the cluster's word for all that an agent has, zero where it says nothing.
func (as *agents) total(a *agent, all resources.Amount) {
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
func (as *agents) attribute(a *agent, says *cluster.Attributes) {
	if a.attributes != says {
		a.attributes = says
		as.attributes++
	}
}

// forgetOld forgets agents that went away long ago, but those that are used.
func (as *agents) forgetOld(used func(id string) bool) {
	for id, a := range as.byID {
		if !a.registered && a.closed == "" && a.own.tasks == 0 && as.Now().Sub(a.lastSeen) > agentKept && !used(id) {
			as.capacities++
			delete(as.byID, id)
			delete(as.maintained, id)
		}
	}
}

// agentKept is how long an agent that went away is remembered.
const agentKept = time.Hour

// maintenance notes when an agent's maintenance begins and ends; zero is for a time that was not named.
func (as *agents) maintenance(a *agent, begin, end time.Time) {
	a.maintenanceStart, a.maintenanceEnd = begin, end
	if !begin.IsZero() {
		as.maintained[a.id] = true
	}
}

// maintenanceSoon is how long before an agent's maintenance nothing new is placed there.
const maintenanceSoon = time.Hour

// inMaintenance reports whether an agent's maintenance has begun or begins soon.
func (as *agents) inMaintenance(id string) bool {
	a := as.byID[id]
	return a != nil && !a.maintenanceStart.IsZero() && !a.maintenanceStart.After(as.Wall().Add(maintenanceSoon)) &&
		(a.maintenanceEnd.IsZero() || a.maintenanceEnd.After(as.Wall())) // a schedule may stand long after its window
}

// allInMaintenance are the agents whose maintenance has begun or begins soon, with the reason for people.
func (as *agents) allInMaintenance() map[string]reason.Reason {
	var out map[string]reason.Reason
	for id := range as.maintained {
		if !as.inMaintenance(id) {
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
