// Package machines keeps the marks of cordoned machines: nothing new is placed on the agents of a machine with a mark.
// Operators set marks. The server itself marks machines that flap, and machines with processes that can't be ended.
//
// A machine is named by the host name of its agents, which is the node name on Kubernetes. So a mark outlives the ids
// of agents, sessions and leaders: it is stored, and stays until someone removes it or its end has come, whether an
// agent of the machine is known or not. The package places nothing and ends nothing: state.State combines the marks
// with the known agents, and placement asks it where nothing may be placed.
package machines

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Mark is the cordon of one machine. A Set returns copies; only its methods change the marks.
type Mark struct {
	// Since is when the machine was cordoned, in the time of the term. A later request for the same machine replaces
	// By, Reason and Until only.
	Since time.Time `json:"since"`
	// By is the name of the requester, "" without authentication. Reason is the requester's text.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Until is when the cordon ends by itself, by the wall clock, because people specify it; zero for never.
	Until time.Time `json:"until,omitzero"`
	// Flapping is how often the machine was silent before the server cordoned it for that, 0 for any other cordon.
	// Ends is when such a cordon ends, in the time of the term; Until only shows it.
	Flapping int       `json:"flapping,omitempty"`
	Ends     time.Time `json:"ends,omitzero"`
	// Dead is when an operator declared the machine dead, in the time of the term; zero if none has (rule M2).
	Dead time.Time `json:"dead,omitzero"`
	// Draining is since when the machine is drained, zero if it is only cordoned (rule M3). Deadline is when the
	// remaining tasks are stopped, zero for never. Drained is since when none remains. All are in the time of the term.
	Draining time.Time `json:"draining,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	Drained  time.Time `json:"drained,omitzero"`
}

// Set keeps the mark of every cordoned machine. Between any two calls of its methods, changed has the name of every
// machine whose mark differs from what is stored.
type Set struct {
	shared  *step.Shared
	marks   map[string]*Mark
	changed store.Changed
}

// New returns a Set without marks.
func New(s *step.Shared) *Set { return &Set{shared: s, marks: map[string]*Mark{}} }

// Len returns the number of cordoned machines.
func (s *Set) Len() int { return len(s.marks) }

// Names lists the cordoned machines, sorted.
func (s *Set) Names() []string { return step.SortedKeys(s.marks) }

// IsCordoned reports whether a machine is cordoned.
func (s *Set) IsCordoned(machine string) bool { return s.marks[machine] != nil }

// Get returns the mark of a machine; false if it is not cordoned.
func (s *Set) Get(machine string) (m Mark, found bool) {
	if kept := s.marks[machine]; kept != nil {
		return *kept, true
	}
	return m, false
}

// Cordon marks a machine, or replaces the requester, the reason and the end of its mark. It returns whether anything
// has changed.
func (s *Set) Cordon(machine, by, why string, until time.Time) (changed bool) {
	kept := s.marks[machine]
	if kept != nil && kept.Reason == why && kept.Until.Equal(until) {
		return false
	}
	m := Mark{Since: s.shared.Now(), By: by, Reason: why, Until: until.UTC()}
	if kept != nil {
		m.Since, m.Dead = kept.Since, kept.Dead
		m.Draining, m.Deadline, m.Drained = kept.Draining, kept.Deadline, kept.Drained
	}
	s.marks[machine] = &m
	s.noteChange(machine, step.NoteMachineCordoned, s.Why(machine).String())
	return true
}

// CordonFlapping marks a machine because it was silent that many times. The mark, or an earlier one of this kind, then
// ends at ends, in the time of the term. If the machine is cordoned for another reason, CordonFlapping changes nothing
// and returns false.
func (s *Set) CordonFlapping(machine string, times int, ends time.Time) (changed bool) {
	m := Mark{Since: s.shared.Now(), Until: s.shared.Shown(ends).UTC(), Flapping: times, Ends: ends,
		Reason: fmt.Sprintf("cordoned by the server: silent %d times within an hour", times)}
	if kept := s.marks[machine]; kept != nil {
		if kept.Flapping == 0 {
			return false
		}
		m.Since = kept.Since
	}
	s.marks[machine] = &m
	s.noteChange(machine, step.NoteMachineCordoned, s.Why(machine).String())
	return true
}

// CordonUnkilled marks a machine because processes of a task there can't be ended, until it is uncordoned. A mark that
// would end by itself is replaced; any other stays as it is.
func (s *Set) CordonUnkilled(machine, task string) {
	if kept := s.marks[machine]; kept == nil || !s.endOf(kept).IsZero() {
		s.Cordon(machine, "", "cordoned by the server: processes of task "+task+" can't be ended", time.Time{})
	}
}

// MaxDeadline is the longest time after which a drain may stop the remaining tasks.
const MaxDeadline = 30 * 24 * time.Hour

// Drain marks a machine, whose cordon exists already, as one that is to be emptied. after is when the remaining
// tasks are stopped, counted from now; 0 for never. A drain that goes on gets the new deadline.
func (s *Set) Drain(machine string, after time.Duration) {
	m := *s.marks[machine]
	m.Flapping, m.Ends = 0, time.Time{} // it is an operator's from now on, and ends by Until only
	if m.Draining.IsZero() {
		m.Draining = s.shared.Now()
	}
	m.Deadline = time.Time{}
	if after > 0 {
		m.Deadline = s.shared.Now().Add(after)
	}
	s.marks[machine] = &m
	s.noteChange(machine, step.NoteMachineDraining, m.Reason)
}

// Draining lists the machines that are drained, sorted, also those on which nothing is left.
func (s *Set) Draining() (machines []string) {
	for _, machine := range s.Names() {
		if !s.marks[machine].Draining.IsZero() {
			machines = append(machines, machine)
		}
	}
	return machines
}

// SetDrained records whether nothing is left on a machine that is drained, and returns drained unchanged.
func (s *Set) SetDrained(machine string, drained bool) bool {
	kept := s.marks[machine]
	if drained != kept.Drained.IsZero() {
		return drained
	}
	m := *kept
	m.Drained = time.Time{}
	if drained {
		m.Drained = s.shared.Now()
		s.shared.Note(step.Note{Kind: step.NoteMachineDrained, Detail: machine})
	}
	s.marks[machine] = &m
	s.changed.Add(machine)
	s.shared.ClusterChanged()
	s.shared.MarkPresence()
	return drained
}

// DeclareDead marks a machine as dead, so that nothing is placed there until it is uncordoned: an agent that is seen
// there again may be alive with tasks that are being done elsewhere. It returns false if the machine is marked so
// already.
func (s *Set) DeclareDead(machine, by, why string) (changed bool) {
	m := Mark{Since: s.shared.Now(), By: by, Reason: why, Dead: s.shared.Now()}
	if kept := s.marks[machine]; kept != nil {
		if !kept.Dead.IsZero() {
			return false
		}
		m.Since = kept.Since
	}
	s.marks[machine] = &m
	s.noteChange(machine, step.NoteMachineDead, s.Why(machine).String())
	return true
}

// Uncordon removes the mark of a machine, and returns whether there was one.
func (s *Set) Uncordon(machine string) (changed bool) {
	if s.marks[machine] == nil {
		return false
	}
	delete(s.marks, machine)
	s.noteChange(machine, step.NoteMachineUncordoned, "on request")
	return true
}

// Expire removes the marks whose end has come, and returns whether there were any. It is called in each step.
func (s *Set) Expire() (changed bool) {
	for _, machine := range s.Names() {
		until := s.marks[machine].Until
		if end := s.endOf(s.marks[machine]); !end.IsZero() && !end.After(s.shared.Now()) {
			delete(s.marks, machine)
			s.noteChange(machine, step.NoteMachineUncordoned, "its cordon ended at "+until.Format(time.RFC3339))
			changed = true
		}
	}
	return changed
}

// endOf returns when a cordon ends by itself, in the time of the term; zero for never.
func (s *Set) endOf(m *Mark) time.Time {
	if !m.Ends.IsZero() || m.Until.IsZero() {
		return m.Ends
	}
	return s.shared.InTerm(m.Until)
}

// noteChange marks a machine as changed, logs why, and requests the checks that depend on where shards may be placed.
func (s *Set) noteChange(machine string, kind step.NoteKind, detail string) {
	s.changed.Add(machine)
	s.shared.Note(step.Note{Kind: kind, Detail: machine + ": " + detail})
	s.shared.ClusterChanged()
	s.shared.MarkPresence()
	s.shared.NeedChanged()
	s.shared.RequestMatch()
}

// Wake returns when the next mark ends, in the time of the term; zero for never.
func (s *Set) Wake() (at time.Time) {
	for _, m := range s.marks {
		if end := s.endOf(m); !end.IsZero() && (at.IsZero() || end.Before(at)) {
			at = end
		}
	}
	return at
}

// Why returns the reason that users see why nothing is placed on a machine; none if it is not cordoned.
func (s *Set) Why(machine string) reason.Reason {
	m := s.marks[machine]
	if m == nil {
		return reason.Reason{}
	}
	if !m.Dead.IsZero() {
		return reason.DeclaredDead(s.shared.Shown(m.Dead), m.By, m.Reason)
	}
	if m.Flapping > 0 {
		return reason.MachineFlaps(machine, m.Flapping, m.Until)
	}
	return reason.Cordoned(s.shared.Shown(m.Since), m.Until, m.By, m.Reason)
}

// Restore adds a stored mark while a term is loaded. It fails if value cannot be decoded.
func (s *Set) Restore(machine string, value []byte) error {
	var m Mark
	if err := json.Unmarshal(value, &m); err != nil {
		return err
	}
	s.shared.Clamp(0, &m.Since, &m.Dead, &m.Draining, &m.Drained)
	s.shared.Clamp(MaxDeadline, &m.Deadline)
	s.shared.Clamp(time.Hour, &m.Ends)
	s.marks[machine] = &m
	return nil
}

// Write adds the changed marks to a commit.
func (s *Set) Write(c *store.Commit) { store.PutChanged(c, store.PathMachine, s.marks, &s.changed) }
