package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Problem is a condition that an operator should look at. Fields that do not apply are empty.
type Problem struct {
	Kind string `json:"kind"`
	// Severity is "error" or "warning".
	Severity string     `json:"severity"`
	Job      string     `json:"job"`
	App      string     `json:"app"`
	Agent    string     `json:"agent"`
	Path     string     `json:"path"`
	Count    int        `json:"count"`
	Since    *time.Time `json:"since"`
	// Message says what is wrong; MessageCode and MessageArgs are the same for programs, if there is a code for it.
	Message     string         `json:"message"`
	MessageCode string         `json:"messageCode,omitempty"`
	MessageArgs map[string]any `json:"messageArgs,omitempty"`
}

func (p *Problem) setMessage(why reason.Reason) {
	p.Message, p.MessageCode, p.MessageArgs = why.String(), string(why.Code()), why.Args()
}

// Kinds of problems that are found in the rows. The others are the core's troubles, and WARNING is the server's.
const (
	Failing = "FAILING"
	Waiting = "WAITING"
	Late    = "LATE"
	Missed  = "MISSED"
	Warning = "WARNING"
)

// kinds are all kinds, the worst first, and their severities.
var kinds = []struct{ kind, severity string }{
	{string(views.ProblemNotSubscribed), "error"},
	{string(views.ProblemClock), "error"},
	{string(views.ProblemAgentUnreachable), "error"},
	{Failing, "error"},
	{Late, "error"},
	{string(views.ProblemFaulty), "error"},
	{string(views.ProblemStartFailures), "error"},
	{Waiting, "warning"},
	{string(views.ProblemDaemonSilent), "warning"},
	{string(views.ProblemUnnotified), "warning"},
	{Missed, "warning"},
	{Warning, "warning"},
}

const (
	// problemAfter is how long something must wait, or be late, to be a problem.
	problemAfter = time.Minute
	// missedMaxAge is how long missed fires stay a problem.
	missedMaxAge = 24 * time.Hour
	// maxMessage bounds a problem's message, in characters.
	maxMessage = 200
)

// problems returns all problems in a scope, the worst first. Only those that are shown have messages.
func (j *Jobs) problems(ctx context.Context, f *facts, scope explain.Scope, now time.Time) ([]Problem, error) {
	var found []Problem
	for i := range f.Problems {
		t := &f.Problems[i]
		if !scope.IsAll() && (t.App == "" || !scope.Covers(t.App)) {
			continue
		}
		p := Problem{Kind: string(t.Kind), Job: t.Job, App: t.App, Agent: t.Agent, Path: t.Path, Count: t.Count,
			Since: timeOf(millis(t.Since))}
		p.setMessage(t.Why)
		if !scope.IsAll() {
			p.Agent = ""
		}
		found = append(found, p)
	}
	j.mu.Lock()
	for _, r := range j.order {
		if r.covered(scope) {
			found = r.problems(found, now.UnixMilli())
		}
	}
	j.mu.Unlock()
	return found, j.explain(ctx, sortProblems(found))
}

// WarningOf returns a warning of the server as a problem. It is sorted behind all others.
func WarningOf(message string) Problem {
	shown := []Problem{{Kind: Warning, Message: message}}
	shorten(sortProblems(shown))
	return shown[0]
}

// sortProblems sorts the problems, the worst first and those of the same kind by their age, and returns those that are
// shown.
func sortProblems(all []Problem) []Problem {
	rank := make(map[string]int, len(kinds))
	severity := make(map[string]string, len(kinds))
	for i, k := range kinds {
		rank[k.kind], severity[k.kind] = i, k.severity
	}
	for i := range all {
		all[i].Severity = severity[all[i].Kind]
	}
	since := func(p *Problem) int64 {
		if p.Since == nil {
			return 0
		}
		return p.Since.UnixMilli()
	}
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(since(&a), since(&b)),
			cmp.Compare(a.Job, b.Job), cmp.Compare(a.App, b.App), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Path, b.Path))
	})
	return all[:min(len(all), MaxProblems)]
}

// MaxProblems is the maximum number of problems that are shown.
const MaxProblems = 100

// problems appends the problems of a job.
func (r *row) problems(all []Problem, now int64) []Problem {
	addProblem := func(kind string, count int, since int64) {
		all = append(all, Problem{Kind: kind, Job: r.name, App: r.app(), Count: count, Since: timeOf(since)})
	}
	before := now - problemAfter.Milliseconds()
	if runStates[r.lastState] == string(executions.Failed) {
		addProblem(Failing, int(r.failures), r.failingSince)
	}
	if r.waiting > 0 && r.waitingSince < before {
		addProblem(Waiting, int(r.waiting), r.waitingSince)
	}
	if r.schedule == nil && r.nextFire != 0 && r.nextFire < before {
		addProblem(Late, 1, r.nextFire)
	}
	if r.lastMissed != 0 && r.lastMissed > now-missedMaxAge.Milliseconds() {
		addProblem(Missed, 1, r.lastMissed)
	}
	return all
}

// explain adds the messages to problems of jobs, with one reading of the core for all.
func (j *Jobs) explain(ctx context.Context, shown []Problem) error {
	var names []string
	for i := range shown {
		if shown[i].Message == "" {
			names = append(names, shown[i].Job)
		}
	}
	if len(names) == 0 {
		shorten(shown)
		return nil
	}
	var details []views.JobDetail
	if err := j.read(ctx, func(c *core.Core) { details = c.Views().JobDetails(names, 0) }); err != nil {
		return err
	}
	n := 0
	for i := range shown {
		p := &shown[i]
		if p.Message != "" {
			continue
		}
		d := &details[n]
		n++
		switch p.Kind {
		case Failing:
			if d.LastRun != nil {
				p.Message, p.MessageCode, p.MessageArgs = d.LastRun.Reason, d.LastRun.ReasonCode, d.LastRun.ReasonArgs
			}
		case Waiting:
			p.setMessage(d.WaitingFor)
		case Late:
			p.setMessage(reason.FireLate())
		case Missed:
			p.setMessage(d.Missed)
		}
	}
	shorten(shown)
	return nil
}

// shorten limits messages to one line, because the end of a failed process' output has several.
func shorten(shown []Problem) {
	for i := range shown {
		shown[i].Message = oneLine(shown[i].Message)
		shown[i].MessageArgs = argsOneLine(shown[i].MessageArgs)
	}
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage-1]) + "…"
	}
	return text
}

// argsOneLine returns a copy of arguments, each on one line, including those of nested reasons.
func argsOneLine(args map[string]any) map[string]any {
	short := maps.Clone(args)
	for name, value := range short {
		switch value := value.(type) {
		case string:
			short[name] = oneLine(value)
		case map[string]any:
			short[name] = argsOneLine(value)
		}
	}
	return short
}
