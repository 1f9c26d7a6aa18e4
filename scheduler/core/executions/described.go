package executions

import (
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Described has the sizes of the descriptions of an execution's tasks, in bytes, with the versions of the settings for
// which they were computed.
type Described struct {
	// Job and App are the job's document and the version of its app. They are nil and 0 once the execution is launched,
	// because its settings then do not change.
	Job         *jobs.Config
	App         int64
	TaskBytes   int // upper bound of the size of one description in a call
	SharedBytes int // size of the part that all descriptions share
}

// SharedDescription returns the part of the description that is the same for all tasks of the execution. encode is
// called once for all waiting shards, and its result is kept until FinishLaunch. The execution must have settings.
func (e *Execution) SharedDescription(encode func() wire.Shared) wire.Shared {
	p := e.Prepare()
	if p.encoded == nil {
		p.encoded = encode()
	}
	return p.encoded
}

// KeepDescribed caches the sizes of the descriptions of the tasks. The sizes are not stored in the registry.
func (e *Execution) KeepDescribed(d Described) { e.described = d }

// With returns the execution itself if it was launched. Otherwise it returns a copy with these settings and without
// shards, which belongs to no Set.
func (e *Execution) With(s *Settings) *Execution {
	if e.Launched() {
		return e
	}
	return &Execution{rec: record{ID: e.rec.ID, Job: e.rec.Job, Fire: e.rec.Fire, Source: e.rec.Source, Settings: s}}
}
