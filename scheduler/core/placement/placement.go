package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/tasks"
)

// Placement decides which shard goes where: it matches waiting shards with the offers at hand, launches the shards
// that fit, and holds, declines and requests offers.
type Placement struct {
	st      *state.State
	tasks   *tasks.Describer
	daemons Daemons
	fires   Fires
	flow    offerFlow
	unfit   unfit
	// upTo is where the next match continues the round, zero to begin a new one. roundOffers is how many offers had
	// been received when the round began.
	upTo        executions.LaunchKey
	roundOffers int64
	// reservation is nil while there is none; lastReservation has, by execution, when its last reservation ended
	// without a launch.
	reservation     *reservation
	lastReservation map[string]time.Time
	// accepts has the unanswered ACCEPTs of this session; acceptSeq is the number of the last ACCEPT.
	accepts   map[int64]*sentAccept
	acceptSeq int64
	items     []int // 0, 1, 2, …
	// moving are the shards of daemons that are to run on other agents.
	moving []Moving
}

// Fires is the part of package fires that Placement needs.
type Fires interface {
	// Next returns when the next fires are due by the wall clock; false for never.
	Next() (time.Time, bool)
	// Making reports whether a batch of fires that are due up to a time of the term is being made, in this step and
	// the next ones.
	Making(upTo time.Time) bool
	// Upcoming returns the fires up to a time of the wall clock that are still to be made, or false if there are more
	// than limit. They are valid until the next call.
	Upcoming(upTo time.Time, limit int) ([]executions.Fire, bool)
}

// Daemons prepares the launches of daemons' shards.
type Daemons interface {
	// PrepareLaunch completes the task with which a daemon's shard is about to be launched, and prepares the record of
	// its runs.
	PrepareLaunch(e *executions.Execution, item int, task *executions.NewTask)
}

// sentAccept lists the tasks and executors of an unanswered ACCEPT.
type sentAccept struct {
	tasks, executors []string
}

// New returns a Placement without offers.
func New(s *state.State, t *tasks.Describer, d Daemons, f Fires) *Placement {
	return &Placement{st: s, tasks: t, daemons: d, fires: f, flow: offerFlow{shared: s.Shared, held: offers.NewPool()},
		lastReservation: map[string]time.Time{}, accepts: map[int64]*sentAccept{}}
}

// BeginSession forgets the offers of the last session and voids its ACCEPTs, which cannot arrive any more (rules
// L3, L4).
func (pl *Placement) BeginSession() {
	pl.flow.beginSession()
	pl.accepts = map[int64]*sentAccept{}
	pl.st.RequestMatch()
}

// roundOpen reports whether some waiting shard has not been matched with the offers at hand.
func (pl *Placement) roundOpen() bool {
	return pl.st.MatchRequested() || pl.upTo != (executions.LaunchKey{})
}

// TakeAnswered removes the ACCEPT with number seq, which the master has answered, and returns the tasks and executors
// that it named. It returns false if the ACCEPT was voided or answered before.
func (pl *Placement) TakeAnswered(seq int64) (tasks, executors []string, ok bool) {
	sent := pl.accepts[seq]
	if sent == nil {
		return nil, nil, false
	}
	delete(pl.accepts, seq)
	return sent.tasks, sent.executors, true
}

// itemsUpTo returns 0 to n-1. Demands only read the list, so all share one.
func (pl *Placement) itemsUpTo(n int) []int {
	for len(pl.items) < n {
		pl.items = append(pl.items, len(pl.items))
	}
	return pl.items[:n:n]
}

// reservation keeps agents for one execution that has waited long: no later execution is placed on them, so that they
// drain (rule L2).
type reservation struct {
	exec   string
	agents map[string]bool
	// since is when the reservation began; until is when the tasks that ran on the agents at that time should have
	// ended. drained is since when no task of this framework, except those of daemons, has been on the agents, zero
	// while there is one. Once they have drained, the reservation soon expires, even before until (see expired).
	since, until, drained time.Time
}

// holds reports whether an agent is reserved; a nil reservation holds none.
func (r *reservation) holds(agent string) bool { return r != nil && r.agents[agent] }

