// Package history handles the routes that answer from recorded data: searches, statistics, the audit and time series.
package history

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// History reads what was recorded in a database; *database.DB implements it. Any error means that the database cannot
// be read now.
type History interface {
	Runs(ctx context.Context, q search.Query) (search.Page[search.Run], error)
	Traces(ctx context.Context, q search.Query) (search.Page[search.Trace], error)

	// Executions lists executions, the newest fire first; those with the same fire time by descending id.
	Executions(ctx context.Context, q search.Executions) ([]search.Execution, error)
	// Cells returns the last runs of the shards of some executions, by execution id. Executions with many shards may
	// be missing.
	Cells(ctx context.Context, executions []string) (map[string][]search.Cell, error)
	// Execution returns one execution with the last runs of its shards; false if it is not stored.
	Execution(ctx context.Context, id string) (search.Execution, bool, error)
	// Life returns the first moments of an execution's life; limit is their maximum number. more says whether there are
	// others.
	Life(ctx context.Context, execution string, limit int) (life []search.Moment, more bool, err error)
	JobStatistics(ctx context.Context, job string, since time.Time) (search.JobStatistics, error)

	// TaskResults returns the results of the periods that begin at or after from and before until, the oldest first. A
	// zero time is no bound.
	TaskResults(ctx context.Context, interval search.Interval, from, until time.Time) ([]search.TaskResults, error)
	TasksRunning(ctx context.Context, from time.Time) ([]search.Running, error)
	JobsRunning(ctx context.Context, from time.Time) ([]search.Running, error)
	JobsRegistered(ctx context.Context) ([]search.Registered, error)
	// Activity returns what is known about each minute that begins at or after from and before until. Minutes without
	// data are missing.
	Activity(ctx context.Context, from, until time.Time) ([]search.Activity, error)

	// Audits lists audit rows, the newest first.
	Audits(ctx context.Context, q search.Audits) ([]event.Audit, error)
}

// Options are the dependencies of the handlers of the history.
type Options struct {
	// History may be nil. Then the routes that need it answer 503 no_history.
	History   History
	Scheduler caller.Scheduler
	Now       func() time.Time
}

// Handlers handles the routes that answer from recorded data.
type Handlers struct{ Options }

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// ReadTimeout bounds how long an answer of the scheduler waits for what the history adds to it.
const ReadTimeout = 3 * time.Second

// fromHistory returns a handler for a route that only the history can answer.
func (h *Handlers) fromHistory(answer func(c *gin.Context, stored History) (any, error)) route.Handler {
	return func(c *gin.Context) (any, error) {
		if h.History == nil {
			return nil, failure.Unavailable("no_history",
				"this server keeps no history: start it with --db and the address of a MySQL or MariaDB database, such as 'user:password@tcp(host:3306)/elasticjob'")
		}
		return answer(c, h.History)
	}
}

// Unreadable returns the answer when the history cannot be read.
func Unreadable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure.Unavailable("history_unavailable",
			"the history's database did not answer in time: check it, or narrow the search with startTime and endTime")
	}
	return failure.Unavailable("history_unavailable",
		"the history cannot be read; new rows are kept until its database is back: start it, or correct --db: %v", err)
}

// orUnreadable returns an answer of the history, or Unreadable for an error.
func orUnreadable[A any](answer A, err error) (any, error) {
	if err != nil {
		return nil, Unreadable(err)
	}
	return answer, nil
}

// runEvents searches the runs of shards.
func (h *Handlers) runEvents(c *gin.Context, stored History) (any, error) {
	q, err := h.question(c, search.Runs)
	if err != nil {
		return nil, err
	}
	return orUnreadable(stored.Runs(c.Request.Context(), q))
}

// traceEvents searches the state changes of tasks.
func (h *Handlers) traceEvents(c *gin.Context, stored History) (any, error) {
	q, err := h.question(c, search.Traces)
	if err != nil {
		return nil, err
	}
	return orUnreadable(stored.Traces(c.Request.Context(), q))
}

// question reads a search. A caller with a grant for some apps must search within one job of these apps.
func (h *Handlers) question(c *gin.Context, of *search.Subject) (search.Query, error) {
	asked, q, err := parsed(c, of.Parse)
	who := caller.Of(c.Request.Context())
	if err != nil || !who.IsRestricted() {
		return asked, err
	}
	job := q.Get("jobName")
	if job == "" {
		return asked, caller.NotAllowed(who.Principal,
			"a grant for all apps, or a search within one job, by jobName")
	}
	return asked, caller.MaySee(c.Request.Context(), h.Scheduler, job)
}

// parsed reads the query with parse and collects the violations.
func parsed[Q any](c *gin.Context, parse func(url.Values) (Q, []search.Violation)) (asked Q, q *request.Query,
	err error) {
	q = request.QueryOf(c)
	q.Parse(func(values url.Values) (bad document.Violations) {
		var broken []search.Violation
		asked, broken = parse(values)
		for _, v := range broken {
			bad = append(bad, document.Violate(v.Parameter, v.Value, "%s", v.Rule))
		}
		return bad
	})
	return asked, q, q.Err()
}
