package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/tasks"
)

// Placement decides which shard goes where: it matches what waits with what is on offer, launches what fits, and holds,
// declines and asks for offers. It owns what of that outlives a step, and nothing else can change it.
type Placement struct {
	*state.State
	tasks   *tasks.Describer
	daemons Daemons
	fires   Fires
	flow    offerFlow
	unfit   unfit
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

// Fires are what Placement has to know of fires to come.
type Fires interface {
	// Next is when the next fires are due by the wall clock; false for never.
	Next() (time.Time, bool)
	// Making reports whether fires that are due up to a moment of the term are being made, in this step and the next ones.
	Making(upTo time.Time) bool
	// Soon calls fn with the fires to come up to a moment of the wall clock until it returns true, and reports whether it did.
	Soon(upTo time.Time, fn func(job string, fire time.Time) bool) bool
	// Made reports whether a fire was made already.
	Made(job string, fire time.Time) bool
}

// Daemons hears of the launches of daemons' shards.
type Daemons interface {
	// Launching completes the task that a daemon's shard is launched with, and makes the record of its runs ready.
	Launching(e *executions.Execution, item int, task *executions.NewTask)
}

// sentAccept is an ACCEPT under way: what it named.
type sentAccept struct {
	tasks, executors []string
}

func New(s *state.State, t *tasks.Describer, d Daemons, f Fires) *Placement {
	return &Placement{State: s, tasks: t, daemons: d, fires: f, flow: offerFlow{Shared: s.Shared, held: offers.NewPool()},
		lastReservation: map[string]time.Time{}, accepts: map[int64]*sentAccept{}}
}

// sessionBegan forgets the offers and calls of the last session, and voids its ACCEPTs: they can't arrive any more (rules
// L3, L4).
func (pl *Placement) SessionBegan() {
	pl.flow.sessionBegan()
	pl.accepts = map[int64]*sentAccept{}
	pl.MatchAgain()
}

// roundOpen reports whether not all that waits has seen the offers at hand.
func (pl *Placement) roundOpen() bool { return pl.MatchWanted() || pl.upTo != (executions.LaunchKey{}) }

// answered takes out the ACCEPT of that number, and returns what it named; false if it was voided.
func (pl *Placement) Answered(seq int64) (tasks, executors []string, ok bool) {
	sent := pl.accepts[seq]
	if sent == nil {
		return nil, nil, false
	}
	delete(pl.accepts, seq)
	return sent.tasks, sent.executors, true
}

// itemsUpTo is 0 to n-1; demands only read it, so all share one list.
func (pl *Placement) itemsUpTo(n int) []int {
	for len(pl.items) < n {
		pl.items = append(pl.items, len(pl.items))
	}
	return pl.items[:n:n]
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

// offer takes in an offer.
func (pl *Placement) Offer(o cluster.Offer) {
	pl.flow.held.Add(offers.Offer{ID: o.ID, Agent: o.AgentID, Host: o.Hostname, Free: o.Resources, MaxTasks: o.MaxTasks,
		Reserved: reservedOf(o), Received: pl.Now()})
	pl.MatchAgain()
}

// offersCame notes that offers have come: those that were asked for, if any were. empty are those with nothing for us.
func (pl *Placement) OffersCame() {
	pl.flow.timing.answered(pl.Now(), pl.Opt.OfferAhead)
	pl.NeedChanged()
}

// declineEmpty declines offers with nothing that a task could use.
func (pl *Placement) DeclineEmpty(ids []string) {
	empty := make([]offers.Offer, len(ids))
	for i, id := range ids {
		empty[i].ID = id
	}
	pl.flow.decline(empty, pl.Opt.RefuseMost)
}

// rescind forgets an offer that the cluster has taken back, agentGone those of an agent that was removed, and clear all.
func (pl *Placement) Rescind(id string) {
	pl.flow.held.Rescind(id)
	pl.NeedChanged()
}

func (pl *Placement) AgentGone(id string) { pl.flow.held.TakeAgent(id) }

func (pl *Placement) Clear() { pl.flow.held.Clear() }

// taskEnded notes that resources became free somewhere.
func (pl *Placement) TaskEnded() { pl.flow.taskHasEnded() }

// clockSet forgets for which fires offers were asked for: they have other moments now.
func (pl *Placement) ClockSet() { pl.flow.forgetRevivedFor() }

// probe asks for offers only to see which executors they name (rule X3), once in a step for all.
func (pl *Placement) Probe() { pl.flow.reviveToProbe() }

// lead is how long before resources are needed offers are asked for.
func (pl *Placement) Lead() time.Duration { return pl.flow.lead() }

// wake is when the offers that are held are to be looked at, zero for never.
func (pl *Placement) Wake() time.Time { return pl.flow.wake }

// held are the offers at hand. They are not to be changed.
func (pl *Placement) Held() HeldOffers { return pl.flow.held }

// HeldOffers are the offers at hand.
type HeldOffers interface {
	// Len is how many there are, and Sum how much they hold together.
	Len() int
	Sum() resources.Amount
	// Free is how much is on offer of an agent, and Oldest since when, zero for nothing.
	Free(agent string) resources.Amount
	Oldest(agent string) time.Time
}

// Reserved is a reservation: which agents are kept for which execution, since when, and until when if they drain in time.
type Reserved struct {
	Execution    string
	Agents       []string
	Since, Until time.Time
}

// reserved is the reservation that there is, if there is one (rule L2).
func (pl *Placement) Reserved() (r Reserved, ok bool) {
	if pl.reservation == nil {
		return r, false
	}
	return Reserved{pl.reservation.exec, step.SortedKeys(pl.reservation.agents), pl.reservation.since, pl.reservation.until}, true
}

// suppressed reports whether the cluster was asked for no offers, and revivedAt when it was last asked for some.
func (pl *Placement) Suppressed() bool { return pl.flow.suppressed }

func (pl *Placement) RevivedAt() time.Time { return pl.flow.revivedAt }
