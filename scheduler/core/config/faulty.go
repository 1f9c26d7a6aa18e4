package config

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// MarkUnreadable is the error for an entry that should be a disabled mark and can't be read.
func MarkUnreadable(e registry.Entry) error {
	return faultError{reason.MarkUnreadable(e.Unreadable)}
}

// faultError is an error that has a reason with a code.
type faultError struct{ why reason.Reason }

func (e faultError) Error() string { return e.why.String() }

// faultOf is the reason of an error: its code if it has one, else its text.
func faultOf(err error) reason.Reason {
	if e := (faultError{}); errors.As(err, &e) {
		return e.why
	}
	return reason.FromText(err.Error())
}

// UnreadableMarks returns notes about the disabled marks of a job and of its app that can't be read. The job must
// have a document.
func (k *Set) UnreadableMarks(j *Job) (notes []reason.Reason) {
	for _, path := range []string{store.Under(store.PathJobDisabled, j.name), store.Under(store.PathAppDisabled, j.cfg.AppName)} {
		if k.HasFault(path) {
			notes = append(notes, reason.OfPath(path, k.faulty[path].why))
		}
	}
	return notes
}
