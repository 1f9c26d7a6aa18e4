package core

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// cmdHistory gives the next leaders a history, or reports that the database has the first batches.
func (s *scene) cmdHistory(w *scenario.Words) error {
	switch what := w.Next(); what {
	case "on":
		s.opt.History, s.opt.Term = true, 0
		return nil
	case "stored":
		n, err := strconv.ParseInt(w.Next(), 10, 64)
		if err != nil {
			return err
		}
		return s.steps(HistoryStored{Batches: n})
	default:
		return fmt.Errorf("there is no command history %s", what)
	}
}

// reportHistory reports the rows that a decision records, if any.
func (s *scene) reportHistory(d Decision) {
	b := &d.History
	if b.Number == 0 {
		return
	}
	s.say("RECORD batch %d of term %d", b.Number, b.Term-s.core.recording.Base())
	because := func(text string) string {
		if text == "" {
			return ""
		}
		return ": " + text
	}
	for _, t := range b.Terms {
		s.say("  term %d made %s", t.Number-s.core.recording.Base(),
			strings.Replace(problem.Counted(int(t.Batches), "batch"), "batchs", "batches", 1))
	}
	for _, e := range b.Executions {
		s.say("  execution %s, revision %d, is %s%s", e.ID, e.Revision, e.State, because(e.Reason.String()))
	}
	for _, e := range b.Steps {
		item := ""
		if e.Item != event.NoItem {
			item = fmt.Sprintf(", item %d", e.Item)
		}
		s.say("  event of %s%s: %s%s", e.Execution, item, e.Kind, because(e.Message.String()))
	}
	for _, r := range b.Runs {
		number := ""
		if r.Number > 0 {
			number = fmt.Sprintf(" %d", r.Number)
		}
		s.say("  run%s of %s, attempt %d by %s on %s, revision %d, is %s%s", number, r.Task, r.Attempt, r.Source,
			r.Agent, r.Revision, r.State, because(r.Cause.String()))
	}
	for _, t := range b.Traces {
		of := ""
		if t.OriginalTask != "" {
			of = ", for " + t.OriginalTask
		}
		s.say("  trace of %s (%s%s) by %s: %s %s%s", t.Task, t.Type, of, t.Source, t.State, t.Reason,
			because(t.Message.String()))
	}
	for _, t := range b.Tallies {
		s.say("  tally of %s: %d finished, %d failed", t.Task, t.Success, t.Failed)
	}
	for _, a := range b.Audits {
		if s.audits {
			s.say("  audit: %s %s by %q", a.Action, a.TargetName, a.Name)
		}
	}
	for _, g := range b.Samples {
		s.say("  %s: %d at %s", g.Of, g.Value, g.Time.Format("15:04"))
	}
	for _, l := range b.Loads {
		s.say("  load of %s: %d launched, %d wait; %d fires, %g and %g ms late", l.Time.Format("15:04"), l.Launched,
			l.Waiting, l.Fires, l.DelayP50, l.DelayP95)
	}
}
