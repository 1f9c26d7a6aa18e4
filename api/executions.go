package api

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// How many runs a list has: if it is not said, and at most.
const (
	someExecutions = 100
	mostExecutions = 1000
)

// executionStates are the states that a whole run may be in.
var executionStates = []string{
	string(core.Waiting), string(core.Running), string(core.Finished), string(core.Failed), string(core.Killed),
}

// executions lists runs of all jobs.
func (s *Server) executions(c *gin.Context) (any, error) {
	q := readQuery(c.Request, "job", "state", "since", "before", "limit")
	f := core.ExecutionFilter{Job: q.values.Get("job")}
	if q.values.Has("job") && len(app.CheckName("job", f.Job, nil)) > 0 {
		q.refuse("job", "no job can have that name: names are 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit")
	}
	return s.listExecutions(c, q, f)
}

// jobExecutions lists the runs of one job.
func (s *Server) jobExecutions(c *gin.Context) (any, error) {
	name, err := pathName("job")(c)
	if err != nil {
		return nil, err
	}
	return s.listExecutions(c, readQuery(c.Request, "state", "since", "before", "limit"), core.ExecutionFilter{Job: name, Known: true})
}

// executionRow is one run in a list.
type executionRow struct {
	core.ExecutionSummary
	// DurationMillis is from the begin of its first process to its end, nil before that.
	DurationMillis *int64 `json:"durationMillis"`
}

// listExecutions reads what both lists take, and gives the list.
func (s *Server) listExecutions(c *gin.Context, q *query, f core.ExecutionFilter) (any, error) {
	for _, state := range q.someOf("state", executionStates) {
		f.States = append(f.States, core.State(state))
	}
	f.Since = q.moment("since", s.opts.Now())
	f.Before, f.BeforeID = q.before("before")
	f.Limit = q.number("limit", someExecutions, 1, mostExecutions)
	if err := q.err(); err != nil {
		return nil, err
	}
	list, err := s.allExecutions(c, f)
	if err == nil && len(list) == f.Limit {
		c.Header("Link", nextExecutions(c.Request.URL, list[len(list)-1]))
	}
	return list, err
}

// allExecutions are what the scheduler remembers, and between and behind it what is stored. A header Warning says what is missing.
func (s *Server) allExecutions(c *gin.Context, f core.ExecutionFilter) ([]executionRow, error) {
	if err := s.maySee(c.Request.Context(), f.Job); f.Job != "" && err != nil {
		if !f.Known && refusal(err).Kind == core.NotFound {
			return []executionRow{}, nil
		}
		return nil, err
	}
	remembered, err := s.opts.Scheduler.Executions(c.Request.Context(), f)
	unknown := f.Known && refusal(err).Kind == core.NotFound // but it may have been known
	if err != nil && (!unknown || s.opts.History == nil) {
		return nil, err
	}
	var stored []search.Execution
	if s.opts.History != nil && f.Job == "" && callerOf(c.Request.Context()).forSome() {
		c.Header("Warning", `199 elasticjob "these are only the executions that the scheduler remembers: your grant is for some apps, so name a job of theirs for what the history has"`)
	} else if s.opts.History != nil {
		ctx, cancel := context.WithTimeout(c.Request.Context(), historyPatience)
		defer cancel()
		asked := search.Executions{Job: f.Job, Since: f.Since, Before: f.Before, BeforeID: f.BeforeID, Limit: f.Limit}
		for _, state := range f.States {
			if ended(state) { // what is stored in others and not remembered has gone on since, and would take places in the page
				asked.States = append(asked.States, string(state))
			}
		}
		var failed error
		if len(f.States) == 0 || len(asked.States) > 0 {
			stored, failed = s.opts.History.Executions(ctx, asked)
		}
		if failed != nil && unknown {
			return nil, unreadable(failed)
		}
		if failed != nil {
			c.Header("Warning", "199 elasticjob "+strconv.QuoteToASCII("these are only the executions that the scheduler remembers: "+unreadable(failed).Error()))
		}
	}
	if unknown && len(stored) == 0 {
		return nil, err
	}
	return mergeExecutions(remembered, stored, f.Limit), nil
}

