package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// offerFlow owns the offers that the cluster has made in this session. It remembers which calls about offers it has
// made: REVIVE, SUPPRESS and declines with filters. It holds the offers that are needed and declines all others, so
// that other frameworks get them (promise 6).
type offerFlow struct {
	shared *step.Shared
	held   *offers.Pool
	timing reviveTiming
	flowState
}

// flowState is the part of offerFlow that is reset with each session.
type flowState struct {
	suppressed bool
	// filtered is set once filters may hide resources that a shard could use, so that a waiting shard requires a
	// REVIVE. refused is set once offers were declined that no waiting shard could use; requestRefused turns it into
	// filtered when a change may have made them usable. A REVIVE clears both; the end of a filter clears neither.
	filtered, refused bool
	revivedAt         time.Time
	// need describes the offers that are held for future launches. revivedFor is the time up to which the last REVIVE
	// asked for them; zero if they must be requested again.
	need       need
	revivedFor time.Time
	// wake is when the held offers must be checked next; zero for never.
	wake time.Time
	// probeUntil delays SUPPRESS, because the next offers are to show which executors run.
	probeUntil time.Time
	// A round matches all waiting shards, in one step or in several. unplaced has the wants that the last round could
	// not place, each with the time since which it has been unplaced; unplacing has those of the present round.
	// Neither has wants that no agent can ever hold. declineBackoff is the index of the present filter in
	// declineBackoffs, and declineBackoffGrew the time at which it last grew.
	unplaced, unplacing map[want]time.Time
	declineBackoff      int
	declineBackoffGrew  time.Time
	// taskEnded is set if a task has ended since the last requestForGangs, or if requestForGangs has put off a REVIVE.
	// gangRevivedAt is when a REVIVE was last requested for a gang.
	taskEnded     bool
	gangRevivedAt time.Time
	nextCheck     time.Time // the earliest time at which this step wants the offers checked again; zero for none
}

// want is what a waiting shard needs on an agent: its own resources and, where its executor does not run yet, those of
// the executor. Shards with equal wants fit or fail together.
type want struct {
	shard, executor resources.Amount
	executorKey     string
	gangSize        int // number of shards that start together, 1 for a shard that starts alone
}

// need describes which offers are held for future launches, according to the last findNeed.
type need struct {
	// upTo is the time up to which launches were considered; second is the second of the wall clock that contains it.
	upTo, second time.Time
	// launchDue is set if a launch is due before upTo. allAgents is set if too many launches are due to match them one
	// by one. Then all offers are held.
	launchDue, allAgents bool
	// agents are those whose offers are held for future launches.
	agents map[string]bool
	// shortFor is the latest time at which a launch is due for which the offers at hand do not suffice, but other
	// offers may; zero if there is none.
	shortFor time.Time
}

// reviveTiming measures how long the master takes to answer a REVIVE with offers. It outlives sessions, because the
// masters of one cluster answer about equally fast.
type reviveTiming struct {
	// answer is the time from REVIVE to the first offers, an average in which late answers weigh more than early
	// ones.
	answer time.Duration
	// measured is set after the first answer.
	measured bool
	// askedAt is the time of the REVIVE that no offers have answered yet; zero without one.
	askedAt time.Time
}

// flowInput is the input of the decisions about offers, in addition to the offers themselves.
type flowInput struct {
	// shardsWait is set when a shard could be launched if an agent had the resources, someNeverFit when a waiting
	// shard would not even fit an empty agent, and launchesStopped when nothing may be launched now.
	shardsWait, someNeverFit, launchesStopped bool
	// roundOpen is set while some waiting shard has not been matched with the offers at hand.
	roundOpen bool
	// nextFire is when the next fire of a cron is due by the wall clock, zero when there is none.
	nextFire    time.Time
	reservation *reservation
	// excluded has the agents where nothing is placed, with the reasons (state.State.Excluded).
	excluded map[string]reason.Reason
	// hasExecutor reports whether an agent has an executor with that key that takes tasks and is not silent.
	hasExecutor func(agent, executorKey string) bool
}
