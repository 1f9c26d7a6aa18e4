package config

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// AppChanged is a committed change of an app's document or disabled mark (rule T4).
type AppChanged struct {
	Name string
	// Config is nil when the app was deleted.
	Config   *app.Config
	Version  int64
	Disabled bool
	// Notes are hints about a document that was edited externally.
	Notes []string
	// Bytes is the size of the document as it is stored; not set with MarkOnly.
	Bytes int
	// MarkOnly is set if only the disabled mark has changed, and not the document.
	MarkOnly bool
}

// JobChanged is a committed change of a job's document or disabled mark (rule T4).
type JobChanged struct {
	Name string
	// Config is nil when the job was deregistered.
	Config   *jobs.Config
	Version  int64
	Disabled bool
	// Shutdown is set with Disabled if launched executions run to their end (rule F11).
	Shutdown bool
	// Notes are hints about a document that was edited externally.
	Notes []string
	// Bytes is the size of the document as it is stored; not set with MarkOnly.
	Bytes int
	// MarkOnly is set if only the disabled mark has changed, and not the document.
	MarkOnly bool
}

// MarkChanged is an external edit that has set or removed the disabled mark at Path (rule F6).
type MarkChanged struct {
	Path     string
	Disabled bool
	// Shutdown is set with Disabled if launched executions run to their end (rule F11).
	Shutdown bool
}

// DocumentFaulty is an external edit after which the document or mark at Path cannot be used. The last good document
// stays in force until the next change.
type DocumentFaulty struct {
	Path    string
	Why     reason.Reason
	Version int64
}

// CoreEvent makes it a step.Event.
func (AppChanged) CoreEvent() {}

// CoreEvent makes it a step.Event.
func (JobChanged) CoreEvent() {}

// CoreEvent makes it a step.Event.
func (MarkChanged) CoreEvent() {}

// CoreEvent makes it a step.Event.
func (DocumentFaulty) CoreEvent() {}
