package agents

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Agent describes one agent. Its methods only read; Set owns it, and alone changes it.
type Agent struct {
	id, host, url string
	// capacity is the largest sum of free resources and those used by this framework that was ever seen, or the total
	// that the cluster states. It may be a little too large, which does no harm where it decides what could ever fit.
	capacity resources.Amount
	// total is the largest such sum that was seen while nothing was counted twice. Users see it. It may be too small
	// while tasks end on the agent all the time.
	total resources.Amount
	// reservable is like capacity, but is measured again when a reservation ended without a launch, because it was too
	// high then (rule L2).
	reservable resources.Amount
	// registered is set while the present master has the agent registered, as far as this session shows. registeredAt
	// is since when.
	registered   bool
	registeredAt time.Time
	// heardAt is when the last sign arrived in this term that the agent is registered.
	heardAt time.Time
	clock   remoteClock
	// registeredSince and lastRegistered are the first and the last sign, in this session, that the agent is
	// registered. question is the invented task that is reconciled to find that out (orphans of removed frameworks).
	registeredSince, lastRegistered  time.Time
	question                         string
	maintenanceStart, maintenanceEnd time.Time // by the wall clock; zero if the master named no time
	lastSeen                         time.Time
	// silent is since when no executor with tasks here has sent a heartbeat, zero while one does.
	silent time.Time
	// attributes are those of its last offer, nil without any.
	attributes *cluster.Attributes
	// closed is the reason why the cluster places no tasks on the agent, "" if it does. Users see it, and the core
	// considers it when it predicts what could fit.
	closed string
	// own is the account of the tasks here that bring an executor of their own (Options.TaskExecutors).
	own resources.Account
	// unreachable is since when the master has reported the agent as unreachable; removedAt is when the master
	// removed it. Both are zero while it is registered. Users see them; placement decides by registered alone.
	unreachable, removedAt time.Time
	// gone is set once the cluster has said that it does not expect the agent back.
	gone bool
}

// RemovedForGood reports whether the master has removed the agent and does not expect it to come back.
func (a *Agent) RemovedForGood() bool {
	return a.gone || !a.registered && a.unreachable.IsZero() && !a.removedAt.IsZero()
}

// Host is the host name of the agent, "" until an offer or the cluster has named it.
func (a *Agent) Host() string { return a.host }

// Capacity is the largest sum of free resources and those used by this framework that was ever seen, or the total that
// the cluster states. It may be a little too large.
func (a *Agent) Capacity() resources.Amount { return a.capacity }

// Total is the largest sum of free resources and those used by this framework that was seen while nothing was counted
// twice. Users see it. It may be too small while tasks end on the agent all the time.
func (a *Agent) Total() resources.Amount { return a.total }

// Reservable is the amount that a reservation may count on. It grows like Capacity, and is measured again when a
// reservation ended without a launch, because it was estimated too high (rule L2).
func (a *Agent) Reservable() resources.Amount { return a.reservable }

// Registered reports whether the present master has had the agent registered in this session, and has not removed it
// or lost contact since.
func (a *Agent) Registered() bool { return a.registered }

// RegisteredAt is when this leader last learned that the agent has registered, in the time of the term; zero if never.
func (a *Agent) RegisteredAt() time.Time { return a.registeredAt }

// HeardAt is when the last offer or update of the agent arrived in this term, or another sign that it is registered;
// zero for none.
func (a *Agent) HeardAt() time.Time { return a.heardAt }

// Question is the invented task that asks about the agent in this session (see Set.Ask), "" for none.
func (a *Agent) Question() string { return a.question }

// MaintenanceStart is when the maintenance of the agent begins, by the wall clock; zero for none.
func (a *Agent) MaintenanceStart() time.Time { return a.maintenanceStart }

// MaintenanceEnd is when the maintenance of the agent ends, by the wall clock; zero if the master named no time.
func (a *Agent) MaintenanceEnd() time.Time { return a.maintenanceEnd }

// Attributes are the attributes in the agent's last offer, nil without any. They are not to be changed.
func (a *Agent) Attributes() *cluster.Attributes { return a.attributes }

// Closed is the reason, in the words of the cluster, that no tasks are placed on the agent; "" if they are.
func (a *Agent) Closed() string { return a.closed }

// Own is the account of the tasks here that bring an executor of their own (Options.TaskExecutors).
func (a *Agent) Own() resources.Account { return a.own }

// Unreachable is since when the master has reported the agent as unreachable, zero while it is registered.
func (a *Agent) Unreachable() time.Time { return a.unreachable }

// Silent is since when no executor with tasks on the agent has sent a heartbeat, zero while one does.
func (a *Agent) Silent() time.Time { return a.silent }

// RemovedAt is when the master removed the agent, zero while it is registered. Users see it; no decision uses it.
func (a *Agent) RemovedAt() time.Time { return a.removedAt }

// ID is the id that the cluster gave the agent.
func (a *Agent) ID() string { return a.id }

// URL is the address of the agent's API, "" while it is not known.
func (a *Agent) URL() string { return a.url }
