package core

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// FaultyView is a document in the registry that can't be used, and why ([D15]); or a disabled mark
// that can't be read and counts as set.
type FaultyView struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // app or job
	Name string `json:"name"`
	// Why says what is wrong, or why it can't be read.
	Why
	// Since is when this leader found the path's document unusable: at the latest the begin of its term.
	Since time.Time `json:"since"`
	// LastGood is set when the last good document is in force. Without one, nothing new runs.
	LastGood bool `json:"lastGood"`
}

// FaultyDocuments lists all documents in the registry that can't be used, by path.
func (c *Core) FaultyDocuments() []FaultyView {
	out := make([]FaultyView, 0, len(c.config.faulty))
	for _, path := range step.SortedKeys(c.config.faulty) {
		f := c.config.faulty[path]
		dir, name := store.Split(path)
		v := FaultyView{Path: path, Kind: "job", Name: name, Why: whyOf(f.why), Since: f.since.Truncate(time.Millisecond)}
		switch j := c.config.jobs[name]; {
		case dir == store.PathApps:
			v.Kind, v.LastGood = "app", c.config.apps[name] != nil
		case dir == store.PathAppDisabled:
			v.Kind = "app"
		case dir == store.PathJobs && j != nil:
			v.LastGood = j.cfg != nil
		}
		out = append(out, v)
	}
	return out
}

// markUnreadable says what an entry is that should be a disabled mark.
func markUnreadable(e registry.Entry) error {
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
func (k *configuration) unreadableMarks(j *jobState) (notes []reason.Reason) {
	for _, path := range []string{store.Under(store.PathJobDisabled, j.name), store.Under(store.PathAppDisabled, j.cfg.AppName)} {
		if k.hasFault(path) {
			notes = append(notes, reason.OfPath(path, k.faulty[path].why))
		}
	}
	return notes
}
