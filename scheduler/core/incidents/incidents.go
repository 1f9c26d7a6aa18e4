// Package incidents notifies people when a trouble begins and when it is over: a machine that is silent or flaps, most
// machines silent at once, and a job that is blocked. It also notifies people of a machine that is drained, or
// was to be by now. Failed runs are no incidents: they go to package notifications directly.
//
// The package compares the present conditions (Present) with those that it has reported. The reported ones are stored,
// so that a new leader neither repeats nor forgets a report. The package decides nothing about tasks. It cordons a
// machine that flaps (package machines), so that nothing new is placed there for a while.
package incidents

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machines"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

const (
	// reportAfter is how long a trouble must last to be reported. Most are over before, such as an agent's restart.
	reportAfter = 30 * time.Second
	// overAfter is how long a trouble must be over before its end is reported, so that a machine that comes and goes
	// makes one report of each kind.
	overAfter = time.Minute
	// goneAfter replaces overAfter for a silent machine of which nothing is known any more.
	goneAfter = time.Hour
	// minInterval is the shortest interval between two calls of Observe.
	minInterval = time.Second
	// A machine that is silent for the flapSilences-th time within flapWindow is cordoned for minFlapCordon. Each
	// further silence doubles that time, up to maxFlapCordon. When flapWindow has passed since the end of the cordon
	// without a silence, the next cordon lasts minFlapCordon again.
	flapSilences  = 3
	flapWindow    = time.Hour
	minFlapCordon = 10 * time.Minute
	flapDoublings = 2
	maxFlapCordon = minFlapCordon << flapDoublings
)

// Kind is the kind of a condition.
type Kind string

// Kinds of conditions. The subject of one is the name of a machine or of a job.
const (
	MachineSilent  Kind = "silent"  // a machine's agent, or all executors with tasks there, send nothing
	MostSilent     Kind = "most"    // most machines are silent at once; without a subject
	JobBlocked     Kind = "blocked" // a job can't go on, because an attempt of it may still run on a silent machine
	MachineDrained Kind = "drained" // a machine that was to be emptied is empty
	DrainOverdue   Kind = "overdue" // tasks are left on a machine that was to be empty some minutes ago
)

// Condition is a trouble that holds now.
type Condition struct {
	Kind    Kind
	Subject string
	// Since is when it began, in the time of the term.
	Since time.Time
	// Why describes it in a complete sentence, which people are sent.
	Why reason.Reason
	// Withheld is set if the condition is part of a larger trouble of which people are notified, so that they are not
	// notified of this part.
	Withheld bool
}

// Presence is what is known of a machine.
type Presence int

// Values of Presence.
const (
	Unknown Presence = iota // nothing is known of it; it may be away
	Heard                   // an agent of it is registered
	Gone                    // the cluster has removed its agents and does not expect them back
)

// Present has the present conditions, and what is known of all machines.
type Present struct {
	Conditions []Condition
	// Presence returns what is known of a machine that is not silent.
	Presence func(machine string) Presence
	// Machines counts the known machines, Unreachable those of them that the cluster calls unreachable, and Usable
	// those that are heard and not cordoned.
	Machines, Unreachable, Usable int
}

// incident is a condition that holds, or held lately. It is stored.
type incident struct {
	kind    Kind
	subject string
	// Since is when it began, and Seen when a leader first saw it. Reported is set from the notification of its
	// beginning until that of its end.
	Since    time.Time `json:"since"`
	Seen     time.Time `json:"seen"`
	Reported bool      `json:"reported,omitempty"`
	// Ongoing is set while the condition holds. over is since when it has not held, as far as this leader knows.
	Ongoing bool `json:"ongoing,omitempty"`
	over    time.Time
	// Silences are when the machine last fell silent, the newest last, at most flapSilences. Cordons counts the
	// consecutive cordons for that reason, up to flapDoublings, and CordonedUntil is when the last of them ends.
	Silences      []time.Time `json:"silences,omitempty"`
	Cordons       int         `json:"cordons,omitempty"`
	CordonedUntil time.Time   `json:"cordonedUntil,omitzero"`
}

// Incidents holds the incidents, by kind and subject.
type Incidents struct {
	shared        *step.Shared
	machines      *machines.Set
	notifications *notifications.Notifications
	byKey         map[string]*incident
	changed       store.Changed
	observed      time.Time // when Observe was last called
}

