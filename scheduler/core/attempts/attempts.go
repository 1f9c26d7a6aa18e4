package attempts

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
)

// Attempts applies the reports about tasks to their attempts. It holds the rules; the state that they change belongs
// to the parts of state.State.
type Attempts struct {
	st        *state.State
	places    sandbox.Places
	daemons   *daemons.Daemons
	recording *recording.Recording
	// nextSweep is when Sweep next checks all tasks. killsCheckedAt is when ResendKills last ran, and agentsAskedAt
	// when the agents of orphans of removed frameworks were last asked about.
	nextSweep, killsCheckedAt, agentsAskedAt time.Time
	silence                                  silence
}

// New returns the Attempts of a term over its state.
func New(s *state.State, p sandbox.Places, d *daemons.Daemons, r *recording.Recording) *Attempts {
	return &Attempts{st: s, places: p, daemons: d, recording: r}
}

// Wake returns when Sweep is to be called next, in the time of the term; zero while there is neither a task nor an
// orphan.
func (as *Attempts) Wake() time.Time {
	if as.st.Executions.NumTasks()+as.st.Orphans.Len() == 0 {
		return time.Time{}
	}
	return as.nextSweep
}
