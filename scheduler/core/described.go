package core

import (
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/wire"
)

// described is how large the descriptions of an execution's tasks are, and what that was reckoned for.
type described struct {
	job   *jobs.Config // of an execution that was not launched, as the version of its app is; nil for the settings of one that was
	app   int64
	each  int // at least the size of any of them in a call
	alike int // what all of them have in common
}

// sharedDescription is what all tasks of an execution are sent, which is encoded once for all that wait.
func (e *execution) sharedDescription(encode func() wire.Shared) wire.Shared {
	p := e.prepare()
	if p.encoded == nil {
		p.encoded = encode()
	}
	return p.encoded
}

// keepDescribed keeps how large the descriptions of an execution's tasks are.
func (e *execution) keepDescribed(d described) { e.described = d }

// with is an execution as it is, or, before its first launch, as it would be with those settings.
func (e *execution) with(s *settings) *execution {
	if e.launched() {
		return e
	}
	return &execution{ID: e.ID, Job: e.Job, Fire: e.Fire, Source: e.Source, Settings: s}
}
