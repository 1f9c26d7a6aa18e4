package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// offerFlow has the offers of the master, and what the master was last called for about offers in this session:
// REVIVE, SUPPRESS, filters. It holds the offers that are needed and declines all others, so that other frameworks
// get them (promise 6).
type offerFlow struct {
	shared *step.Shared
	held   *offers.Pool
	timing reviveTiming
	flowState
}

// flowState is the part of offerFlow that ends with a session.
type flowState struct {
	suppressed bool
	// filtered is set once offers were declined that a shard could have used, had it waited: the master offers those
	// resources again when the filter ends, or after a REVIVE, which clears the field.
	// refused is set once offers were declined that no waiting shard could use.
	filtered, refused bool
	revivedAt         time.Time
	// need has the offers that are held ahead; revivedFor is the moment up to which the last REVIVE was sent for
	// it.
	need       need
	revivedFor time.Time
	wake       time.Time
	// probeUntil keeps SUPPRESS back: the next offers are to show which executors run.
	probeUntil time.Time
	// unplaced are the wants that the last round could not place, and since when; unplacing those of the present
	// round. declineBackoff is how long the filters have become, and declineBackoffGrew when they last did.
	unplaced, unplacing map[want]time.Time
	declineBackoff      int
	declineBackoffGrew  time.Time
	// taskEnded is set if a task has ended since the last REVIVE for shards that start together, which was sent at
	// together.
	taskEnded bool
	together  time.Time
	nextLook  time.Time // when this step's look at the offers wants the next
}

// want is the size that a waiting shard needs on an agent. Shards with equal wants fit or fail together.
type want struct {
	shard, executor resources.Amount
	executorKey     string
	together        int // shards that start together, else 1
}

// need describes which offers are held for future launches, as findNeed last determined.
type need struct {
	// upTo is the moment up to which launches were considered; second is the second of the wall clock that it is
	// in.
	upTo, second time.Time
	// some is set if a launch is due before upTo; all if too many are due to match them, so that every offer is
	// held.
	some, all bool
	// agents are those whose offers are held for it.
	agents map[string]bool
	// shortFor is the latest fire that the offers at hand cannot satisfy, zero if they satisfy all.
	shortFor time.Time
}

// reviveTiming measures how long the master takes to answer a REVIVE with offers. It outlives sessions, since the
// masters of one cluster are much alike.
type reviveTiming struct {
	// answer is the time from REVIVE to the first offers, an average in which late answers weigh more than early
	// ones.
	answer time.Duration
	// known is set when there was an answer.
	known bool
	// askedAt is when the REVIVE was sent that no offers have answered yet; else zero.
	askedAt time.Time
}

// outlook is what the decisions about offers depend on beside the offers themselves.
type outlook struct {
	// waits is set when a shard could be launched if an agent had the resources, hopeless when one waits that fits no
	// agent, idle when nothing is to be launched whatever waits.
	waits, hopeless, idle bool
	// roundOpen is set while not all that waits has seen the offers at hand.
	roundOpen bool
	// nextFire is when the next fire of a cron is due by the wall clock, zero when there is none.
	nextFire    time.Time
	reservation *reservation
	// maintained are the agents where nothing is placed because of their maintenance.
	maintained map[string]reason.Reason
	// runs reports whether an executor of a key runs on an agent and takes tasks.
	runs func(agent, executorKey string) bool
}
