// Package definitions reads and writes files in YAML that define apps and jobs, and changes a server so that it has the
// apps and jobs of the files.
//
//	files ──Read──▶ Set ──┐
//	                      ├─ NewPlan ──▶ Plan ── Show ──▶ a diff for users
//	server ──Fetch──▶ State ┘                 └─ Apply ──▶ requests, one report each
//	                   └─ Encode ──▶ files
//
// A definition is the server's own document, preceded by its kind:
//
//	kind: Job
//	jobName: nightly
//	appName: billing
//	…
//
// The fields are not nested below the kind, so that they are written in the same way in a response of the API, in a
// form of the console and in git. Reading, comparing and showing have no side effects. Fetch, Check and Apply send
// requests through an API.
package definitions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Kind is the kind of a definition.
type Kind string

// The kinds.
const (
	App Kind = "App"
	Job Kind = "Job"
)

// word returns the kind as a word in a sentence.
func (k Kind) word() string {
	if k == App {
		return "app"
	}
	return "job"
}

// Position is a line of a file; line 0 stands for the whole file. The zero Position is unknown.
type Position struct {
	File string
	Line int
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Definition is one app or one job.
type Definition struct {
	Kind Kind
	// App is the document of an app, Job the document of a job.
	App app.Config
	Job jobs.Config
	// Disabled says whether the app or job must be disabled; nil leaves this unchanged.
	Disabled *bool
	// At is the position of the definition in its file.
	At Position

	lines map[string]int // the lines of the fields, by path
}

// Name returns the name of the app or job.
func (d *Definition) Name() string {
	if d.Kind == App {
		return d.App.AppName
	}
	return d.Job.JobName
}

// String names the definition for a sentence, as in "job nightly".
func (d *Definition) String() string { return d.Kind.word() + " " + d.Name() }

// shown returns the definition with its secrets hidden, as the server would show it.
func (d *Definition) shown() *Definition {
	s := *d
	s.App, s.Job = d.App.WithoutSecrets(), d.Job.WithoutSecrets()
	return &s
}

// sortAll sorts apps before jobs, and each kind by name.
func sortAll(all []*Definition) {
	slices.SortStableFunc(all, func(a, b *Definition) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name(), b.Name()))
	})
}
