package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// offerFlow owns the offers of the master, and the state of the calls about offers in this session: REVIVE, SUPPRESS
// and filters. It holds the offers that are needed and declines all others, so that other frameworks get them (promise
// 6).
type offerFlow struct {
	shared *step.Shared
	held   *offers.Pool
	timing reviveTiming
	flowState
}

// flowState is the part of offerFlow that is reset with each session.
type flowState struct {
	suppressed bool
	// filtered is set once offers were declined that a shard could have used if it had waited then. The master offers
	// those resources again when the filter ends, or after a REVIVE, which clears the field. refused is set once
	// offers were declined that no waiting shard could use.
	filtered, refused bool
	revivedAt         time.Time
	// need describes the offers that are held for future launches. revivedFor is the time up to which the last REVIVE
	// asked for them.
	need       need
	revivedFor time.Time
	// wake is when the held offers must be checked next; zero for never.
	wake time.Time
	// probeUntil delays SUPPRESS, because the next offers are to show which executors run.
	probeUntil time.Time
	// unplaced has the wants that the last round could not place, each with the time since when. unplacing has those
	// of the present round. declineBackoff is the index of the present filter in declineBackoffs, and
	// declineBackoffGrew the time at which it last grew.
	unplaced, unplacing map[want]time.Time
	declineBackoff      int
	declineBackoffGrew  time.Time
	// taskEnded is set if a task has ended since the last REVIVE for a gang. gangRevivedAt is the time of that REVIVE.
	taskEnded     bool
	gangRevivedAt time.Time
	nextCheck     time.Time // the earliest check of the offers that this step has requested; zero for none
}

// want is the resources that a waiting shard needs on an agent. Shards with equal wants fit or fail together.
type want struct {
	shard, executor resources.Amount
	executorKey     string
	gangSize        int // number of shards that start together, 1 for a shard that starts alone
}

// need describes which offers are held for future launches, according to the last findNeed.
type need struct {
	// upTo is the time up to which launches were considered; second is the second of the wall clock that contains it.
	upTo, second time.Time
	// launchDue is set if a launch is due before upTo. allAgents is set if too many launches are due to match them, so
	// that every offer is held.
	launchDue, allAgents bool
	// agents are those whose offers are held for future launches.
	agents map[string]bool
	// shortFor is the latest fire that the offers at hand cannot satisfy, zero if they satisfy all.
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
	// shard fits no agent, and launchesStopped when nothing may be launched now.
	shardsWait, someNeverFit, launchesStopped bool
	// roundOpen is set while some waiting shard has not been matched with the offers at hand.
	roundOpen bool
	// nextFire is when the next fire of a cron is due by the wall clock, zero when there is none.
	nextFire    time.Time
	reservation *reservation
	// excluded has the agents where nothing is placed, with the reasons (state.State.Excluded).
	excluded map[string]reason.Reason
	// hasExecutor reports whether an agent has an executor of that key that takes tasks.
	hasExecutor func(agent, executorKey string) bool
}
