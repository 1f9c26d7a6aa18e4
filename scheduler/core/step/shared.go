// Package step has what all parts of the scheduler core share during a step: the options, the clocks and timers of
// the term, and the effects that are collected until the step ends: calls to the cluster, notes for the log, and the
// changes that views of users show. Any part may add effects; the core takes all of them once, at the end of the step.
// The package knows nothing of jobs, executions or agents, and carries no effect out itself.
package step

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Shared is shared by the core and its parts: the options, the clocks, and the effects of the step so far. A part adds
// effects here and changes no state but its own. It must not be used concurrently.
type Shared struct {
	// Opt does not change during a term.
	Opt Options
	clock.Clock
	// Timers call back in a step at or after a time of the term.
	Timers  clock.Timers
	random  rand.Source
	effects Effects
	// Numbers has the counters and histograms of the term for metrics, which the parts increase. Its gauges stay zero.
	Numbers stats.Stats
	// matchRequested is set if a change since the last match may lead to another result. needChanged is set if a change
	// may alter which offers future launches need.
	matchRequested, needChanged bool
	// presenceChanged is set if an agent became silent, was heard again or left, or a machine was drained, since
	// package incidents last examined the machines.
	presenceChanged bool
	// draining is set for the rest of the term once everything on the cluster is being ended (Drain).
	draining bool
	// JobStats has the counts for the metrics of single jobs.
	JobStats stats.PerJob
}

// Effects collects what a step must do after its commit.
type Effects struct {
	// Calls go to the present session, in this order.
	Calls []Call
	// Notes describe the events of the step for the log.
	Notes []Note
	// Changed names the jobs and other objects whose views have changed.
	Changed Changed
	// Fenced is set if a fenced commit must precede the calls, even if there is nothing to write (rule T6).
	Fenced bool
}

// SetRandom sets the source from which UUID takes its randomness. It is called at the beginning of each step.
func (s *Shared) SetRandom(random rand.Source) { s.random = random }

// Effects returns the effects of the present step so far, for parts that complete them.
func (s *Shared) Effects() *Effects { return &s.effects }

// TakeEffects returns the effects of a step that ends. The next step begins without any.
func (s *Shared) TakeEffects() Effects {
	taken := s.effects
	s.effects = Effects{}
	return taken
}

// Fence requires a fenced commit before the calls of this step, so that only the present leader can make them (rule
// T6).
func (s *Shared) Fence() { s.effects.Fenced = true }

// ClusterChanged records that the views of agents, offers, executors or the subscription changed.
func (s *Shared) ClusterChanged() { s.effects.Changed.Cluster = true }

// Call adds a call to the step. The calls of a step are sent in the order in which they were added, once the step is
// committed.
func (s *Shared) Call(call Call) { s.effects.Calls = append(s.effects.Calls, call) }

// Note adds a note for the log of this step.
func (s *Shared) Note(n Note) { s.effects.Notes = append(s.effects.Notes, n) }

// WakeAt requests a step at a time of the term, at which the parts check what is due.
func (s *Shared) WakeAt(t time.Time) { s.Timers.At(t, func(time.Time) {}) }

// resendGrid is the unit to which resend times are rounded up, so that many resends share one step.
const resendGrid = 250 * time.Millisecond

// SweepInterval is the interval at which all live tasks are checked for timeouts.
const SweepInterval = 5 * time.Second

// WakeToResend requests a step at the time at which a call that is sent in this step must be repeated. tries is how
// often the call was sent, including now.
func (s *Shared) WakeToResend(tries int) {
	due := s.Now().Add(Backoff(s.Opt.MinResendInterval, s.Opt.MaxResendInterval, tries-1))
	s.WakeAt(due.Add(resendGrid - 1).Truncate(resendGrid))
}

// Kill adds a call that asks the agent to end a task, with grace between SIGTERM and SIGKILL.
func (s *Shared) Kill(taskID, agentID string, grace time.Duration, reason string) {
	s.Call(CallKill{Kill: cluster.Kill{TaskID: taskID, AgentID: agentID, Grace: grace, Reason: reason}})
}

// Reconcile adds calls that ask the master about these tasks, of at most 1000 tasks each. Without tasks it does
// nothing, because a call without tasks would ask about all tasks.
func (s *Shared) Reconcile(refs []cluster.TaskRef) {
	const limit = 1000
	for len(refs) > 0 {
		part := refs[:min(limit, len(refs))]
		s.Call(CallReconcile{Tasks: part})
		refs = refs[len(part):]
	}
}

// UUID makes a random version 4 UUID from the step's randomness. It may be called only in a step, after SetRandom.
func (s *Shared) UUID() string {
	a, b := s.random.Uint64(), s.random.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(0xc0<<56) | 0x80<<56
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

// Drain stops launching for the rest of the term, because everything on the cluster is being ended (rule O4).
func (s *Shared) Drain() { s.draining = true }

// Draining reports whether Drain was called in this term.
func (s *Shared) Draining() bool { return s.draining }

// RequestMatch requests a match in this step, because something may fit now that did not before.
func (s *Shared) RequestMatch() { s.matchRequested = true }

// RequestMatchAt requests a match at a time of the term. It does nothing for the zero time.
func (s *Shared) RequestMatchAt(at time.Time) {
	if !at.IsZero() {
		s.Timers.At(at, func(time.Time) { s.matchRequested = true })
	}
}

// MatchRequested reports whether a match was requested since the last call of MatchDone.
func (s *Shared) MatchRequested() bool { return s.matchRequested }

// MatchDone withdraws all requests so far, because a match was made or nothing may be launched.
func (s *Shared) MatchDone() { s.matchRequested = false }

// NeedChanged records a change after which future launches may need other offers. Time passing alone does not count.
func (s *Shared) NeedChanged() { s.needChanged = true }

// MarkPresence records that an agent became silent, was heard again or left, or that a machine was drained.
func (s *Shared) MarkPresence() { s.presenceChanged = true }

// PresenceChanged reports whether MarkPresence was called since the last call of PresenceSeen.
func (s *Shared) PresenceChanged() bool { return s.presenceChanged }

// PresenceSeen forgets the calls of MarkPresence so far, because package incidents has examined the machines.
func (s *Shared) PresenceSeen() { s.presenceChanged = false }

// TakeNeedChanged reports whether NeedChanged was called since the last call of TakeNeedChanged.
func (s *Shared) TakeNeedChanged() bool {
	changed := s.needChanged
	s.needChanged = false
	return changed
}
