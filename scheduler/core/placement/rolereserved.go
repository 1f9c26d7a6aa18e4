package placement

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

// Resources that are reserved for the framework's role are used first (rule L7). Offers, capacities and matches use
// the sums of reserved and unreserved amounts. Which part of an offer a task or an executor takes is decided when its
// ACCEPT is made, and the ACCEPT names it. The part that an executor has taken is stored in its record, because it
// belongs to its ExecutorInfo (rule X4). When a task or an executor ends, the cluster returns each part to where it
// came from.

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

// takeReserved takes need out of stock and returns the reserved part of it.
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
