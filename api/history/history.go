// Package history answers from what was recorded: searches, statistics, changes that people have made, numbers over time.
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

// History answers from what was recorded in a database; *database.DB has it. Any error means that it can't be read
// now.
type History interface {
	Runs(ctx context.Context, q search.Question) (search.Answer[search.Run], error)
	Traces(ctx context.Context, q search.Question) (search.Answer[search.Trace], error)

	// Executions lists executions, the newest fire first, of one moment by their ids, backwards.
	Executions(ctx context.Context, q search.Executions) ([]search.Execution, error)
	// Cells are the last runs of the shards of some executions, by the executions' ids; some that have many may be
	// missing.
	Cells(ctx context.Context, executions []string) (map[string][]search.Cell, error)
	// Execution is one with the last runs of its shards; false when it is not stored.
	Execution(ctx context.Context, id string) (search.Execution, bool, error)
	// Life is the begin of an execution's life, at most so many moments; more says that there are others.
	Life(ctx context.Context, execution string, most int) (life []search.Moment, more bool, err error)
	JobStatistics(ctx context.Context, job string, since time.Time) (search.JobStatistics, error)

	// TaskResults are those of periods that began from a moment on and before another, the oldest first; zero is no
	// bound.
	TaskResults(ctx context.Context, interval search.Interval, from, until time.Time) ([]search.TaskResults, error)
	TasksRunning(ctx context.Context, from time.Time) ([]search.Running, error)
	JobsRunning(ctx context.Context, from time.Time) ([]search.Running, error)
	JobsRegistered(ctx context.Context) ([]search.Registered, error)
	// Activity is what is known of each minute that began from a moment on and before another one; others are missing.
	Activity(ctx context.Context, from, until time.Time) ([]search.Activity, error)

	// Audits lists audit rows, the newest first.
	Audits(ctx context.Context, q search.Audits) ([]event.Audit, error)
}

// Options are what the handlers of the history need.
type Options struct {
	// History may be nil: then the routes that need it answer 503 no_history.
	History   History
	Scheduler caller.Scheduler
	Now       func() time.Time
}

// Handlers answer from what was recorded.
type Handlers struct{ Options }

// New makes the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Patience bounds how long what the scheduler itself can answer waits for what the history adds.
const Patience = 3 * time.Second

// fromHistory makes a handler of what only the history can answer.
func (h *Handlers) fromHistory(answer func(c *gin.Context, stored History) (any, error)) route.Handler {
	return func(c *gin.Context) (any, error) {
		if h.History == nil {
			return nil, failure.Unavailable("no_history",
				"this server keeps no history: start it with --db and the address of a MySQL or MariaDB database, such as 'user:password@tcp(host:3306)/elasticjob'")
		}
		return answer(c, h.History)
	}
}

// Unreadable is the answer where the history could not be read.
func Unreadable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure.Unavailable("history_unavailable",
			"the history's database did not answer in time: look at it, or ask for less, by startTime and endTime")
	}
	return failure.Unavailable("history_unavailable",
		"the history can't be read; what is to be recorded is kept until its database is back, so start it, or correct --db: %v", err)
}

// orUnreadable is an answer of the history.
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

// traceEvents searches the changes of tasks' states.
func (h *Handlers) traceEvents(c *gin.Context, stored History) (any, error) {
	q, err := h.question(c, search.Traces)
	if err != nil {
		return nil, err
	}
	return orUnreadable(stored.Traces(c.Request.Context(), q))
}

// question reads a search, which must be about one job of their apps when it is of somebody whose grant is for some.
func (h *Handlers) question(c *gin.Context, of *search.Subject) (search.Question, error) {
	asked, q, err := parsed(c, of.Parse)
	who := caller.Of(c.Request.Context())
	if err != nil || !who.ForSome() {
		return asked, err
	}
	job := q.Get("jobName")
	if job == "" {
		return asked, caller.NotAllowed(who.Principal,
			"a grant for all apps, or a job that it is asked about, by jobName")
	}
	return asked, caller.MaySee(c.Request.Context(), h.Scheduler, job)
}

// parsed reads a question.
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
