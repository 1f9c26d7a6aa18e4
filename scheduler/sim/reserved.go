package sim

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// reservedOf returns the reservations for the framework's role on an agent: none, or on every third agent one of CPU,
// one of both, and one of memory. It uses no random number, so that the worlds of a seed stay the same.
func reservedOf(a *agent) []cluster.Reserved {
	if a.w.agentNo%3 != 0 {
		return nil
	}
	part := func(key string, cpus, memory int64) cluster.Reserved {
		return cluster.Reserved{Key: key,
			Resources: resources.Amount{CPUMilli: a.total.CPUMilli * cpus / 100,
				MemMilli: a.total.MemMilli * memory / 100}}
	}
	return []cluster.Reserved{part("a", 13, 0), part("b", 7, 11), part("c", 0, 23)}
}

func sum(parts []cluster.Reserved) (total resources.Amount) {
	for _, p := range parts {
		total = total.Plus(p.Resources)
	}
	return total
}

// reservedFree returns the unused reservations of an agent. Only the framework's tasks, executors and offers can use
// them.
func (m *master) reservedFree(id string) []cluster.Reserved {
	left := slices.Clone(m.agents[id].a.reserved)
	m.eachClaim(id, func(_ resources.Amount, parts []cluster.Reserved) {
		for _, p := range parts {
			for i := range left {
				if left[i].Key == p.Key {
					left[i].Resources = left[i].Resources.Minus(p.Resources)
				}
			}
		}
	})
	return slices.DeleteFunc(left, func(p cluster.Reserved) bool { return p.Resources.IsZero() })
}

// stock is the rest of the offers of an ACCEPT, by reservation; "" is the unreserved part.
type stock struct {
	left  map[string]resources.Amount
	taken resources.Amount // of the unreserved part
	// disturbed is set when a task was rejected, so that check cannot judge the rest.
	disturbed bool
}

func (s *stock) add(o *offer) {
	s.left[""] = s.left[""].Plus(o.res.Minus(sum(o.reserved)))
	for _, p := range o.reserved {
		s.left[p.Key] = s.left[p.Key].Plus(p.Resources)
	}
}

// take takes an amount with its reserved parts from the stock, and reports whether the stock was sufficient.
func (s *stock) take(total resources.Amount, parts []cluster.Reserved) bool {
	rest := total.Minus(sum(parts))
	there := true
	takePart := func(key string, amount resources.Amount) {
		s.left[key] = s.left[key].Minus(amount)
		there = there && amount.CPUMilli >= 0 && amount.MemMilli >= 0 && s.left[key].CPUMilli >= 0 &&
			s.left[key].MemMilli >= 0
	}
	for _, p := range parts {
		takePart(p.Key, p.Resources)
	}
	takePart("", rest)
	s.taken = s.taken.Plus(rest)
	return there
}

// reservationError returns why the master rejects a task that fits but names other reservations than the offers have,
// or "".
func (m *master) reservationError(k *registeredAgent, t cluster.TaskLaunch, s *stock, started bool) string {
	there := s.take(t.Resources, t.Reserved)
	if _, runs := k.executors[t.Executor.ID]; !runs {
		there = s.take(t.Executor.Resources, t.Executor.Reserved) && there
	}
	if there {
		return ""
	}
	// As in taskError, an executor that the core wrongly believed to run is charged, with the parts of its first start.
	if !started && m.w.now-k.a.executorLost > time.Minute {
		m.w.fail("L7 tasks name what their offers have", "task %s names %+v, and %+v for its executor, on %s",
			t.TaskID, t.Reserved, t.Executor.Reserved, k.a.id)
	}
	return "Total resources required by task and its executor more than available"
}

// check checks that nothing unreserved was taken while something reserved was left.
func (s *stock) check(w *world, a cluster.Launch) {
	var reserved resources.Amount
	for key, left := range s.left {
		if key != "" {
			reserved = reserved.Plus(left)
		}
	}
	if !s.disturbed && (s.taken.CPUMilli > 0 && reserved.CPUMilli > 0 ||
		s.taken.MemMilli > 0 && reserved.MemMilli > 0) {
		w.fail("L7 what is reserved is used first", "%+v of %s is unreserved, and %+v is left that is reserved",
			s.taken, a.AgentID, reserved)
	}
}
