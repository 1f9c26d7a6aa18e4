package placement

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

// What is reserved for our role is used first (rule L7). Offers, capacities and matches count with the sums of
// reserved and unreserved amounts; which part of an offer a task or an executor takes is decided when its ACCEPT is
// made, and is said in it. What an executor has taken is a part of its record, since it is a part of its
// ExecutorInfo (rule X4). The cluster gives all of it back to where it came from when the task or the executor
// ends.

// reservedOf returns the reserved part of an offer.
func reservedOf(o cluster.Offer) []offers.Reserved {
	if len(o.Reserved) == 0 {
		return nil
	}
	out := make([]offers.Reserved, len(o.Reserved))
	for i, r := range o.Reserved {
		out[i] = offers.Reserved{Key: r.Key, Amount: r.Resources}
	}
	return out
}

// takeReserved takes need out of stock and returns which part of it is reserved.
func takeReserved(stock offers.Stock, need resources.Amount) []cluster.Reserved {
	parts := stock.Take(need)
	if len(parts) == 0 {
		return nil
	}
	out := make([]cluster.Reserved, len(parts))
	for i, r := range parts {
		out[i] = cluster.Reserved{Key: r.Key, Resources: r.Amount}
	}
	return out
}