// expired reports whether the time of the reservation is over: at until, or when its agents have been drained for the
// time beyond.
func (r *reservation) expired(now time.Time, beyond time.Duration) bool {
	return !now.Before(r.until) || !r.drained.IsZero() && !now.Before(r.drained.Add(beyond))
}

// demand is a Demand for Match and the execution that it belongs to.
type demand struct {
	offers.Demand
	exec        *executions.Execution
	settings    *executions.Settings
	executorKey string
}

// Offer adds an offer and requests a match.
func (pl *Placement) Offer(o cluster.Offer) {
	pl.flow.held.Add(offers.Offer{ID: o.ID, Agent: o.AgentID, Host: o.Hostname, Free: o.Resources,
		MaxTasks: o.MaxTasks, Reserved: reservedOf(o), Received: pl.st.Now()})
	pl.st.RequestMatch()
}

// RecordReviveAnswer records that offers have arrived, which answers the last REVIVE. It is called once for all offers
// of an event.
func (pl *Placement) RecordReviveAnswer() {
	pl.flow.timing.offersArrived(pl.st.Now(), pl.st.Opt.OfferAhead)
	pl.st.NeedChanged()
}

// DeclineEmpty declines offers that have no resources which a task could use, with the longest filter.
func (pl *Placement) DeclineEmpty(ids []string) {
	empty := make([]offers.Offer, len(ids))
	for i, id := range ids {
		empty[i].ID = id
	}
	pl.flow.decline(empty, pl.st.Opt.MaxRefuse)
}

// Rescind forgets an offer that the cluster has taken back.
func (pl *Placement) Rescind(id string) {
	pl.flow.held.Rescind(id)
	pl.st.NeedChanged()
}

// RemoveAgent forgets the offers of an agent that was removed.
func (pl *Placement) RemoveAgent(id string) { pl.flow.held.TakeAgent(id) }

// Clear forgets all offers, because the session ended.
func (pl *Placement) Clear() { pl.flow.held.Clear() }

// RecordTaskEnd records that a task has ended, so that some agent has more free resources.
func (pl *Placement) RecordTaskEnd() { pl.flow.taskEnded = true }

// ResetClock forgets for which launches a REVIVE was sent, because the wall clock was set and fires are due at other
// times of the term.
func (pl *Placement) ResetClock() { pl.flow.forgetRevivedFor() }

// Probe asks for offers only to see which executors they name (rule X3), at most once in a step.
func (pl *Placement) Probe() { pl.flow.reviveToProbe() }

// Lead returns how long before resources are needed a REVIVE is sent for them.
func (pl *Placement) Lead() time.Duration { return pl.flow.lead() }

// Wake returns when the held offers must be checked next, in the time of the term; zero for never.
func (pl *Placement) Wake() time.Time { return pl.flow.wake }

// Held returns the offers at hand, for readers.
func (pl *Placement) Held() HeldOffers { return pl.flow.held }

// HeldOffers are the offers at hand, for readers.
type HeldOffers interface {
	// Len returns the number of offers.
	Len() int
	// Sum returns the resources of all offers together.
	Sum() resources.Amount
	// Free returns the resources of all offers of an agent together.
	Free(agent string) resources.Amount
	// Oldest returns when the oldest offer of an agent arrived, in the time of the term; zero if there is none.
	Oldest(agent string) time.Time
}

// Reserved describes a reservation: the agents that are kept for an execution, since when, and until when at most.
type Reserved struct {
	Execution    string
	Agents       []string
	Since, Until time.Time
}

// Reserved returns the present reservation; false if there is none (rule L2).
func (pl *Placement) Reserved() (r Reserved, ok bool) {
	if pl.reservation == nil {
		return r, false
	}
	return Reserved{pl.reservation.exec, step.SortedKeys(pl.reservation.agents), pl.reservation.since,
		pl.reservation.until}, true
}

// Suppressed reports whether offers are suppressed: the cluster was asked to send none (SUPPRESS).
func (pl *Placement) Suppressed() bool { return pl.flow.suppressed }

// RevivedAt returns when a REVIVE was last sent in this session, zero for never.
func (pl *Placement) RevivedAt() time.Time { return pl.flow.revivedAt }
