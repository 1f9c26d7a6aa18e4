package sim

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// observedViews are the views of a leader's core after a step. They contain only those parts whose changes
// Decision.Changed must name. So they omit texts that only count time, and fires that have passed.
type observedViews struct {
	wall time.Time
	jobs map[string]jobViews
	// execs and apps are encoded views: first the whole view, then the view without what it shares with others.
	execs, apps map[string][2]string
	// differs lists the differences between rows and explanations.
	differs []string
}

type jobViews struct {
	fires []time.Time
	// whole and own are encoded explanations and jobs; own omits what a job shares with others.
	whole, own string
}

// viewsInterval is the number of worlds per world whose views are compared. Comparing them in every world would take
// longer than everything else.
const viewsInterval = 64

// checkChanged compares the views before a call of Ready with those after its steps. Each difference must be named in
// the Changed of a step. If a step says that everything has changed, only the parts that are not shared are compared.
func (c *checker) checkChanged(l *leader, effects []term.Effect) {
	if c.w.cfg.Seed%viewsInterval != 0 {
		return
	}
	var ch step.Changed
	steps := 0
	for _, e := range effects {
		if d, ok := e.(term.Decided); ok {
			steps++
			ch.Jobs, ch.Executions, ch.Apps = append(ch.Jobs, d.Decision.Changed.Jobs...),
				append(ch.Executions, d.Decision.Changed.Executions...), append(ch.Apps, d.Decision.Changed.Apps...)
			ch.All = ch.All || d.Decision.Changed.All
		}
	}
	if steps == 0 {
		return
	}
	was, now := l.views, viewsOf(l.core, c.w.wall())
	for _, what := range now.differs {
		c.w.fail("lists say what explanations say", "%s", what)
	}
	for _, what := range c.othersNamed(l.core) {
		c.w.fail("reasons name other apps by ids only", "%s", what)
	}
	if l.views = now; was == nil {
		return // the first step of a term, after which readers read everything again
	}
	differ := func(kind, name string, before, after any, named []string) {
		if !slices.Contains(named, name) {
			c.w.fail("a step names what people see otherwise", "%s %s is not named in %+v: before %s, after %s", kind,
				name, ch, before, after)
		}
	}
	part := 0
	if ch.All {
		part = 1
	}
	for _, kind := range []struct {
		name        string
		was, now    map[string][2]string
		changeNames []string
	}{{"execution", was.execs, now.execs, ch.Executions}, {"app", was.apps, now.apps, ch.Apps}} {
		for _, name := range keysOf(kind.was, kind.now) {
			if before, after := kind.was[name][part], kind.now[name][part]; before != after {
				differ(kind.name, name, before, after, kind.changeNames)
			}
		}
	}
	for _, name := range keysOf(was.jobs, now.jobs) {
		before, after := was.jobs[name], now.jobs[name]
		x, y := before.whole, after.whole
		if ch.All {
			x, y = before.own, after.own
		}
		if x != y || !sameFires(before.fires, after.fires, later(was.wall, now.wall)) {
			differ("job", name, x, y, ch.Jobs)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sameFires reports whether two lists of next fires agree as far as both reach, after a given time.
func sameFires(a, b []time.Time, after time.Time) bool {
	past := func(t time.Time) bool { return !t.After(after) }
	a, b = slices.DeleteFunc(slices.Clone(a), past), slices.DeleteFunc(slices.Clone(b), past)
	n := min(len(a), len(b))
	return slices.EqualFunc(a[:n], b[:n], time.Time.Equal)
}

func viewsOf(c *core.Core, wall time.Time) *observedViews {
	v := &observedViews{wall: wall, jobs: map[string]jobViews{}, execs: map[string][2]string{},
		apps: map[string][2]string{}}
	for _, a := range c.Views().Apps() {
		view, err := c.Views().App(a.AppName)
		text := encoded(view, err)
		v.apps[a.AppName] = [2]string{text, text}
	}
	list, _ := c.Views().Executions(views.ExecutionFilter{Limit: 1 << 20})
	names := map[string]bool{}
	for _, f := range c.Views().FaultyDocuments() {
		if f.Kind == "job" {
			names[f.Name] = true
		}
	}
	for _, j := range c.Views().Jobs() {
		names[j.JobName] = true
	}
	for _, e := range list {
		names[e.JobName] = true
		view, err := c.Views().Execution(e.ExecutionID)
		for i := range view.Shards {
			if daemon := view.Shards[i].Daemon; daemon != nil {
				daemon.NextFireTime = nil
			}
		}
		whole := encoded(view, err)
		if view.State == executions.Waiting {
			view.Why = views.Why{}
		}
		for i := range view.Shards {
			if view.Shards[i].State == executions.Waiting {
				view.Shards[i].OptionalWhy = views.OptionalWhy{}
			}
		}
		v.execs[e.ExecutionID] = [2]string{whole, encoded(view, err)}
	}
	for name := range names {
		x, err := c.Views().Explain(name)
		jv := jobViews{fires: x.NextFires}
		x.NextFires, x.NotesView = nil, views.NotesView{Notes: timelessNotes(x.Notes)}
		job, _ := c.Views().Job(name)
		job.NotesView = views.NotesView{} // the explanation contains the same notes
		row := rowOf(c, name)
		if row.State != x.State && (row.NextFire.IsZero() || row.NextFire.After(wall)) {
			v.differs = append(v.differs, name+"'s row says "+row.State+", its explanation "+x.State)
		}
		row.NextFire = time.Time{}
		jv.whole = encoded([]any{x, job, row}, err)
		row.WaitingSince, x.Notes = time.Time{}, nil
		for i := range x.Waiting {
			x.Waiting[i].Why, x.Waiting[i].Since = views.Why{}, time.Time{}
		}
		for i := range x.Running {
			x.Running[i].Since = time.Time{}
		}
		jv.own = encoded([]any{x, job, row}, err)
		v.jobs[name] = jv
	}
	return v
}

// rowOf returns a job's row without the values that change with the clock, and without those of Job.
func rowOf(c *core.Core, name string) views.JobRow {
	row, _ := c.Views().JobRow(name)
	row.Config, row.Schedule = nil, nil
	return row
}

func encoded(v any, err error) string {
	if err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(v)
	return string(text)
}

var digits = regexp.MustCompile(`[0-9.]+(ms|s|m|h)?`)

// timelessNotes omits the notes that begin or end without a step, and replaces the times in others.
func timelessNotes(notes []string) (out []string) {
	for _, n := range notes {
		switch {
		case strings.Contains(n, "its executor last reported"): // begins after a minute without a step
		case strings.HasPrefix(n, "changed settings are brought"): // a shard comes up for 10 s without a step
		case strings.HasPrefix(n, "the clock of agent"):
			out = append(out, digits.ReplaceAllString(n, "#"))
		default:
			out = append(out, n)
		}
	}
	return out
}

func keysOf[V any](maps ...map[string]V) (keys []string) {
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
