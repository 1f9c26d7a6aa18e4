package executions

import (
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/wire"
)

// described is how large the descriptions of an execution's tasks are, and what that was reckoned for.
type Described struct {
	Job   *jobs.Config // of an execution that was not launched, as the version of its app is; nil for the settings of one that was
	App   int64
	Each  int // at least the size of any of them in a call
	Alike int // what all of them have in common
}

// sharedDescription is what all tasks of an execution are sent, which is encoded once for all that wait.
func (e *Execution) SharedDescription(encode func() wire.Shared) wire.Shared {
	p := e.Prepare()
	if p.encoded == nil {
		p.encoded = encode()
	}
	return p.encoded
}

// keepDescribed keeps how large the descriptions of an execution's tasks are.
func (e *Execution) KeepDescribed(d Described) { e.described = d }

// with is an execution as it is, or, before its first launch, as it would be with those settings.
func (e *Execution) With(s *Settings) *Execution {
	if e.Launched() {
		return e
	}
	return &Execution{rec: record{ID: e.rec.ID, Job: e.rec.Job, Fire: e.rec.Fire, Source: e.rec.Source, Settings: s}}
}
