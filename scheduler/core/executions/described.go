package executions

import (
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Described is how large the descriptions of an execution's tasks are, in bytes, with the versions of the settings
// that this was computed for.
type Described struct {
	// Job and App are the job's document and the version of its app, for an execution that was not launched; nil and 0
	// for one that was.
	Job   *jobs.Config
	App   int64
	Each  int // at least the size of any of them in a call
	Alike int // what all of them have in common
}

// SharedDescription returns what all tasks of the execution are sent. encode is called once for all shards that
// wait, and its result kept until LaunchedAll. The execution must have settings.
func (e *Execution) SharedDescription(encode func() wire.Shared) wire.Shared {
	p := e.Prepare()
	if p.encoded == nil {
		p.encoded = encode()
	}
	return p.encoded
}

// KeepDescribed keeps how large the descriptions of the tasks are. It is a cache: what is stored of the execution
// stays the same.
func (e *Execution) KeepDescribed(d Described) { e.described = d }

// With returns the execution unchanged or, before its first launch, a copy of it with these settings and without
// shards, which belongs to no Set.
func (e *Execution) With(s *Settings) *Execution {
	if e.Launched() {
		return e
	}
	return &Execution{rec: record{ID: e.rec.ID, Job: e.rec.Job, Fire: e.rec.Fire, Source: e.rec.Source, Settings: s}}
}
