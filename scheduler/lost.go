package scheduler

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// isLost reports whether a term ended because the registry can't be used any more: no other one will begin by itself.
// The error says what to do, and so it is the answer to requests.
func isLost(err error) bool { return errors.Is(err, registry.ErrUnusable) }

// notStored answers a change whose commit the registry did not take, and never will.
func notStored(err error) *core.Error {
	return core.Errorf(core.Unavailable, "registry_lost", "the change was not made: %v", err)
}

// notMade answers who came too late for the term.
func notMade() *core.Error {
	return core.Errorf(core.Unavailable, "term_ended", "the term has ended; the change was not made: try again shortly")
}

// endedMeanwhile answers a request that waited as the term ended.
func endedMeanwhile(term registry.Term) *core.Error {
	if err := term.Err(); isLost(err) {
		return core.Errorf(core.OutcomeUnknown, "registry_lost", "the request may have been done: %v", err)
	}
	return core.Errorf(core.OutcomeUnknown, "term_ended", "the term ended; the request may have been done: repeat it with the same Idempotency-Key, or look first")
}

// notLeading answers who asks where no term is.
func (s *Scheduler) notLeading() *core.Error {
	if s.lost {
		return core.Errorf(core.Unavailable, "registry_lost", "no change is taken and nothing is launched: %s", s.why)
	}
	return core.Errorf(core.Unavailable, "not_leading", "no leader here: %s; try again shortly", s.why)
}

// ended keeps why a term has ended.
func (s *Scheduler) ended(err error) {
	s.set(nil, "its term has ended")
	if isLost(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost, s.why = true, err.Error()
	}
}
