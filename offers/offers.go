// Package offers manages the cluster's offers and decides where shards are placed.
//
// Pool contains the current offers, by agent. Match is a pure function from demands and agents to placements and
// reasons: everything it places fits exactly, and it gives a true reason for everything else. From this repository it
// imports only resources and internal/reason.
package offers

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Offer is the resources that one agent offers.
type Offer struct {
	ID, Agent, Host string
	// Free is the whole offer; Reserved is the part of Free that is reserved for this framework's role.
	Free     resources.Amount
	Reserved []Reserved
	// MaxTasks is the maximum number of tasks that may be launched with the offer; 0 is unlimited.
	MaxTasks int
	// Received is when the offer arrived. Offers are held only for a limited time.
	Received time.Time
}

// Demand is the waiting shards of one execution, which all have the same size.
type Demand struct {
	// ID is the execution, Job its job, App the job's app; App is used only in messages.
	ID, Job, App string
	// Items are the shards to place.
	Items []int
	// Together requires that all items are placed or none, as the first launch of an execution does. If there is room
	// for all, but the calls of no match can hold all their descriptions, the rest follows in later matches (rule L1).
	Together bool
	// Shard is the size of each item.
	Shard resources.Amount
	// Bytes is the size that each item's description is assumed to have in a call to its agent; 0 counts as 1.
	Bytes int
	// Executor identifies the executor of the shards (app and generation). ExecutorSize is not counted on agents where
	// the executor runs.
	Executor     string
	ExecutorSize resources.Amount
	// Avoid are agents that must not be used, each with the reason (rule L6).
	Avoid map[string]reason.Reason
}

// Agent is one agent with offers. IDs are unique [D57].
type Agent struct {
	ID, Host string
	// Free is the sum of its offers. MaxTasks is the maximum number of tasks that may be placed on it; 0 is unlimited.
	Free     resources.Amount
	MaxTasks int
	// MaxBytes limits the total size of the descriptions of the shards that one match places on it, because one call
	// sends them; 0 is unlimited. A single shard is placed whatever the size of its description.
	MaxBytes int
	// Executors are the executors that run on it and accept tasks.
	Executors map[string]bool
	// ReservedFor, if not empty, is the only demand that may be placed on it (rule L2).
	ReservedFor string
	// Capacity is the largest amount that was ever free there or used by this framework; zero if unknown. A shard that
	// exceeds it never fits.
	Capacity resources.Amount
}

// Strategy is how agents are chosen; those where the executor already runs come first under each strategy. The
// fullness of an agent is the share of its capacity that is not free, with CPU and memory weighted equally.
type Strategy int

const (
	// Pack prefers the fullest agent that fits, so that other agents become empty.
	Pack Strategy = iota
	// Spread places each shard on the agent that is emptiest at that time.
	Spread
)

// Placement places one item of Demands[Demand] on Agents[Agent].
type Placement struct {
	Demand, Item, Agent int
}

// Result is the result of Match.
type Result struct {
	// Placements are grouped by demand, in the order of demands.
	Placements []Placement
	// Unplaced contains the reason for each demand with unplaced items.
	Unplaced []Unplaced
}

// Unplaced says why items of a demand must wait.
type Unplaced struct {
	// Demand is the index of the demand.
	Demand int
	// Items are the waiting items.
	Items []int
	// Reason is the reason for users. If resources are lacking, it says which the nearest agent lacks, and how much.
	Reason reason.Reason
	// Reserved is set if agents were excluded because they are reserved for another demand.
	Reserved bool
	// Never is set if no agent, even an empty one, can hold one shard of the demand.
	Never bool
	// Later is set if agents have room for the items, and only the calls of this match have no room for their
	// descriptions.
	Later bool
}
