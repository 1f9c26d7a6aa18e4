// Package offers knows what the cluster offers and says which shard goes where.
//
// Pool holds the offers at hand, by agent. Match is a pure function from
// demands and agents to placements and reasons: what it places fits exactly,
// what it does not place has a true reason. Of this repository it imports resources alone.
package offers

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Offer is resources that one agent has free.
type Offer struct {
	ID, Agent, Host string
	// Free is all of it; Reserved says what of Free is reserved for our role.
	Free     resources.Amount
	Reserved []Reserved
	// MaxTasks is how many tasks may be launched on it; 0 sets no bound.
	MaxTasks int
	// Received is when it came, for the rule that none is held for long.
	Received time.Time
}

// Demand is shards that wait to be placed, all of one execution and so of one
// size.
type Demand struct {
	// ID names the execution, Job its job, App the job's app; the last is for people only.
	ID, Job, App string
	// Items are the shards to place.
	Items []int
	// Together demands all items or none: an execution's first launch. If there is room for all, and no calls could
	// hold their descriptions, the others follow (rule L1).
	Together bool
	// Shard is what each item takes.
	Shard resources.Amount
	// Bytes is at least how large the description of each item is in a call to its agent; 0 is nothing.
	Bytes int
	// Executor names the kind of executor that runs them (app and generation);
	// agents that have one running need not pay ExecutorSize.
	Executor     string
	ExecutorSize resources.Amount
	// Avoid are agents not to use, each with the reason for people (rule L6).
	Avoid map[string]reason.Reason
}

// Agent is one agent with something on offer. IDs are unique [D57].
type Agent struct {
	ID, Host string
	// Free is the sum of its offers, and MaxTasks the most tasks that may be placed, whatever is free; 0 sets no
	// bound.
	Free     resources.Amount
	MaxTasks int
	// MaxBytes is how large the descriptions of all shards may be together that are placed on it in one match, since
	// they leave in one call; 0 sets no bound. A single shard is placed whatever its size.
	MaxBytes int
	// Executors are the kinds of executor that run there and can take tasks.
	Executors map[string]bool
	// ReservedFor, if not empty, is the only demand that may be placed here (rule L2).
	ReservedFor string
	// Capacity is the most that was ever seen free or used by us here: a shard larger
	// than that never fits. Zero when unknown.
	Capacity resources.Amount
}

// Strategy is how agents are chosen, after those where the executor runs already. How full
// an agent is, is the share of its capacity that is not free, CPU and memory alike.
type Strategy int

const (
	// Pack fills the fullest agent that fits, so that agents become empty.
	Pack Strategy = iota
	// Spread puts each shard on the agent that is emptiest by then.
	Spread
)

// Placement puts one item of Demands[Demand] on Agents[Agent].
type Placement struct {
	Demand, Item, Agent int
}

// Result is what Match decided.
type Result struct {
	// Placements are grouped by demand, in the order of demands.
	Placements []Placement
	// Unplaced has, for each demand with items left over, why.
	Unplaced []Unplaced
}

// Unplaced says why items of a demand stay waiting.
type Unplaced struct {
	Demand int
	// Items that wait.
	Items []int
	// Reason is why, for people: which resource is short by how much, with the nearest agents.
	Reason reason.Reason
	// Reserved is set when agents were left out because they are reserved for another demand.
	Reserved bool
	// Never is set when no agent, even empty, can hold one shard of it.
	Never bool
	// Later is set when there is room for the items, and only their descriptions are too large for the calls of this
	// match.
	Later bool
}
