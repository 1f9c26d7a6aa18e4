package definitions

import (
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Action is what a step does with an app or job.
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
	// Definition is the wanted state; for Remove it is the server's state.
	*Definition
	// Differences are the fields that change. For a new document they are the fields that differ from the defaults.
	Differences []Difference
	// Withheld are the fields with secrets that are in clear in the files and hidden by the server. They cannot be
	// compared, and are left unchanged.
	Withheld []string
	// Disable and Enable are the changes beside the document.
	Disable, Enable bool

	body any // the body of the request; nil if the document does not change
}

// Plan contains the steps that make the server have what the files define, in their order: apps before their jobs,
// and removals last, jobs before their apps.
type Plan struct {
	Steps []*Step
	// Notes are about options without effect.
	Notes []string
}

// PlanOptions say what a plan may include.
type PlanOptions struct {
	// Prune removes jobs that the files do not define, if they belong to an app that the files define. A set of files
	// that defines an app must define all its jobs.
	Prune bool
	// PruneApps are removed with all their jobs, unless the files define them.
	PruneApps []string
	// SendSecrets sends secrets that are in clear in the files, although they cannot be compared with the server's.
	SendSecrets bool
}

// index finds definitions by kind and name.
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

// NewPlan compares the files with the server. Its error is of type Problems, and lists what the server would
// certainly reject.
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

// unknownApps returns notes about PruneApps that the server does not have. They are no errors, so that applying twice
// with the same options succeeds.
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

// newStep compares a definition with the server's; server is nil if it has none.
func newStep(d, server *Definition, options PlanOptions) (step *Step, unknown document.Violations) {
	step = &Step{Action: Keep, Definition: d}
	if server == nil {
		step.Action, step.body = Create, d.values()
		step.Differences = compare(d.Kind, d.Kind.defaults(), d.shown().values())
		step.Differences = slices.DeleteFunc(step.Differences,
			func(one Difference) bool { return one.Field == d.Kind.fields()[0] })
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

// placeholders reports the fields of a new document that contain ******. The server has no secret for any of them.
func (d *Definition) placeholders() document.Violations {
	empty := &Definition{Kind: d.Kind}
	return newUpdate(d, empty, false).unknown
}

// named adds the name of the definition to the fields to send.
func (d *Definition) named(fields map[string]any) map[string]any {
	fields[d.Kind.fields()[0]] = d.Name()
	return fields
}

// removals returns the steps that remove what only the server has and pruning covers, jobs before apps.
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
			defined := p.files.has(App, app)
			if defined && p.options.Prune || !defined && slices.Contains(p.options.PruneApps, app) {
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
