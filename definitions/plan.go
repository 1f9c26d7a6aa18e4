package definitions

import (
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Action is what is done about one app or job.
type Action string

// The actions.
const (
	Create Action = "create"
	Change Action = "change"
	Remove Action = "remove"
	Keep   Action = "keep"
)

// Step is what is done about one app or job.
type Step struct {
	Action Action
	// Definition is what is to be, or for Remove what the server has.
	*Definition
	// Differences are the fields that change, those of a new document among them that are not its defaults.
	Differences []Difference
	// Withheld are secrets that the files have in clear and the server hides. They are not compared, and left as they
	// are.
	Withheld []string
	// Disable and Enable say what is done beside the document.
	Disable, Enable bool

	body any // what is sent; nil if only the mark changes
}

// Plan is what makes a server have what the files say, in the order in which it is done: apps before their jobs, and
// what is removed last, jobs before their apps.
type Plan struct {
	Steps []*Step
	// Notes are about options that do nothing.
	Notes []string
}

// PlanOptions say how far a plan goes.
type PlanOptions struct {
	// Prune removes the jobs that the files do not define, of those apps that the files define: whoever defines an app
	// has all its jobs.
	Prune bool
	// PruneApps are removed with all their jobs, unless the files define them.
	PruneApps []string
	// SendSecrets has secrets sent that the files have in clear, although nobody can tell whether they differ.
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

// NewPlan compares the files with the server. The error is Problems: what the server would refuse for sure.
func NewPlan(set *Set, state *State, options PlanOptions) (*Plan, error) {
	p := &planner{newIndex(set.All), newIndex(state.All), options}
	plan, problems := &Plan{}, Problems(nil)
	for _, d := range set.All {
		step, unknown := newStep(d, p.server[d.String()], options)
		for _, v := range unknown {
			problems = append(problems, Problem{d.lineOf(v.Field), d.String(), v.Field, "", v.Message})
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

// unknownApps notes apps that are to be removed and that the server does not have. It is no mistake: a second apply
// with the same options does nothing.
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

// checkApp reports a job whose app there will not be.
func (p *planner) checkApp(d *Definition) Problems {
	name := d.Job.AppName
	switch {
	case p.files.has(App, name):
		return nil
	case slices.Contains(p.options.PruneApps, name):
		return Problems{{d.lineOf("appName"), d.String(), "appName", name,
			"is to be removed by --prune-app, and this job needs it"}}
	case !p.server.has(App, name):
		return Problems{{d.lineOf("appName"), d.String(), "appName", name,
			"there is no such app, in the files or on the server; add a definition of kind App"}}
	}
	return nil
}

// newStep compares one definition with the server's, nil if that has none.
func newStep(d, server *Definition, options PlanOptions) (step *Step, unknown document.Violations) {
	step = &Step{Action: Keep, Definition: d}
	if server == nil {
		step.Action, step.body = Create, d.values()
		step.Differences = compare(d.Kind, d.Kind.defaults(), d.shown().values())
		step.Differences = slices.DeleteFunc(step.Differences,
			func(one Difference) bool { return one.Field == d.Kind.fields()[0] })
		for i := range step.Differences {
			step.Differences[i].Old = "" // there is nothing yet
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

// placeholders are the fields of a new document that hold ******: all of them are unknown to the server.
func (d *Definition) placeholders() document.Violations {
	empty := &Definition{Kind: d.Kind}
	return newUpdate(d, empty, false).unknown
}

// named adds the name to the fields that are sent.
func (d *Definition) named(fields map[string]any) map[string]any {
	fields[d.Kind.fields()[0]] = d.Name()
	return fields
}

// removals are what the files have not and pruning covers, jobs before apps.
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

// Count is how many steps of an action there are.
func (p *Plan) Count(action Action) (n int) {
	for _, s := range p.Steps {
		if s.Action == action {
			n++
		}
	}
	return n
}

// Empty reports whether nothing differs.
func (p *Plan) Empty() bool { return p.Count(Keep) == len(p.Steps) }

// Summary is the plan in one line.
func (p *Plan) Summary() string {
	if p.Empty() {
		return fmt.Sprintf("Nothing differs: %d unchanged.", len(p.Steps))
	}
	return fmt.Sprintf("%d to create, %d to change, %d to remove, %d unchanged.", p.Count(Create), p.Count(Change),
		p.Count(Remove), p.Count(Keep))
}
