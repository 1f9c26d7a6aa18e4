// Package history handles the routes for searches, statistics, the audit and time series. Most of them answer from
// recorded data.
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

// History reads recorded data from a database; *database.DB implements it. Any error means that the database cannot be
// read now.
type History interface {
	Runs(ctx context.Context, q search.Query) (search.Page[search.Run], error)
	Traces(ctx context.Context, q search.Query) (search.Page[search.Trace], error)

	// Executions lists executions, the newest fire first. Executions with the same fire time are in descending order
	// of their ids.
	Executions(ctx context.Context, q search.Executions) ([]search.Execution, error)
	// Cells returns the last runs of the shards of some executions, by execution id. Executions with many shards may
	// be missing.
	Cells(ctx context.Context, executions []string) (map[string][]search.Cell, error)
	// Execution returns one execution with the last runs of its shards. It returns false if the execution is not
	// stored.
	Execution(ctx context.Context, id string) (search.Execution, bool, error)
	// Life returns the first events of an execution, at most limit. more is true if there are further events.
	Life(ctx context.Context, execution string, limit int) (life []search.Moment, more bool, err error)
	JobStatistics(ctx context.Context, job string, since time.Time) (search.JobStatistics, error)

	// TaskResults returns the results of the periods that begin at or after from and before until, the oldest first. A
	// zero time stands for no limit.
	TaskResults(ctx context.Context, interval search.Interval, from, until time.Time) ([]search.TaskResults, error)
	TasksRunning(ctx context.Context, from time.Time) ([]search.Running, error)
	JobsRunning(ctx context.Context, from time.Time) ([]search.Running, error)
	JobsRegistered(ctx context.Context) ([]search.Registered, error)
	// Activity returns the activity in each minute that begins at or after from and before until. Minutes without data
	// are missing.
	Activity(ctx context.Context, from, until time.Time) ([]search.Activity, error)

	// Audits lists audit rows, the newest first.
	Audits(ctx context.Context, q search.Audits) ([]event.Audit, error)
}

// Options are the dependencies of the handlers of the history.
type Options struct {
	// History may be nil. Routes that require a history then answer 503 no_history.
	History   History
	Scheduler caller.Scheduler
	Now       func() time.Time
}

// Handlers handles the routes of this package.
type Handlers struct{ Options }

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// ReadTimeout bounds a read of the history that only adds to an answer from the scheduler's memory.
const ReadTimeout = 3 * time.Second

// fromHistory returns the handler of a route that requires a history. Without a history, the handler fails with 503.
func (h *Handlers) fromHistory(answer func(c *gin.Context, stored History) (any, error)) route.Handler {
	return func(c *gin.Context) (any, error) {
		if h.History == nil {
			return nil, failure.Unavailable("no_history",
				"this server keeps no history: start it with --db and the address of a MySQL or MariaDB database, such as "+
					"'user:password@tcp(host:3306)/elasticjob'")
		}
		return answer(c, h.History)
	}
}

// Unreadable converts an error of the history into the error for the client.
func Unreadable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure.Unavailable("history_unavailable",
			"the history's database did not answer in time: check it, or narrow the search with startTime and endTime")
	}
	return failure.Unavailable("history_unavailable",
		"the history cannot be read; new rows are kept until its database is back: start it, or correct --db: %v", err)
}

// orUnreadable returns the answer of the history. It converts an error by Unreadable.
func orUnreadable[A any](answer A, err error) (any, error) {
	if err != nil {
		return nil, Unreadable(err)
	}
	return answer, nil
}

// runEvents searches the runs of shards.
func (h *Handlers) runEvents(c *gin.Context, stored History) (any, error) {
	q, err := h.parseSearch(c, search.Runs)
	if err != nil {
		return nil, err
	}
	return orUnreadable(stored.Runs(c.Request.Context(), q))
}

// traceEvents searches the state changes of tasks.
func (h *Handlers) traceEvents(c *gin.Context, stored History) (any, error) {
	q, err := h.parseSearch(c, search.Traces)
	if err != nil {
		return nil, err
	}
	return orUnreadable(stored.Traces(c.Request.Context(), q))
}

// parseSearch parses a search for a subject. A caller with a grant for some apps must search within one job of these
// apps.
func (h *Handlers) parseSearch(c *gin.Context, subject *search.Subject) (search.Query, error) {
	parsed, q, err := parseQuery(c, subject.Parse)
	who := caller.Of(c.Request.Context())
	if err != nil || !who.IsRestricted() {
		return parsed, err
	}
	job := q.Get("jobName")
	if job == "" {
		return parsed, caller.NotAllowed(who.Principal,
			"a grant for all apps, or a search within one job, by jobName")
	}
	return parsed, caller.MaySee(c.Request.Context(), h.Scheduler, job)
}

// parseQuery parses the query of a request with a parser of package search. Its error has all violations.
func parseQuery[Q any](
	c *gin.Context, parse func(url.Values) (Q, []search.Violation),
) (parsed Q, q *request.Query, err error) {
	q = request.QueryOf(c)
	q.Parse(func(values url.Values) (violations document.Violations) {
		var found []search.Violation
		parsed, found = parse(values)
		for _, v := range found {
			violations = append(violations, document.Violate(v.Parameter, v.Value, "%s", v.Rule))
		}
		return violations
	})
	return parsed, q, q.Err()
}
