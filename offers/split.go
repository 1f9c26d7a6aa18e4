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

// Stock is the total of the offers of one agent, from which the amounts of each executor and task are taken. The
// matcher counts with sums, but the cluster requires for each amount the reservation that it is taken from.
type Stock map[string]resources.Amount // by the key of the reservation

// NewStock returns the total of the offers of one agent.
func NewStock(of []Offer) Stock {
	s := Stock{}
	for i := range of {
		for _, r := range of[i].Reserved {
			s[r.Key] = s[r.Key].Plus(r.Amount)
		}
	}
	return s
}

// Take removes an amount and returns its reserved parts in the order of keys; the rest is unreserved. CPU and memory
// are split independently. Reserved amounts are used up first, because only this framework's role can use them, while
// every framework can use unreserved ones. The caller must take the amounts that are held longest first.
//
// The matcher ensures that the whole amount is available.
func (s Stock) Take(need resources.Amount) []Reserved {
	var taken []Reserved
	for _, key := range slices.Sorted(maps.Keys(s)) {
		have := s[key]
		part := resources.Amount{CPUMilli: available(need.CPUMilli, have.CPUMilli),
			MemMilli: available(need.MemMilli, have.MemMilli)}
		if part.IsZero() {
			continue
		}
		s[key], need = have.Minus(part), need.Minus(part)
		taken = append(taken, Reserved{key, part})
	}
	return taken
}

// available returns how much of need is available, at least zero.
func available(need, have int64) int64 { return max(0, min(need, have)) }