// New returns Incidents without any.
func New(s *step.Shared, m *machines.Set, n *notifications.Notifications) *Incidents {
	return &Incidents{shared: s, machines: m, notifications: n, byKey: map[string]*incident{}}
}

// keyOf returns the key of an incident. No kind contains the separator.
func keyOf(kind Kind, subject string) string { return string(kind) + ":" + subject }

// Restore adds a stored incident while a term is loaded. It fails if value cannot be decoded.
func (is *Incidents) Restore(key string, value []byte) error {
	kind, subject, _ := strings.Cut(key, ":")
	in := incident{kind: Kind(kind), subject: subject}
	if err := json.Unmarshal(value, &in); err != nil {
		return err
	}
	is.shared.Clamp(0, &in.Since, &in.Seen)
	is.shared.Clamp(maxFlapCordon, &in.CordonedUntil)
	for i := range in.Silences {
		is.shared.Clamp(0, &in.Silences[i])
	}
	is.byKey[key] = &in
	return nil
}

// Write adds the changed incidents to a commit.
func (is *Incidents) Write(c *store.Commit) {
	store.PutChanged(c, store.PathIncident, is.byKey, &is.changed)
}

// next returns when Observe is due: every step.SweepInterval, and sooner after a change of the presence of an agent.
// Many agents may change one after the other, and each call reads all tasks.
func (is *Incidents) next() time.Time {
	if is.shared.PresenceChanged() {
		return is.observed.Add(minInterval)
	}
	return is.observed.Add(step.SweepInterval)
}

// Due reports whether Observe is to be called.
func (is *Incidents) Due() bool { return !is.shared.Now().Before(is.next()) }

// Wake returns when Observe is to be called next even if nothing else happens, in the time of the term. It is zero,
// which means never, unless the beginning or the end of an incident may have to be reported.
func (is *Incidents) Wake() (at time.Time) {
	open := is.shared.PresenceChanged()
	for _, in := range is.byKey {
		open = open || in.Ongoing != in.Reported || !in.over.IsZero() && in.Reported
	}
	if !open {
		return at
	}
	if now := is.shared.Now(); !is.next().After(now) {
		return now.Add(step.SweepInterval) // this leader can't tell yet
	}
	return is.next()
}

// Observe compares the present conditions with the reported ones, and notifies people of what has begun and what is
// over. It must be called only while this leader can judge silence: its session is open, and it has listened for long
// enough to find an executor silent.
func (is *Incidents) Observe(now Present) {
	is.observed = is.shared.Now()
	is.shared.PresenceSeen()
	present := map[string]bool{}
	for _, c := range now.Conditions {
		key := keyOf(c.Kind, c.Subject)
		present[key] = true
		is.observe(key, c, &now)
	}
	for _, key := range step.SortedKeys(is.byKey) {
		if !present[key] {
			is.observeAbsent(key, &now)
		}
	}
}

// observe applies a condition that holds.
func (is *Incidents) observe(key string, c Condition, present *Present) {
	in := is.byKey[key]
	switch {
	case !c.Withheld:
	case in == nil || !in.Ongoing:
		return
	case !in.Reported: // what looked like one trouble is a part of the larger one
		in.Ongoing = false
		if n := len(in.Silences); n > 0 {
			in.Silences = in.Silences[:n-1]
		}
		is.changed.Add(key)
		return
	}
	if in == nil {
		in = &incident{kind: c.Kind, subject: c.Subject}
		is.byKey[key] = in
	}
	in.over = time.Time{}
	if !in.Ongoing {
		in.Ongoing = true
		if !in.Reported { // otherwise it has come back before its end was reported, and is the same one
			in.Since, in.Seen = c.Since, is.shared.Now()
		}
		is.changed.Add(key)
		if c.Kind == MachineSilent {
			is.addSilence(in, c.Since, present)
		}
	}
	began := in.Seen
	if c.Kind == MachineSilent {
		began = in.Since
	}
	if !in.Reported && !c.Withheld && (c.Kind == MachineDrained || is.shared.Now().Sub(began) >= reportAfter) {
		in.Reported = true
		is.changed.Add(key)
		is.report(in, c.Why, true)
	}
}

