// Package definitions keeps apps and jobs as YAML files, and brings a server to what the files say.
//
//	files ──Read──▶ Set ──┐
//	                      ├─ NewPlan ──▶ Plan ── Show ──▶ a diff for people
//	server ──Fetch──▶ State ┘                 └─ Apply ──▶ requests, one report each
//	                   └─ Encode ──▶ files
//
// A definition is the server's own document with its kind in front of it:
//
//	kind: Job
//	jobName: nightly
//	appName: billing
//	…
//
// The fields are not nested below the kind, so that what GET answers, what a form of the console shows and what stands
// in git are the same lines. Reading, comparing and showing are pure; Fetch and Apply send requests by a Server.
package definitions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Kind is what a definition defines.
type Kind string

// The kinds.
const (
	App Kind = "App"
	Job Kind = "Job"
)

// word is the kind in a sentence.
func (k Kind) word() string {
	if k == App {
		return "app"
	}
	return "job"
}

// Place is a line of a file, or with 0 the whole file; the zero Place is nowhere.
type Place struct {
	File string
	Line int
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Definition is one app or one job.
type Definition struct {
	Kind Kind
	// App is the document of an app, Job that of a job.
	App app.Config
	Job jobs.Config
	// Disabled says whether it is to be disabled; nil leaves it as it is.
	Disabled *bool
	// At is where it was read.
	At Place

	lines map[string]int // of its fields
}

// Name is the app's or the job's name.
func (d *Definition) Name() string {
	if d.Kind == App {
		return d.App.AppName
	}
	return d.Job.JobName
}

// String names the definition in a sentence: "job nightly".
func (d *Definition) String() string { return d.Kind.word() + " " + d.Name() }

// shown is the definition as the server would show it, with its secrets hidden.
func (d *Definition) shown() *Definition {
	s := *d
	s.App, s.Job = d.App.WithoutSecrets(), d.Job.WithoutSecrets()
	return &s
}

// sortAll puts apps before jobs, and each by name.
func sortAll(all []*Definition) {
	slices.SortStableFunc(all, func(a, b *Definition) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name(), b.Name()))
	})
}
