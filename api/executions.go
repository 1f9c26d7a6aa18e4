package api

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/app"
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
	q := readQuery(c.Request, "job", "state", "since", "limit")
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
	return s.listExecutions(c, readQuery(c.Request, "state", "since", "limit"), core.ExecutionFilter{Job: name, Known: true})
}

// listExecutions reads what both lists take, and gives the list.
func (s *Server) listExecutions(c *gin.Context, q *query, f core.ExecutionFilter) (any, error) {
	f.States = q.states("state")
	f.Since = q.moment("since", s.opts.Now())
	f.Limit = q.number("limit", someExecutions, 1, mostExecutions)
	if err := q.err(); err != nil {
		return nil, err
	}
	list, err := s.opts.Scheduler.Executions(c.Request.Context(), f)
	return orEmpty(list), err
}

// states are one or more states of runs, separated by commas; none when absent.
func (q *query) states(name string) []core.State {
	read := func(text string) (states []core.State, err error) {
		for word := range strings.SplitSeq(text, ",") {
			word = strings.ToUpper(strings.TrimSpace(word))
			if !slices.Contains(executionStates, word) {
				return nil, errNoValue
			}
			states = append(states, core.State(word))
		}
		return states, nil
	}
	return param(q, name, nil, read, "must be one or more of %s, separated by commas", strings.Join(executionStates, ", "))
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
