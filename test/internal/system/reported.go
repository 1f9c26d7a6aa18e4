package system

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ShardsAtOnce is the greatest number of shards of a storm that run at the same time: those of one run of each job.
const ShardsAtOnce = 6

// SettleReported is Settle for a storm in which lost tasks are not run again. Every shard of every fire and trigger
// must have started once, ended once and be FINISHED; or it must be LOST with a cause that contains one of the reasons,
// and have started at most once. At most maxLost shards may be lost.
func (s *Storm) SettleReported(maxLost int, reasons ...string) string {
	m := s.m
	m.Helper()
	s.calm()
	starts, ends := m.Ran()
	hasReason := func(shard Shard) bool {
		return slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(shard.FailureCause, r) })
	}
	fires, known, finished, lost := map[string][]time.Time{}, map[string]bool{}, 0, 0
	for job, shards := range shardsOf {
		for _, e := range m.executions(job) {
			known[e.ExecutionID] = true
			fires[job] = append(fires[job], e.FireTime)
			if len(e.Shards) != shards {
				m.Errorf("promise 1: %d shards of %s, want %d: %+v", len(e.Shards), e.ExecutionID, shards, e)
			}
			for _, shard := range e.Shards {
				part := Part{e.ExecutionID, shard.Item}
				switch {
				case shard.State == "FINISHED" && starts[part] == 1 && ends[part] == 1:
					finished++
				case shard.State == "LOST" && hasReason(shard) && starts[part] <= 1 && ends[part] <= starts[part]:
					lost++
					m.Logf("%+v is lost, began %d times, ended %d times: %s", part, starts[part], ends[part],
						shard.FailureCause)
				default:
					m.Errorf("promises 1 and 2: %+v began %d times and ended %d times, and the server reports %s: %+v",
						part, starts[part], ends[part], shard.State, e)
				}
			}
		}
	}
	for part := range starts {
		if ofStorm(part.Execution) && !known[part.Execution] {
			m.Errorf("%+v began, but the server does not know its execution", part)
		}
	}
	if lost > maxLost {
		m.Errorf("%d shards are lost, want %d at most", lost, maxLost)
	}
	s.checkNoGap(fires["patient"])
	s.checkTriggers(func(id string) bool { return known[id] })
	return fmt.Sprintf("%d fires of patient, %d of hasty, %d triggers: %d shards began once and FINISHED, "+
		"%d began at most once and are LOST",
		len(fires["patient"]), len(fires["hasty"]), len(s.triggered), finished, lost)
}

// executions returns all runs of a job.
func (m *Machine) executions(job string) (all []Execution) {
	m.Helper()
	const limit = 1000
	var list []struct{ ExecutionID string }
	m.Get(fmt.Sprint("/api/job/", job, "/executions?limit=", limit), &list)
	if len(list) == limit {
		m.Fatalf("%s has %d runs or more", job, limit)
	}
	for _, e := range list {
		all = append(all, m.Execution(e.ExecutionID))
	}
	return all
}
