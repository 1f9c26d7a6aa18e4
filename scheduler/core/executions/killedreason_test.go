package executions

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// TestKilledReason checks that the reason of a killed execution says how many of its shards had to be ended by force.
// If only shards were killed, it names them.
func TestKilledReason(t *testing.T) {
	t.Parallel()
	asked := reason.Of(reason.KilledOnRequest)
	plain := Shard{rec: shardRecord{Item: 0, State: Killed, attempt: attempt{Cause: asked}}}
	forced := Shard{rec: shardRecord{Item: 1, State: Killed, attempt: attempt{Cause: reason.EndedByForce(asked)}}}
	finished := Shard{rec: shardRecord{Item: 2, State: Finished}}
	for want, e := range map[string]*Execution{
		"": {shards: []Shard{finished}},
		"killed on request": {rec: record{Kill: asked},
			shards: []Shard{plain, finished}},
		"killed on request; 1 of 3 shards went on after SIGTERM until the end of the grace period, and SIGKILL ended it": {
			rec: record{Kill: asked}, shards: []Shard{plain, forced, finished}},
		"shard 0 was killed (1 of 2 shards killed): killed on request":            {shards: []Shard{plain, finished}},
		"shard 1 was killed (2 of 3 shards killed): " + forced.rec.Cause.String(): {shards: []Shard{plain, forced, finished}},
	} {
		if got := e.killedReason(); got.String() != want || want != "" && !e.rec.Kill.IsZero() &&
			got.Code() != asked.Code() {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestKilledShardsOfAFailedRunAreCounted checks that the reason of a failed run counts all shards that did not finish,
// including the killed ones.
func TestKilledShardsOfAFailedRunAreCounted(t *testing.T) {
	t.Parallel()
	boom := reason.FromText("boom")
	for want, states := range map[string][]State{
		"shard 0 failed (1 of 2 shards did not finish): boom":                   {Failed, Finished},
		"shard 0 failed (2 of 2 shards did not finish, 1 of them killed): boom": {Failed, Killed},
		"shard 1 failed (4 of 5 shards did not finish, 2 of them killed): boom": {Killed, Failed, Finished, Failed, Killed},
		"shard 0 was killed (1 of 1 shard killed): boom":                        {Killed},
		"": {Finished, Finished},
	} {
		e := &Execution{rec: record{Settings: &Settings{}}, shards: make([]Shard, len(states))}
		for i, state := range states {
			e.shards[i].rec.Item, e.shards[i].rec.State, e.shards[i].rec.Cause = i, state, boom
		}
		if got := e.Reason().String(); got != want {
			t.Errorf("for shards %v the reason is %q, want %q", states, got, want)
		}
	}
}
