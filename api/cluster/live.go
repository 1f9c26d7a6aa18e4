package cluster

import (
	"cmp"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

const (
	// defaultPageRows and maxPageRows are the default and the maximum number of jobs on a page.
	defaultPageRows = 50
	maxPageRows     = 500
	// maxSearch is the maximum length of the search text, in bytes.
	maxSearch = 500
)

// These are the parameters of the page of jobs.
var (
	pageSearch = request.Text("search",
		"Words, each of which must be in the name, the app or the description, ignoring case.").WithExample("nightly billing")
	pageApp    = request.Text("app", "Jobs of one app.").WithExample("my_app")
	pageType   = request.Choice("type", "Jobs of one type.", "", jobs.Transient, jobs.Daemon)
	pageStates = request.Words("state", "Jobs in one of these states.", view.JobStates())
	pageLast   = request.Words("last", "Jobs whose last run ended in one of these states.", view.RunStates())
	pageSort   = request.Choice("sort", "The sort key.", string(view.ByName), string(view.ByApp),
		string(view.ByState), string(view.ByNextFire), string(view.ByLastRun), string(view.ByDuration),
		string(view.ByFailures))
	pageOrder    = request.Choice("order", "The sort order. Jobs without a value come last.", "ASC", "DESC")
	pageNumber   = request.Number("page", "Page number, from 1.", 1, 1, 1_000_000)
	pageRows     = request.Number("per_page", "Number of rows per page.", defaultPageRows, 1, maxPageRows)
	jobPageTakes = []request.Declared{pageSearch, pageApp, pageType, pageStates, pageLast, pageSort, pageOrder,
		pageNumber, pageRows}
)

// jobPage answers with one page of the jobs that match, sorted.
func (h *Handlers) jobPage(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	query := view.Query{
		Search: pageSearch.Of(q), App: pageApp.Of(q), Type: pageType.Of(q), States: pageStates.Of(q),
		Last: pageLast.Of(q), Sort: view.Sort(pageSort.Of(q)), Descending: pageOrder.Of(q) == "DESC",
		Page: pageNumber.Of(q), PerPage: pageRows.Of(q),
	}
	if len(query.Search) > maxSearch {
		q.Refuse("search", "must have at most %d bytes", maxSearch)
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	return h.Scheduler.JobPage(c.Request.Context(), caller.ScopeOf(c.Request.Context()), query)
}

// overviewAnswer shows the state of the cluster at a glance.
type overviewAnswer struct {
	Time time.Time `json:"time"`
	// Leader and Version are empty for callers who may not see all apps. Leader is also nil while none is known.
	Leader  *leaderFacts `json:"leader"`
	Version string       `json:"version"`
	// TimeZone is the IANA name of the time zone for jobs without their own; "" if the zone has no such name.
	TimeZone string       `json:"timeZone"`
	Summary  view.Summary `json:"summary"`
	// Problems are the first problems; ProblemsTotal is the number of all problems.
	Problems      []view.Problem `json:"problems"`
	ProblemsTotal int            `json:"problemsTotal"`
}

type leaderFacts struct {
	Address string    `json:"address"`
	Term    int64     `json:"term"`
	Since   time.Time `json:"since"`
}

func leaderFactsOf(l scheduler.LeaderView) *leaderFacts {
	return &leaderFacts{Address: l.Address, Term: l.Term, Since: l.Since.UTC().Truncate(time.Millisecond)}
}

// overview answers with a summary of the cluster and with its problems, the worst first.
func (h *Handlers) overview(c *gin.Context) (any, error) {
	o, err := h.Scheduler.Overview(c.Request.Context(), caller.ScopeOf(c.Request.Context()))
	if err != nil {
		return nil, err
	}
	a := overviewAnswer{
		Time: h.Now().UTC().Truncate(time.Millisecond), TimeZone: jobs.ZoneName(cmp.Or(h.Zone, time.UTC)),
		Summary: o.Summary, Problems: o.Problems,
	}
	if caller.Of(c.Request.Context()).CanSeeAll() {
		a.Version = h.Version
		if l, ok := h.Scheduler.Leader(); ok {
			a.Leader = leaderFactsOf(l)
		}
		if warning := h.Warning(); warning != "" {
			a.Problems = append(a.Problems, view.WarningOf(warning))
		}
	}
	a.ProblemsTotal = len(a.Problems)
	a.Problems = answer.OrEmpty(a.Problems[:min(len(a.Problems), view.MaxProblems)])
	return a, nil
}