// mergeExecutions puts both lists together, the newest fire first. Of what is in both the scheduler knows more. It remembers all that
// have not ended, so what is stored as under way and is not in its list has gone on since, and is not what was asked for.
func mergeExecutions(remembered []core.ExecutionSummary, stored []search.Execution, limit int) []executionRow {
	list := make([]executionRow, 0, len(remembered)+len(stored))
	known := map[string]bool{}
	for _, e := range remembered {
		known[e.ExecutionID] = true
		row := executionRow{ExecutionSummary: e}
		if e.StartTime != nil && e.CompleteTime != nil {
			millis := max(e.CompleteTime.Sub(*e.StartTime).Milliseconds(), 0)
			row.DurationMillis = &millis
		}
		list = append(list, row)
	}
	for _, e := range stored {
		if known[e.ID] || !ended(core.State(e.State)) {
			continue
		}
		row := executionRow{DurationMillis: e.DurationMillis, ExecutionSummary: core.ExecutionSummary{ExecutionID: e.ID, JobName: e.Job, FireTime: e.Fire.Time,
			Source: core.Source(e.Source), State: core.State(e.State), Reason: orZero(e.Reason), LaunchTime: orNil(e.Launch), StartTime: orNil(e.Begin), CompleteTime: orNil(e.End), Shards: map[core.State]int{}}}
		for state, n := range e.States {
			row.Shards[core.State(state)] = n
		}
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b executionRow) int {
		return cmp.Or(b.FireTime.Compare(a.FireTime), strings.Compare(b.ExecutionID, a.ExecutionID))
	})
	return list[:min(len(list), limit)]
}

func orNil(t search.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

// nextExecutions is the header Link to the rows behind the last one.
func nextExecutions(from *url.URL, last executionRow) string {
	values := from.Query()
	values.Set("before", last.FireTime.UTC().Format(time.RFC3339Nano)+","+last.ExecutionID)
	return "<" + (&url.URL{Path: from.Path, RawPath: from.RawPath, RawQuery: values.Encode()}).String() + `>; rel="next"`
}

// before is a moment, and after a comma the id of an execution of that moment, zero when absent.
func (q *query) before(name string) (time.Time, string) {
	var id string
	read := func(text string) (t time.Time, err error) {
		text, id, _ = strings.Cut(text, ",")
		if t, err = time.Parse(time.RFC3339, text); err == nil && (t.Year() < 1970 || !utf8.ValidString(id)) {
			err = errNoValue
		}
		return t, err
	}
	return param(q, name, time.Time{}, read, "must be a time such as 2026-05-01T12:00:00Z (a + in it written as %%2B), or what the header Link of an answer has there"), id
}

// someOf are one or more of some words in capitals, separated by commas; none when absent or empty.
func (q *query) someOf(name string, words []string) []string {
	read := func(text string) (list []string, err error) {
		if text == "" {
			return nil, nil
		}
		for word := range strings.SplitSeq(text, ",") {
			word = strings.ToUpper(strings.TrimSpace(word))
			if !slices.Contains(words, word) {
				return nil, errNoValue
			}
			list = append(list, word)
		}
		return list, nil
	}
	return param(q, name, nil, read, "must be one or more of %s, separated by commas", strings.Join(words, ", "))
}

// moment is a time, or how long before now it was; zero when absent.
func (q *query) moment(name string, now time.Time) time.Time {
	read := func(text string) (time.Time, error) {
		if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
			return now.Add(-ago), nil
		}
		return time.Parse(time.RFC3339, text)
	}
	return param(q, name, time.Time{}, read, "must be a time such as 2026-05-01T12:00:00Z (a + in it written as %%2B), or how long ago, such as 30m or 24h")
}

// number is a whole number from least to most; otherwise when absent.
func (q *query) number(name string, otherwise, least, most int) int {
	read := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if n < least || n > most {
			err = errNoValue
		}
		return n, err
	}
	return param(q, name, otherwise, read, "must be a whole number from %d to %d", least, most)
}
