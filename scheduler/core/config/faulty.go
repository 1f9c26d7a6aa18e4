package config

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// MarkUnreadable returns the error for the entry of a disabled mark that cannot be read.
func MarkUnreadable(e registry.Entry) error {
	return faultError{reason.MarkUnreadable(e.Unreadable)}
}

// faultError is an error that has a reason with a code.
type faultError struct{ why reason.Reason }

func (e faultError) Error() string { return e.why.String() }

// faultOf returns the reason of an error: its code if it has one, else its text.
func faultOf(err error) reason.Reason {
	if e := (faultError{}); errors.As(err, &e) {
		return e.why
	}
	return reason.FromText(err.Error())
}

// UnreadableMarks returns a note for each disabled mark, of a job and of its app, that cannot be read. The job must
// have a document.
func (k *Set) UnreadableMarks(j *Job) (notes []reason.Reason) {
	for _, path := range []string{store.Under(store.PathJobDisabled, j.name),
		store.Under(store.PathAppDisabled, j.cfg.AppName)} {
		if k.HasFault(path) {
			notes = append(notes, reason.OfPath(path, k.faulty[path].why))
		}
	}
	return notes
}

// AddFault records that the document or mark at a path cannot be used, and why; version is its version in the
// registry.
func (k *Set) AddFault(path string, why error, version int64) {
	k.faulty[path] = Fault{why: faultOf(why), version: version, since: k.shared.Wall()}
}

// Fault is the reason why a document or a mark in the registry cannot be used ([D15]). The zero value is no fault.
type Fault struct {
	why     reason.Reason
	version int64
	since   time.Time // as far as this leader knows
}

// HasFault reports whether the document or mark at a path cannot be used.
func (k *Set) HasFault(path string) bool { return !k.faulty[path].why.IsZero() }

// MarkFaulty applies an external edit after which a document or mark cannot be used. The last good document stays in
// force.
func (k *Set) MarkFaulty(e DocumentFaulty) {
	k.shared.Note(step.Note{Kind: step.NoteFaulty, Detail: e.Path + ": " + e.Why.String(), Problem: true})
	since := k.shared.Wall()
	if f, ok := k.faulty[e.Path]; ok {
		since = f.since
	}
	k.faulty[e.Path] = Fault{e.Why, e.Version, since}
	dir, name := store.Split(e.Path)
	switch dir {
	case store.PathApps:
		if a := k.apps[name]; a != nil {
			a.version = e.Version
		}
	case store.PathJobs:
		if j := k.jobs[name]; j != nil {
			j.version = e.Version
		} else {
			k.JobOrRemoved(name) // so that explain answers for it
		}
	}
}

// IsFaulty reports whether a job cannot be run because the only document of it, or of its app, cannot be used. It is
// false while the last good document is in force.
func (k *Set) IsFaulty(j *Job) bool {
	if j.cfg == nil {
		return k.HasFault(store.Under(store.PathJobs, j.name))
	}
	return k.apps[j.cfg.AppName] == nil && k.HasFault(store.Under(store.PathApps, j.cfg.AppName))
}

// Faults lists the paths of documents and marks that cannot be used, sorted.
func (k *Set) Faults() []string { return step.SortedKeys(k.faulty) }

// FaultAt returns the fault of the document or mark at a path; the zero Fault if it has none.
func (k *Set) FaultAt(path string) Fault { return k.faulty[path] }

// NumFaults returns the number of documents and marks that cannot be used.
func (k *Set) NumFaults() int { return len(k.faulty) }

// Why returns the reason that users see why the document or mark cannot be used.
func (f Fault) Why() reason.Reason { return f.why }

// Since returns when this leader found the fault, by the wall clock. The document may have been unusable for longer.
func (f Fault) Since() time.Time { return f.since }
