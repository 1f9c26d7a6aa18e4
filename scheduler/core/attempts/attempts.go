package attempts

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
)

// Attempts follows the tasks of attempts: what reports of them mean, and what follows from that. It kills and times out, and
// keeps what was given up as orphans.
type Attempts struct {
	*state.State
	places    sandbox.Places
	daemons   *daemons.Daemons
	recording *recording.Recording
	// nextSweep is the next look at the timeouts of all tasks; killsLookedAt is when it was last looked which kills are to be
	// sent again, and agentsAskedAt when it was last asked whether the agents of orphans of removed frameworks are registered.
	nextSweep, killsLookedAt, agentsAskedAt time.Time
}

func New(s *state.State, p sandbox.Places, d *daemons.Daemons, r *recording.Recording) *Attempts {
	return &Attempts{State: s, places: p, daemons: d, recording: r}
}

// wake is when tasks are to be looked at for their timeouts.
func (as *Attempts) Wake() time.Time {
	if as.Executions.NumTasks()+as.Orphans.Len() == 0 {
		return time.Time{}
	}
	return as.nextSweep
}
