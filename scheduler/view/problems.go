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

// setMessage sets the message of the problem.
func (p *Problem) setMessage(why reason.Reason) {
	p.Message, p.MessageCode, p.MessageArgs = why.String(), string(why.Code()), why.Args()
}

// Kinds of problems. The first four are found in the rows, and Warning is that of WarningOf. The core finds all others
// (views.ProblemKind).
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
	{string(views.ProblemMostSilent), "error"},
	{string(views.ProblemAgentUnreachable), "error"},
	{string(views.ProblemBlocked), "error"},
	{Failing, "error"},
	{Late, "error"},
	{string(views.ProblemFaulty), "error"},
	{string(views.ProblemStartFailures), "error"},
	{Waiting, "warning"},
	{string(views.ProblemDaemonSilent), "warning"},
	{string(views.ProblemUnnotified), "warning"},
	{string(views.ProblemCordoned), "warning"},
	{Missed, "warning"},
	{Warning, "warning"},
}

const (
	// problemAfter is how long a shard must wait, or a fire be late, to be a problem.
	problemAfter = time.Minute
	// missedMaxAge is how long missed fires stay a problem.
	missedMaxAge = 24 * time.Hour
	// maxMessage bounds a problem's message, in characters.
	maxMessage = 200
)

// problems returns all problems in a scope, the worst first. The first MaxProblems, which are shown, have messages.
func (j *Jobs) problems(ctx context.Context, f *facts, scope explain.Scope, now time.Time) ([]Problem, error) {
	var found []Problem
	for i := range f.Problems {
		known := &f.Problems[i]
		if !scope.IsAll() && (known.App == "" || !scope.Covers(known.App)) {
			continue
		}
		p := Problem{Kind: string(known.Kind), Job: known.Job, App: known.App, Agent: known.Agent, Path: known.Path,
			Count: known.Count, Since: timeOf(millis(known.Since))}
		p.setMessage(known.Why)
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

// WarningOf returns a warning of the server as a problem, which is sorted after all others.
func WarningOf(message string) Problem {
	shown := []Problem{{Kind: Warning, Message: message}}
	shorten(sortProblems(shown))
	return shown[0]
}

// sortProblems sets the severities and sorts the problems: the worst first, and those of the same kind by their age.
// It returns the first MaxProblems, which are shown.
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

// explain adds the missing messages. Only problems of jobs can lack one. It reads the core once for all of them.
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

// shorten puts each message on one line and limits its length, because the end of a failed process' output has several
// lines.
func shorten(shown []Problem) {
	for i := range shown {
		shown[i].Message = oneLine(shown[i].Message)
		shown[i].MessageArgs = argsOneLine(shown[i].MessageArgs)
	}
}

// oneLine returns a text on one line of at most maxMessage characters.
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
