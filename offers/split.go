package offers

import (
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Reserved is an amount that belongs to one reservation of this framework's role.
type Reserved struct {
	// Key identifies the reservation and has no other meaning here.
	Key    string
	Amount resources.Amount
}

// Stock is the total of the reserved amounts in the offers of one agent. The matcher counts with sums of reserved and
// unreserved amounts, but the cluster requires each executor and task to name the reservations that it uses.
type Stock map[string]resources.Amount // by the key of the reservation

// NewStock returns the reserved total of the offers of one agent.
func NewStock(offers []Offer) Stock {
	s := Stock{}
	for i := range offers {
		for _, r := range offers[i].Reserved {
			s[r.Key] = s[r.Key].Plus(r.Amount)
		}
	}
	return s
}

// Take removes the reserved part of an amount, split by reservation in the order of keys, and returns it; the rest of
// the amount is unreserved. CPU and memory are split independently. Reserved amounts are used up first, because only
// this framework's role can use them, while every framework can use unreserved ones. The caller must first take the
// amounts that will be held longest.
//
// The matcher ensures that the agent's offers contain the whole amount.
func (s Stock) Take(need resources.Amount) []Reserved {
	var parts []Reserved
	for _, key := range slices.Sorted(maps.Keys(s)) {
		have := s[key]
		part := resources.Amount{CPUMilli: available(need.CPUMilli, have.CPUMilli),
			MemMilli: available(need.MemMilli, have.MemMilli)}
		if part.IsZero() {
			continue
		}
		s[key], need = have.Minus(part), need.Minus(part)
		parts = append(parts, Reserved{key, part})
	}
	return parts
}

// available returns how much of need can be covered by have; at least zero.
func available(need, have int64) int64 { return max(0, min(need, have)) }
