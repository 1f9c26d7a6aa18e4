package offers

import (
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Reserved is an amount that belongs to one reservation of our role.
type Reserved struct {
	// Key tells reservations apart and says nothing else here.
	Key    string
	Amount resources.Amount
}

// Stock is what the offers of one agent hold, for taking it apart into what each executor and task gets: the matcher
// counts with sums, but the cluster wants to know of each amount which reservation it is taken from.
type Stock map[string]resources.Amount // by the key of the reservation

// NewStock is what offers of one agent hold together.
func NewStock(of []Offer) Stock {
	s := Stock{}
	for i := range of {
		for _, r := range of[i].Reserved {
			s[r.Key] = s[r.Key].Plus(r.Amount)
		}
	}
	return s
}

// Take takes an amount out and says what of it is reserved, in the order of keys; the rest is unreserved. CPU and
// memory are split each for itself. Nothing unreserved is taken of what there is still a reserved amount: only our
// role can use what is reserved for it, every framework what is unreserved. Who keeps what it gets for longer takes
// first.
//
// That all which is taken is there is the matcher's to see to.
func (s Stock) Take(need resources.Amount) []Reserved {
	var taken []Reserved
	for _, key := range slices.Sorted(maps.Keys(s)) {
		have := s[key]
		part := resources.Amount{CPUMilli: within(need.CPUMilli, have.CPUMilli),
			MemMilli: within(need.MemMilli, have.MemMilli)}
		if part.IsZero() {
			continue
		}
		s[key], need = have.Minus(part), need.Minus(part)
		taken = append(taken, Reserved{key, part})
	}
	return taken
}

// within is how much of need there is, nothing below zero.
func within(need, have int64) int64 { return max(0, min(need, have)) }
