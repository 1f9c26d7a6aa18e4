package config

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// markUnreadable says what an entry is that should be a disabled mark.
func MarkUnreadable(e registry.Entry) error {
	return faultError{reason.MarkUnreadable(e.Unreadable)}
}

// faultError is what is wrong with an entry, where there is a code for it.
type faultError struct{ why reason.Reason }

func (e faultError) Error() string { return e.why.String() }

// faultOf is what an error says as a reason.
func faultOf(err error) reason.Reason {
	if e := (faultError{}); errors.As(err, &e) {
		return e.why
	}
	return reason.FromText(err.Error())
}

// unreadableMarks are notes on the disabled marks of a job and its app.
func (k *Set) UnreadableMarks(j *Job) (notes []reason.Reason) {
	for _, path := range []string{store.Under(store.PathJobDisabled, j.name), store.Under(store.PathAppDisabled, j.cfg.AppName)} {
		if k.HasFault(path) {
			notes = append(notes, reason.OfPath(path, k.faulty[path].why))
		}
	}
	return notes
}
