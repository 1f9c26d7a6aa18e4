package config

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
)

// AppChanged is a committed change of an app's document or disabled mark (rule T4).
type AppChanged struct {
	Name string
	// Config is nil when the app was deleted.
	Config   *app.Config
	Version  int64
	Disabled bool
	// Notes are hints about a document that somebody else wrote.
	Notes []string
	// Bytes is the size of the document as it is stored.
	Bytes int
	// MarkOnly: the document did not change, only its disabled mark. Bytes is not said then.
	MarkOnly bool
}

// JobChanged is a committed change of a job's document or disabled mark (rule T4).
type JobChanged struct {
	Name string
	// Config is nil when the job was deregistered.
	Config   *jobs.Config
	Version  int64
	Disabled bool
	// Shutdown is set with Disabled when what was launched runs to its end (rule F11).
	Shutdown bool
	// Notes are hints about a document that somebody else wrote.
	Notes []string
	// Bytes is the size of the document as it is stored.
	Bytes int
	// MarkOnly: the document did not change, only its disabled mark. Bytes is not said then.
	MarkOnly bool
}

// MarkChanged is an external edit that has set or removed the disabled mark at
// Path (rule F6).
type MarkChanged struct {
	Path     string
	Disabled bool
	// Shutdown is set with Disabled when what was launched runs to its end (rule F11).
	Shutdown bool
}

// DocumentFaulty is an external edit that has left a document that can't be
// used. The last good one stays in force; the next change replaces it.
type DocumentFaulty struct {
	Path    string
	Why     reason.Reason
	Version int64
}

// CoreEvent marks an event.
func (AppChanged) CoreEvent() {}

// CoreEvent marks an event.
func (JobChanged) CoreEvent() {}

// CoreEvent marks an event.
func (MarkChanged) CoreEvent() {}

// CoreEvent marks an event.
func (DocumentFaulty) CoreEvent() {}
