package system

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ShardsAtOnce is the number of shards of a storm that run at the same time.
const ShardsAtOnce = 6

// SettleTold is Settle for a storm in which lost tasks are not run again. Every shard of every fire and trigger must
// have started once, ended once and be FINISHED; or it must be LOST with a cause that contains one of the reasons,
// and have started at most once. At most this many shards may be lost.
func (s *Storm) SettleTold(most int, reasons ...string) string {
	m := s.m
	m.Helper()
	s.calm()
	starts, ends := m.Ran()
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
				case shard.State == "LOST" && slices.ContainsFunc(reasons,
					func(words string) bool {
						return strings.Contains(shard.FailureCause,
							words)
					}) && starts[part] <= 1 && ends[part] <= starts[part]:
					lost++
					m.Logf("%+v is lost, begun %d times, ended %d times: %s", part, starts[part], ends[part],
						shard.FailureCause)
				default:
					m.Errorf("promises 1 and 2: %+v began %d times and ended %d times, and is said to be %s: %+v",
						part, starts[part], ends[part], shard.State, e)
				}
			}
		}
	}
	for part := range starts {
		if ofStorm(part.Execution) && !known[part.Execution] {
			m.Errorf("%+v began, of which the server knows nothing", part)
		}
	}
	if lost > most {
		m.Errorf("%d shards are lost, want %d at most", lost, most)
	}
	s.noneMissing(fires["patient"])
	s.eachKeyItsOwn(func(id string) bool { return known[id] })
	return fmt.Sprintf("%d fires of patient, %d of hasty, %d triggers: %d shards finished, which began once and ended once, %d lost, which began once at most and are said to be lost",
		len(fires["patient"]), len(fires["hasty"]), len(s.asked), finished, lost)
}

// executions returns all runs of a job.
func (m *Machine) executions(job string) (all []Execution) {
	m.Helper()
	const most = 1000
	var list []struct{ ExecutionID string }
	m.Get(fmt.Sprint("/api/job/", job, "/executions?limit=", most), &list)
	if len(list) == most {
		m.Fatalf("%s has more than %d runs", job, most)
	}
	for _, e := range list {
		all = append(all, m.Execution(e.ExecutionID))
	}
	return all
}
