package attempts

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// TestE1MayHaveBegun checks that an attempt counts as never begun only if this is certain.
func TestE1MayHaveBegun(t *testing.T) {
	t.Parallel()
	uuid, at := []byte("u"), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	terminated := cluster.Update{State: cluster.Failed, Source: cluster.FromAgent,
		Reason: cluster.ReasonExecutorTerminated, UUID: uuid}
	unknown := cluster.Update{State: cluster.Gone, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}
	for name, test := range map[string]struct {
		attempt progressSoFar
		u       cluster.Update
		heard   bool // an update from its executor was committed before
		want    bool
	}{
		"executor ended, never heard":                        {progressSoFar{}, terminated, false, false},
		"executor ended, heard before":                       {progressSoFar{}, terminated, true, true},
		"executor ended, task reported":                      {progressSoFar{seen: executions.SeenStarting}, terminated, false, true},
		"executor ended while it fetched":                    {progressSoFar{seen: executions.SeenStarting, fetching: true}, terminated, true, false},
		"not known to its agent, which had reported a fetch": {progressSoFar{seen: executions.SeenStarting, fetching: true}, unknown, true, true},
		"not known to its agent":                             {progressSoFar{}, unknown, true, false},
		"not known to its agent, which was away":             {progressSoFar{away: true}, unknown, false, true},
		"agent removed":                                      {progressSoFar{}, cluster.Update{State: cluster.Gone, Source: cluster.FromMaster, Reason: cluster.ReasonAgentRemoved}, false, true},
		"gone by an operator":                                {progressSoFar{}, cluster.Update{State: cluster.GoneByOperator, Source: cluster.FromMaster}, false, true},
		"offer gone":                                         {progressSoFar{}, cluster.Update{State: cluster.Dropped, Source: cluster.FromMaster, Reason: cluster.ReasonInvalidOffers}, true, false},
		"not handed over":                                    {progressSoFar{}, cluster.Update{State: cluster.Dropped, Source: cluster.FromAgent, UUID: uuid, Reason: cluster.ReasonExecutorTerminated}, true, false},
		"dropped after it was reported":                      {progressSoFar{seen: executions.SeenRunning}, cluster.Update{State: cluster.Dropped, Source: cluster.FromAgent, UUID: uuid}, true, true},
		"refused by the master":                              {progressSoFar{}, cluster.Update{State: cluster.Error, Source: cluster.FromMaster}, true, false},
		"killed before it was handed over":                   {progressSoFar{}, cluster.Update{State: cluster.Killed, Source: cluster.FromAgent, UUID: uuid, Reason: cluster.ReasonKilledDuringLaunch}, true, false},
		"killed by its executor before its process":          {progressSoFar{seen: executions.SeenStarting}, cluster.Update{State: cluster.Killed, Source: cluster.FromExecutor, UUID: uuid, Status: &wire.Status{}}, true, false},
		"killed by its executor":                             {progressSoFar{}, cluster.Update{State: cluster.Killed, Source: cluster.FromExecutor, UUID: uuid, Status: &wire.Status{StartTime: at}}, true, true},
		"supervisor lost":                                    {progressSoFar{}, cluster.Update{State: cluster.Failed, Source: cluster.FromExecutor, UUID: uuid, Status: &wire.Status{SupervisorLost: true}}, true, true},
		"an end without a cause":                             {progressSoFar{}, cluster.Update{State: cluster.Failed, Source: cluster.FromAgent}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mayHaveBegun(test.attempt, test.u, test.heard); got != test.want {
				t.Errorf("may have begun: %v, want %v", got, test.want)
			}
		})
	}
}

// TestE2SupervisorLost checks that a task counts as lost if the process that supervises it has ended, as if its
// executor had ended.
func TestE2SupervisorLost(t *testing.T) {
	t.Parallel()
	u := cluster.Update{State: cluster.Failed, Source: cluster.FromExecutor, UUID: []byte("u"),
		Status: &wire.Status{SupervisorLost: true}}
	if got := classify(progressSoFar{seen: executions.SeenRunning}, u, true); got != outcomeLost {
		t.Errorf("without a supervisor: %v, want %v", got, outcomeLost)
	}
	u.Status = nil
	if got := classify(progressSoFar{seen: executions.SeenRunning}, u, true); got != outcomeFailed {
		t.Errorf("without a status: %v, want %v", got, outcomeFailed)
	}
}
