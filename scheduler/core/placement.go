package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// placement is where shards are to go: the round of matches under way, the reservation, and the ACCEPTs that have no answer yet.
type placement struct {
	*step.Shared
	// upTo is where the next match of the round goes on, zero at the top; roundOffers is how many offers had been
	// received when the round began.
	upTo        executions.LaunchKey
	roundOffers int64
	// reservation is nil while there is none; lastReservation is when the last one of an execution ended without a launch.
	reservation     *reservation
	lastReservation map[string]time.Time
	// accepts are the ACCEPTs of this session that have no answer; acceptSeq is the number of the last one.
	accepts   map[int64]*sentAccept
	acceptSeq int64
	items     []int // 0, 1, 2, …
}

// sentAccept is an ACCEPT under way: what it named.
type sentAccept struct {
	tasks, executors []string
}

func newPlacement(s *step.Shared) placement {
	return placement{Shared: s, lastReservation: map[string]time.Time{}, accepts: map[int64]*sentAccept{}}
}

// sessionBegan voids the ACCEPTs of the last session: they can't arrive any more (rules L3, L4).
func (p *placement) sessionBegan() {
	p.accepts = map[int64]*sentAccept{}
	p.MatchAgain()
}

// roundOpen reports whether not all that waits has seen the offers at hand.
func (p *placement) roundOpen() bool { return p.MatchWanted() || p.upTo != (executions.LaunchKey{}) }

// answered takes out the ACCEPT of that number, nil if it was voided.
func (p *placement) answered(seq int64) *sentAccept {
	sent := p.accepts[seq]
	delete(p.accepts, seq)
	return sent
}

// itemsUpTo is 0 to n-1; demands only read it, so all share one list.
func (p *placement) itemsUpTo(n int) []int {
	for len(p.items) < n {
		p.items = append(p.items, len(p.items))
	}
	return p.items[:n:n]
}

// reservation keeps agents for one execution that waited long: no later one is placed on them, so that they drain
// (rule L2).
type reservation struct {
	exec   string
	agents map[string]bool
	// since is when it began; until is when what ran on the agents by then must be over. drained is since when no task of
	// ours is on them, zero while there is one: then there is nothing more to wait for, whatever until says.
	since, until, drained time.Time
}

// holds reports whether an agent is reserved; a nil reservation holds none.
func (r *reservation) holds(agent string) bool { return r != nil && r.agents[agent] }

// expired reports whether the reservation has had its time.
func (r *reservation) expired(now time.Time, beyond time.Duration) bool {
	return !now.Before(r.until) || !r.drained.IsZero() && !now.Before(r.drained.Add(beyond))
}

// demand is a Demand and the execution that it is made of.
type demand struct {
	offers.Demand
	exec        *executions.Execution
	with        *executions.Settings
	executorKey string
}
