package agents

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// ResetReservable sets the amount that can be reserved on an agent to the one that is seen now, because the former
// estimate was too high (rule L2).
func (as *Set) ResetReservable(id string, observed resources.Amount) {
	as.GetOrAdd(id).reservable = resources.Amount{}
	as.RaiseCapacity(id, observed)
}

// Allot puts a task that brings its own executor on the account of its agent. Each call is matched by one of Release
// with the same arguments.
func (as *Set) Allot(id string, need resources.Amount, daemon bool) {
	as.GetOrAdd(id).own.Allot(need, daemon)
}

// Release takes such a task off the account of its agent.
func (as *Set) Release(id string, need resources.Amount, daemon bool) {
	as.GetOrAdd(id).own.Release(need, daemon)
}

// RaiseCapacity raises the capacity of an agent, and the amount that can be reserved there, to the amount seen if that
// is larger.
func (as *Set) RaiseCapacity(id string, observed resources.Amount) {
	a := as.GetOrAdd(id)
	largest := a.capacity.Max(observed)
	if largest != a.capacity {
		as.capacities++
	}
	a.capacity, a.reservable = largest, a.reservable.Max(observed)
}

// RaiseTotal raises the total of an agent to an amount that was seen while nothing was counted twice, if that is
// larger.
func (as *Set) RaiseTotal(id string, observed resources.Amount) {
	a := as.GetOrAdd(id)
	if largest := a.total.Max(observed); largest != a.total {
		a.total = largest
		as.shared.ClusterChanged()
	}
}

// setTotal applies the total of an agent that the cluster states. It does nothing if the cluster states none.
func (as *Set) setTotal(a *Agent, stated resources.Amount) {
	if stated.IsZero() {
		return
	}
	if a.capacity != stated {
		a.capacity, as.capacities = stated, as.capacities+1
	}
	if a.total != stated {
		a.total = stated
		as.shared.ClusterChanged()
	}
}

// setAttributes replaces the attributes of an agent, which operators set.
func (as *Set) setAttributes(a *Agent, reported *cluster.Attributes) {
	if a.attributes != reported {
		a.attributes = reported
		as.attributes++
	}
}

// Capacities counts the changes of capacities and of which agents are known. A result that depends on them stays valid
// while the count is the same.
func (as *Set) Capacities() int64 { return as.capacities }

// Attributes counts the changes of the attributes of all agents, like Capacities.
func (as *Set) Attributes() int64 { return as.attributes }
