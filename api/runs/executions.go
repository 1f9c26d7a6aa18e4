package runs

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// These are the default and the highest limit of a list of runs.
const (
	defaultExecutions = 100
	maxExecutions     = 1000
)

// executionStates are the states that a whole run may be in.
var executionStates = []string{
	string(executions.Waiting), string(executions.Running), string(executions.Finished), string(executions.Failed),
	string(executions.Killed),
}

// These are the parameters of lists of executions.
var (
	runsOfJob   = request.Text("job", "Runs of one job.").WithExample("my_job")
	runsInState = request.Words("state", "Runs in one of these states.", executionStates)
	runsSince   = request.Moment("since", "Runs fired then or later.")
	runsBefore  = request.Before("before",
		"Runs fired before that time, or the value in an answer's Link header for the next page.")
	runsLimit = request.Number("limit", "Maximum number of rows.", defaultExecutions, 1, maxExecutions)
	// executionsTake are the parameters that the list of all runs and that of a job's runs have in common.
	executionsTake = []request.Declared{runsInState, runsSince, runsBefore, runsLimit}
)

// executions lists the runs of all jobs.
func (h *Handlers) executions(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	f := views.ExecutionFilter{Job: runsOfJob.Of(q)}
	if q.Has("job") && len(app.CheckName("job", f.Job, nil)) > 0 {
		q.Refuse("job", "no job can have that name: names are 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit")
	}
	return h.listExecutions(c, q, f)
}

// jobExecutions lists the runs of one job.
func (h *Handlers) jobExecutions(c *gin.Context) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	return h.listExecutions(c, request.QueryOf(c), views.ExecutionFilter{Job: name, MustExist: true})
}

// executionRow is one run in a list.
type executionRow struct {
	views.ExecutionSummary
	// DurationMillis is the time from the start of the first process to the end of the run. It is nil if the run has
	// not ended or never had a process.
	DurationMillis *int64 `json:"durationMillis"`
}

// listExecutions completes the filter by the parameters in executionsTake, and answers with the list.
func (h *Handlers) listExecutions(c *gin.Context, q *request.Query, f views.ExecutionFilter) (any, error) {
	for _, state := range runsInState.Of(q) {
		f.States = append(f.States, executions.State(state))
	}
	f.Since = runsSince.Of(q).Time(h.Now())
	before := runsBefore.Of(q)
	f.Before, f.BeforeID = before.At, before.ID
	f.Limit = runsLimit.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	list, err := h.allExecutions(c, f, nil)
	if err == nil && len(list) == f.Limit {
		c.Header("Link", nextExecutions(c.Request.URL, list[len(list)-1]))
	}
	return list, err
}

// allExecutions returns the executions that the scheduler remembers, merged with those of the history. The header
// Warning says what is missing. readMore, if not nil, is called with the remembered executions, to read more of the
// scheduler's state in the same read.
func (h *Handlers) allExecutions(
	c *gin.Context, f views.ExecutionFilter, readMore func(explain.Reader, []views.ExecutionSummary) error,
) ([]executionRow, error) {
	seesAllApps := caller.ScopeOf(c.Request.Context()).IsAll()
	remembered, err := caller.Read(c.Request.Context(), h.Scheduler,
		func(r explain.Reader) ([]views.ExecutionSummary, error) {
			found, err := r.Executions(f)
			if err == nil && readMore != nil {
				err = readMore(r, found)
			}
			return found, err
		})
	jobUnknown := failure.Refusal(err).Kind == problem.NotFound
	switch {
	case jobUnknown && !f.MustExist:
		return []executionRow{}, nil
	case jobUnknown && seesAllApps && h.History != nil: // the history may have executions of a removed job
	case err != nil:
		return nil, err
	}
	var stored []search.Execution
	if h.History != nil && f.Job == "" && !seesAllApps {
		answer.Warn(c, "these are only the executions that the scheduler remembers: your grant is for some apps, so name one of their jobs to include the history")
	} else if h.History != nil {
		ctx, cancel := context.WithTimeout(c.Request.Context(), history.ReadTimeout)
		defer cancel()
		filter := search.Executions{Job: f.Job, Since: f.Since, Before: f.Before, BeforeID: f.BeforeID, Limit: f.Limit}
		for _, state := range f.States {
			// mergeExecutions drops stored executions that have not ended, so they must not fill the page.
			if ended(state) {
				filter.States = append(filter.States, string(state))
			}
		}
		var readErr error
		if len(f.States) == 0 || len(filter.States) > 0 {
			stored, readErr = h.History.Executions(ctx, filter)
		}
		if readErr != nil && jobUnknown {
			return nil, history.Unreadable(readErr)
		}
		if readErr != nil {
			answer.Warn(c, "these are only the executions that the scheduler remembers: "+
				history.Unreadable(readErr).Error())
		}
	}
	if jobUnknown && len(stored) == 0 {
		return nil, err
	}
	return mergeExecutions(remembered, stored, f.Limit), nil
}

// mergeExecutions merges both lists, the newest fire first. An execution in both lists is taken from the scheduler,
// which knows more. A stored execution that has not ended is left out unless the scheduler's list has it too: the
// scheduler remembers all executions that have not ended, so this one has changed and no longer matches the filter.
func mergeExecutions(remembered []views.ExecutionSummary, stored []search.Execution, limit int) []executionRow {
	list := make([]executionRow, 0, len(remembered)+len(stored))
	isRemembered := map[string]bool{}
	for _, e := range remembered {
		isRemembered[e.ExecutionID] = true
		row := executionRow{ExecutionSummary: e}
		if e.StartTime != nil && e.CompleteTime != nil {
			millis := max(e.CompleteTime.Sub(*e.StartTime).Milliseconds(), 0)
			row.DurationMillis = &millis
		}
		list = append(list, row)
	}
	for _, e := range stored {
		if isRemembered[e.ID] || !ended(executions.State(e.State)) {
			continue
		}
		row := executionRow{DurationMillis: e.DurationMillis,
			ExecutionSummary: views.ExecutionSummary{ExecutionID: e.ID, JobName: e.Job, FireTime: e.Fire.Time,
				Source: executions.Source(e.Source), State: executions.State(e.State), Why: storedReason(e),
				LaunchTime: orNil(e.Launch), StartTime: orNil(e.Begin), CompleteTime: orNil(e.End),
				Shards: map[executions.State]int{}}}
		for state, n := range e.States {
			row.Shards[executions.State(state)] = n
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

// nextExecutions returns the value of the header Link for the rows after the last one.
func nextExecutions(from *url.URL, last executionRow) string {
	return answer.NextPage(from, "before", last.FireTime.UTC().Format(time.RFC3339Nano)+","+last.ExecutionID)
}
