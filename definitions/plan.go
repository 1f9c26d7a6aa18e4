package definitions

import (
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Action says what a step does to an app or job.
type Action string

// The actions.
const (
	Create Action = "create"
	Change Action = "change"
	Remove Action = "remove"
	Keep   Action = "keep"
)

// Step is the change of one app or job.
type Step struct {
	Action Action
	// Definition is the desired state; for Remove it is the server's state.
	*Definition
	// Differences are the fields that change. For a new document they are the fields that differ from the defaults.
	Differences []Difference
	// Withheld are the fields whose secrets the files contain in clear but the server hides. Their values cannot be
	// compared, and the server keeps its own.
	Withheld []string
	// Disable and Enable say whether the app or job is also disabled or enabled, which is no part of the document.
	Disable, Enable bool

	body any // the body of the request; nil if the document does not change
}

// Plan contains the steps after which the server has the apps and jobs of the files. The steps are in the order in
// which they must be performed: apps, then jobs, then the removals of jobs, then those of apps.
type Plan struct {
	Steps []*Step
	// Notes are about options that have no effect.
	Notes []string
}

// PlanOptions say what a plan may include.
type PlanOptions struct {
	// Prune removes the jobs that the files do not define, if they belong to an app that the files define. Files that
	// define an app must then define all its jobs.
	Prune bool
	// PruneApps are the names of apps to remove with all their jobs, unless the files define these.
	PruneApps []string
	// SendSecrets sends the secrets that the files contain in clear, although they cannot be compared with the
	// server's.
	SendSecrets bool
}

// index contains definitions by kind and name, as in Definition.String.
type index map[string]*Definition

func newIndex(all []*Definition) index {
	byName := make(index, len(all))
	for _, d := range all {
		byName[d.String()] = d
	}
	return byName
}

func (i index) has(kind Kind, name string) bool { return i[kind.word()+" "+name] != nil }

// planner compares the files with the server.
type planner struct {
	files, server index
	options       PlanOptions
}

// NewPlan compares the files with the server. Its error is of type Problems, and lists definitions that the server
// would certainly reject.
func NewPlan(set *Set, state *State, options PlanOptions) (*Plan, error) {
	p := &planner{newIndex(set.All), newIndex(state.All), options}
	plan, problems := &Plan{}, Problems(nil)
	for _, d := range set.All {
		step, unknown := newStep(d, p.server[d.String()], options)
		for _, v := range unknown {
			problems = append(problems, Problem{d.positionOf(v.Field), d.String(), v.Field, "", v.Message})
		}
		if d.Kind == Job {
			problems = append(problems, p.checkApp(d)...)
		}
		plan.Steps = append(plan.Steps, step)
	}
	plan.Steps = append(plan.Steps, p.removals(state.All)...)
	plan.Notes = p.unknownApps(state.All)
	return plan, problems.orNil()
}

// unknownApps returns notes about the PruneApps that the server does not have. These are not errors, so that the same
// command succeeds when it is repeated.
func (p *planner) unknownApps(stored []*Definition) (notes []string) {
	var names []string
	for _, d := range stored {
		if d.Kind == App {
			names = append(names, d.Name())
		}
	}
	for _, name := range p.options.PruneApps {
		if slices.Contains(names, name) {
			continue
		}
		note := fmt.Sprintf("--prune-app %s: the server has no such app", name)
		if near := spelling.Nearest(name, names); near != "" {
			note += "; did you mean " + near + "?"
		}
		notes = append(notes, note)
	}
	return notes
}

// checkApp reports a job whose app will not exist.
func (p *planner) checkApp(d *Definition) Problems {
	name := d.Job.AppName
	switch {
	case p.files.has(App, name):
		return nil
	case slices.Contains(p.options.PruneApps, name):
		return Problems{{d.positionOf("appName"), d.String(), "appName", name,
			"would be removed by --prune-app, but this job needs it"}}
	case !p.server.has(App, name):
		return Problems{{d.positionOf("appName"), d.String(), "appName", name,
			"there is no such app, in the files or on the server; add a definition of kind App"}}
	}
	return nil
}

// newStep compares a definition with the server's; server is nil if the server has none. unknown are the placeholders
// of secrets that the server does not have.
func newStep(d, server *Definition, options PlanOptions) (step *Step, unknown document.Violations) {
	step = &Step{Action: Keep, Definition: d}
	if server == nil {
		step.Action, step.body = Create, d.values()
		step.Differences = compare(d.Kind, d.Kind.defaults(), d.shown().values())
		step.Differences = slices.DeleteFunc(step.Differences,
			func(diff Difference) bool { return diff.Field == d.Kind.nameField() })
		for i := range step.Differences {
			step.Differences[i].Old = "" // a new document has no old values
		}
		step.Disable = d.Disabled != nil && *d.Disabled
		return step, d.placeholders()
	}
	u := newUpdate(d, server, options.SendSecrets)
	step.Differences, step.Withheld = u.differences, u.withheld
	if len(u.body) > 0 {
		step.Action, step.body = Change, d.named(u.body)
	}
	if d.Disabled != nil && *d.Disabled != *server.Disabled {
		step.Action, step.Disable, step.Enable = Change, *d.Disabled, !*d.Disabled
	}
	return step, u.unknown
}

// placeholders returns violations for the fields of a new document that contain ******, because the server has no
// secrets for them.
func (d *Definition) placeholders() document.Violations {
	empty := &Definition{Kind: d.Kind}
	return newUpdate(d, empty, false).unknown
}

// named adds the name of the app or job to the fields to send.
func (d *Definition) named(fields map[string]any) map[string]any {
	fields[d.Kind.nameField()] = d.Name()
	return fields
}

// removals returns the steps that remove apps and jobs of the server, jobs before apps. It removes those that the
// files do not define, and that Prune or PruneApps includes.
func (p *planner) removals(stored []*Definition) (steps []*Step) {
	for _, kind := range []Kind{Job, App} {
		for _, d := range stored {
			if d.Kind != kind || p.files[d.String()] != nil {
				continue
			}
			app := d.App.AppName
			if kind == Job {
				app = d.Job.AppName
			}
			pruned := slices.Contains(p.options.PruneApps, app)
			if p.files.has(App, app) {
				pruned = p.options.Prune
			}
			if pruned {
				steps = append(steps, &Step{Action: Remove, Definition: d})
			}
		}
	}
	return steps
}

// Count returns the number of steps with an action.
func (p *Plan) Count(action Action) (n int) {
	for _, s := range p.Steps {
		if s.Action == action {
			n++
		}
	}
	return n
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return p.Count(Keep) == len(p.Steps) }

// Summary describes the plan in one line.
func (p *Plan) Summary() string {
	if p.Empty() {
		return fmt.Sprintf("Nothing differs: %d unchanged.", len(p.Steps))
	}
	return fmt.Sprintf("%d to create, %d to change, %d to remove, %d unchanged.", p.Count(Create), p.Count(Change),
		p.Count(Remove), p.Count(Keep))
}
