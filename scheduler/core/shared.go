package core

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// shared is what the core and its parts share: what time it is, what people have set, and what was decided so
// far. Parts that need some of it have it. A part asks for an effect here, and changes no state but its own.
type shared struct {
	opt Options
	clock.Clock
	timers clock.Timers
	rnd    rand.Source
	out    Effects
	stats  stats.Stats
	ofJobs stats.PerJob // the part of stats that is kept for single jobs
}

// Effects are what the parts of a core want done in a step.
type Effects struct {
	// Calls go to the present session, in this order.
	Calls []Call
	// Notes are what happened, for the log.
	Notes []Note
	// Changed is what people see otherwise.
	Changed Changed
	// Fenced is set when a fenced commit must come before the calls (rule T6).
	Fenced bool
}

// setRandom has ids be made of the randomness of a step.
func (s *shared) setRandom(rnd rand.Source) { s.rnd = rnd }

// effects are those so far.
func (s *shared) effects() *Effects { return &s.out }

// takeEffects returns those of a step that ends. The next one begins without any.
func (s *shared) takeEffects() Effects {
	out := s.out
	s.out = Effects{}
	return out
}

// fence has a fenced commit come before the calls of the step (rule T6).
func (s *shared) fence() { s.out.Fenced = true }

// seeCluster notes that agents, offers, executors or the subscription differ for people.
func (s *shared) seeCluster() { s.out.Changed.Cluster = true }

func (s *shared) call(call Call)     { s.out.Calls = append(s.out.Calls, call) }
func (s *shared) note(n Note)        { s.out.Notes = append(s.out.Notes, n) }
func (s *shared) wakeAt(t time.Time) { s.timers.At(t, func(time.Time) {}) }

// resendTogether is how far apart two moments are at least at which something is to be sent again: each that was answered
// meanwhile would wake the core for nothing.
const resendTogether = 250 * time.Millisecond

// wakeToResend has a step when what was sent just now, for the tries-th time, is to be sent again, or a little later.
func (s *shared) wakeToResend(tries int) {
	due := s.Now().Add(Backoff(s.opt.ResendFirst, s.opt.ResendMost, tries-1))
	s.wakeAt(due.Add(resendTogether - 1).Truncate(resendTogether))
}

// kill asks for the end of a task, with so much time between SIGTERM and SIGKILL.
func (s *shared) kill(taskID, agentID string, grace time.Duration, reason string) {
	s.call(CallKill{cluster.Kill{TaskID: taskID, AgentID: agentID, Grace: grace, Reason: reason}})
}

// reconcile asks about tasks, if there are any.
func (s *shared) reconcile(refs []cluster.TaskRef) {
	const most = 1000
	for len(refs) > 0 {
		part := refs[:min(most, len(refs))]
		s.call(CallReconcile{part})
		refs = refs[len(part):]
	}
}

// uuid makes a random version 4 UUID from the step's randomness.
func (s *shared) uuid() string {
	a, b := s.rnd.Uint64(), s.rnd.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(0xc0<<56) | 0x80<<56
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}