// observeAbsent updates an incident whose condition does not hold.
func (is *Incidents) observeAbsent(key string, present *Present) {
	in, now := is.byKey[key], is.shared.Now()
	seen, after := Heard, overAfter
	if in.kind == MachineSilent {
		seen = present.Presence(in.subject)
	}
	if seen == Unknown {
		after = goneAfter
	}
	if in.over.IsZero() {
		in.over = now
	}
	if in.Ongoing && seen == Heard {
		in.Ongoing = false
		is.changed.Add(key)
	}
	if now.Sub(in.over) < after && in.kind != MachineDrained {
		return
	}
	if in.Reported {
		is.reportOver(in, seen, present)
	}
	if in.Reported || in.Ongoing {
		in.Reported, in.Ongoing = false, false
		is.changed.Add(key)
	}
	if is.isForgettable(in) {
		delete(is.byKey, key)
		is.changed.Add(key)
	}
}

// isForgettable reports whether an incident that is over counts towards no later one.
func (is *Incidents) isForgettable(in *incident) bool {
	now := is.shared.Now()
	return (len(in.Silences) == 0 || now.Sub(in.Silences[len(in.Silences)-1]) > flapWindow) &&
		now.Sub(in.CordonedUntil) > flapWindow
}

// reportOver notifies people of the end of an incident. seen is what is known of its machine.
func (is *Incidents) reportOver(in *incident, seen Presence, present *Present) {
	since, lasted := is.shared.Shown(in.Since), in.over.Sub(in.Since).Round(time.Second)
	m, _ := is.machines.Get(in.subject)
	switch {
	case in.kind == MachineSilent && !m.Dead.IsZero(): // an operator has said so
	case in.kind == MostSilent && present.Unreachable > 0:
		is.report(in, reason.MostUnreachable(present.Unreachable), true)
	case in.kind == MachineSilent && seen == Heard:
		is.report(in, reason.MachineBack(in.subject, lasted), false)
	case in.kind == MachineSilent:
		is.report(in, reason.MachineGone(in.subject, since), false)
	case in.kind == MostSilent:
		is.report(in, reason.MostHeardAgain(lasted), false)
	case in.kind == JobBlocked:
		is.report(in, reason.JobUnblocked(in.subject, lasted), false)
	}
}

// report notifies operators and, if a job is blocked, the people of the job. It also logs the report. trouble is false
// for a report that a trouble is over.
func (is *Incidents) report(in *incident, why reason.Reason, trouble bool) {
	note := step.Note{Kind: step.NoteIncident, Detail: why.String(), Problem: trouble && in.kind != MachineDrained}
	is.notifications.Notify(notifications.Operators, why)
	if in.kind == JobBlocked {
		note.Job = in.subject
		is.notifications.Notify(in.subject, why)
	}
	is.shared.Note(note)
}

// mayCordon reports whether one more machine may be cordoned because it flaps: another must be usable, and at most a
// quarter of all are cordoned for that.
func (is *Incidents) mayCordon(present *Present) bool {
	flapping := 0
	for _, in := range is.byKey {
		if in.CordonedUntil.After(is.shared.Now()) {
			flapping++
		}
	}
	return present.Usable > 0 && 4*flapping < max(present.Machines, 4)
}

// addSilence counts that a machine fell silent, and cordons it if it flaps.
func (is *Incidents) addSilence(in *incident, since time.Time, present *Present) {
	now := is.shared.Now()
	if in.CordonedUntil.After(now) && !is.machines.IsCordoned(in.subject) {
		in.Silences, in.Cordons = nil, 0 // an operator has ended the cordon
	}
	if now.Sub(in.CordonedUntil) > flapWindow {
		in.Cordons = 0
	}
	in.Silences = append(in.Silences, since)
	if len(in.Silences) < flapSilences {
		return
	}
	in.Silences = in.Silences[len(in.Silences)-flapSilences:]
	if now.Sub(in.Silences[0]) > flapWindow || !in.CordonedUntil.After(now) && !is.mayCordon(present) {
		return
	}
	until := now.Add(minFlapCordon << in.Cordons)
	if !is.machines.CordonFlapping(in.subject, flapSilences, until) {
		return // an operator has cordoned it
	}
	in.Cordons, in.CordonedUntil = min(in.Cordons+1, flapDoublings), until
	is.report(in, is.machines.Why(in.subject), true)
}
