package step

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Shared is what the core and its parts share: what time it is, what people have set, and what was decided so
// far. Parts that need some of it have it. A part asks for an effect here, and changes no state but its own.
type Shared struct {
	Opt Options
	clock.Clock
	Timers  clock.Timers
	rnd     rand.Source
	out     Effects
	Numbers stats.Stats
	// match and need say that something has changed since the last match, and since it was found out which offers future
	// launches need, that may change the result.
	match, need bool
	draining    bool
	OfJobs      stats.PerJob // the part of stats that is kept for single jobs
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

// SetRandom has ids be made of the randomness of a step.
func (s *Shared) SetRandom(rnd rand.Source) { s.rnd = rnd }

// Effects are those so far.
func (s *Shared) Effects() *Effects { return &s.out }

// TakeEffects returns those of a step that ends. The next one begins without any.
func (s *Shared) TakeEffects() Effects {
	out := s.out
	s.out = Effects{}
	return out
}

// Fence has a fenced commit come before the calls of the step (rule T6).
func (s *Shared) Fence() { s.out.Fenced = true }

// SeeCluster notes that agents, offers, executors or the subscription differ for people.
func (s *Shared) SeeCluster() { s.out.Changed.Cluster = true }

func (s *Shared) Call(call Call)     { s.out.Calls = append(s.out.Calls, call) }
func (s *Shared) Note(n Note)        { s.out.Notes = append(s.out.Notes, n) }
func (s *Shared) WakeAt(t time.Time) { s.Timers.At(t, func(time.Time) {}) }

// resendTogether is how far apart two moments are at least at which something is to be sent again: each that was answered
// meanwhile would wake the core for nothing.
const resendTogether = 250 * time.Millisecond

// SweepEvery is how often all live tasks are looked at for timeouts.
const SweepEvery = 5 * time.Second

// WakeToResend has a step when what was sent just now, for the tries-th time, is to be sent again, or a little later.
func (s *Shared) WakeToResend(tries int) {
	due := s.Now().Add(Backoff(s.Opt.ResendFirst, s.Opt.ResendMost, tries-1))
	s.WakeAt(due.Add(resendTogether - 1).Truncate(resendTogether))
}

// Kill asks for the end of a task, with so much time between SIGTERM and SIGKILL.
func (s *Shared) Kill(taskID, agentID string, grace time.Duration, reason string) {
	s.Call(CallKill{Kill: cluster.Kill{TaskID: taskID, AgentID: agentID, Grace: grace, Reason: reason}})
}

// Reconcile asks about tasks, if there are any.
func (s *Shared) Reconcile(refs []cluster.TaskRef) {
	const most = 1000
	for len(refs) > 0 {
		part := refs[:min(most, len(refs))]
		s.Call(CallReconcile{Tasks: part})
		refs = refs[len(part):]
	}
}

// UUID makes a random version 4 UUID from the step's randomness.
func (s *Shared) UUID() string {
	a, b := s.rnd.Uint64(), s.rnd.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(0xc0<<56) | 0x80<<56
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

// Drain begins the end of everything on the cluster: nothing is launched any more (rule O4).
func (s *Shared) Drain() { s.draining = true }

// Draining reports whether everything on the cluster is being ended.
func (s *Shared) Draining() bool { return s.draining }

// MatchAgain requests a match in this step, because something may fit now that did not before.
func (s *Shared) MatchAgain() { s.match = true }

// MatchAt requests a match at a time; the zero time is for never.
func (s *Shared) MatchAt(at time.Time) {
	if !at.IsZero() {
		s.Timers.At(at, func(time.Time) { s.match = true })
	}
}

// MatchWanted reports whether a match was requested since the last one.
func (s *Shared) MatchWanted() bool { return s.match }

// Matched notes that a match was made, or that none is needed.
func (s *Shared) Matched() { s.match = false }

// NeedChanged notes a change, of anything but time, by which other offers may be needed for future launches.
func (s *Shared) NeedChanged() { s.need = true }

// TakeNeedChanged reports whether there was one since it was called last.
func (s *Shared) TakeNeedChanged() bool {
	changed := s.need
	s.need = false
	return changed
}
