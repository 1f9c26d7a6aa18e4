package view

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Query selects the jobs of a page. Empty fields select all.
type Query struct {
	// Search has words. Each of them must be in the name, the app or the description of a job, ignoring case.
	Search string
	App    string
	Type   string
	// States are elements of JobStates, Last of RunStates.
	States, Last []string
	Sort         Sort
	Descending   bool
	// Page counts from 1, and has PerPage rows.
	Page, PerPage int
	// Now is the time after which the next fires of daemons are computed.
	Now time.Time
}

// Sort is the key by which a page is sorted. Jobs without the key come last. Jobs with equal keys are sorted by name.
type Sort string

// The keys by which a page can be sorted.
const (
	ByName     Sort = "name"
	ByApp      Sort = "app"
	ByState    Sort = "state"
	ByNextFire Sort = "nextFire"
	ByLastRun  Sort = "lastRun"
	ByDuration Sort = "duration"
	ByFailures Sort = "failures"
)

// Page is one page of jobs.
type Page struct {
	// Total is the number of matching jobs; ByState is their number in each state, ignoring Query.States.
	Total   int            `json:"total"`
	ByState map[string]int `json:"byState"`
	Rows    []Row          `json:"rows"`
}

// Row is a job in a page.
type Row struct {
	JobName            string     `json:"jobName"`
	AppName            string     `json:"appName"`
	JobExecutionType   string     `json:"jobExecutionType"`
	Cron               string     `json:"cron"`
	TimeZone           string     `json:"timeZone"`
	ShardingTotalCount int        `json:"shardingTotalCount"`
	Description        string     `json:"description"`
	State              string     `json:"state"`
	Disabled           bool       `json:"disabled"`
	NextFire           *time.Time `json:"nextFire"`
	// Running and Waiting count shards.
	Running      int        `json:"running"`
	Waiting      int        `json:"waiting"`
	WaitingSince *time.Time `json:"waitingSince"`
	// WaitingFor is the reason why the oldest waiting execution or shard waits; WaitingForCode is the same for
	// programs.
	WaitingFor     string         `json:"waitingFor"`
	WaitingForCode string         `json:"waitingForCode,omitempty"`
	WaitingForArgs map[string]any `json:"waitingForArgs,omitempty"`
	LastRun        *LastRun       `json:"lastRun"`
	// Failures counts the last consecutive runs that failed.
	Failures int   `json:"failures"`
	Runs     []Run `json:"runs"`
}

// LastRun is the last run of a job that ended.
type LastRun struct {
	Run
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	views.Why
}

// Run is one execution in a job's list of last runs.
type Run struct {
	ExecutionID    string           `json:"executionId"`
	State          executions.State `json:"state"`
	FireTime       time.Time        `json:"fireTime"`
	DurationMillis *int64           `json:"durationMillis"`
}

// maxRuns is how many of a job's last runs a page shows.
const maxRuns = 30

// Page returns the jobs in a scope that match a query. It reads the core only for the jobs on the page.
func (j *Jobs) Page(ctx context.Context, scope explain.Scope, q Query) (Page, error) {
	if err := j.refresh(ctx); err != nil {
		return Page{}, err
	}
	p, names := j.selectRows(scope, &q)
	if len(names) == 0 {
		return p, nil
	}
	var details []views.JobDetail
	if err := j.read(ctx, func(c *core.Core) { details = c.Views().JobDetails(names, maxRuns) }); err != nil {
		return Page{}, err
	}
	for i := range p.Rows {
		p.Rows[i].fill(&details[i])
	}
	return p, nil
}

// selectRows selects the rows of a page, without the data that only the core has, and returns the names of their jobs.
func (j *Jobs) selectRows(scope explain.Scope, q *Query) (p Page, names []string) {
	words := strings.Fields(strings.ToLower(q.Search))
	last := make([]bool, len(runStates))
	for _, state := range q.Last {
		last[indexOf(runStates, state)] = true
	}
	states := make([]bool, len(jobStates))
	for _, state := range q.States {
		states[indexOf(jobStates, state)] = true
	}
	byState := make([]int, len(jobStates))
	j.mu.Lock()
	defer j.mu.Unlock()
	found := j.found[:0] // reused, so that a page of 100,000 jobs allocates nothing for them
	rows := j.inOrder()
	key := q.key(rows)
	for i, r := range rows {
		switch {
		case q.App != "" && r.app() != q.App, q.Type != "" && r.kind() != q.Type,
			len(q.Last) > 0 && !last[r.lastState], !r.covered(scope), !r.matches(words):
			continue
		}
		byState[r.state]++
		if len(q.States) > 0 && !states[r.state] {
			continue
		}
		r.fireAfter(q.Now)
		found = append(found, keyed{key(r), int32(i)})
	}
	j.found = found
	p = Page{Total: len(found), ByState: map[string]int{}, Rows: []Row{}}
	for state, n := range byState {
		if n > 0 {
			p.ByState[jobStates[state]] = n
		}
	}
	from := min((q.Page-1)*q.PerPage, len(found))
	to := min(from+q.PerPage, len(found))
	if q.Sort == ByName {
		if q.Descending {
			slices.Reverse(found)
		}
	} else {
		moveToFront(found, to, func(a, b keyed) int {
			d := cmp.Compare(a.key, b.key)
			switch {
			case a.key == noKey || b.key == noKey: // rows without a key come last in both directions
			case q.Descending:
				d = -d
			}
			return cmp.Or(d, cmp.Compare(a.index, b.index))
		})
	}
	for _, k := range found[from:to] {
		r := rows[k.index]
		p.Rows = append(p.Rows, r.shown())
		names = append(names, r.name)
	}
	return p, names
}

// keyed is a row, by its index in the order of names, with its sort key.
type keyed struct {
	key   int64
	index int32
}

// noKey is the sort key of a row without one.
const noKey = math.MaxInt64

// keyOr returns a key, or noKey if it is not positive.
func keyOr(key int64) int64 {
	if key <= 0 {
		return noKey
	}
	return key
}

// key returns the function that computes the sort key of a row.
func (q *Query) key(rows []*row) func(*row) int64 {
	switch q.Sort {
	case ByApp:
		rank := map[string]int64{}
		for _, r := range rows {
			rank[r.app()] = 0
		}
		apps := make([]string, 0, len(rank))
		for app := range rank {
			apps = append(apps, app)
		}
		slices.Sort(apps)
		for i, app := range apps {
			rank[app] = int64(i)
		}
		return func(r *row) int64 { return rank[r.app()] }
	case ByState:
		return func(r *row) int64 { return int64(r.state) }
	case ByNextFire:
		return func(r *row) int64 { return keyOr(r.nextFire) }
	case ByLastRun:
		return func(r *row) int64 { return keyOr(r.lastFire) }
	case ByDuration:
		return func(r *row) int64 { return keyOr(r.duration() + 1) }
	case ByFailures:
		return func(r *row) int64 { return int64(r.failures) }
	}
	return func(*row) int64 { return 0 }
}

// moveToFront moves the n elements that come first to the front of a slice, in order. The others are then lost or in
// no order.
func moveToFront(all []keyed, n int, compare func(a, b keyed) int) {
	if n == 0 {
		return
	}
	if n > len(all)/4 {
		slices.SortFunc(all, compare)
		return
	}
	var best []keyed
	trimmed := false
	for _, k := range all {
		if trimmed && compare(k, best[n-1]) > 0 {
			continue // at least n elements come before it
		}
		if best = append(best, k); len(best) >= 2*n+100 {
			slices.SortFunc(best, compare)
			best, trimmed = best[:n], true
		}
	}
	slices.SortFunc(best, compare)
	copy(all, best[:n])
}

// shown returns the row as it is shown, without the data that only the core has.
func (r *row) shown() Row {
	v := Row{JobName: r.name, State: jobStates[r.state], Disabled: r.disabled, NextFire: timeOf(r.nextFire),
		Running: int(r.running), Waiting: int(r.waiting),
		WaitingSince: timeOf(r.waitingSince), Failures: int(r.failures), Runs: []Run{}}
	if c := r.config; c != nil {
		v.AppName, v.JobExecutionType, v.Cron, v.TimeZone = c.AppName, c.JobExecutionType, c.Cron, c.TimeZone
		v.ShardingTotalCount, v.Description = c.ShardingTotalCount, secrets.Hide(c.Description)
	}
	return v
}

// fill adds the core's data to a row.
func (v *Row) fill(d *views.JobDetail) {
	v.NextFire = timeOf(millis(d.NextFire))
	why := d.WaitingFor
	v.WaitingFor, v.WaitingForCode, v.WaitingForArgs = why.String(), string(why.Code()), why.Args()
	if run := d.LastRun; run != nil {
		v.LastRun = &LastRun{Run: Run{ExecutionID: run.ExecutionID, State: run.State, FireTime: run.FireTime},
			StartTime: run.StartTime, CompleteTime: run.CompleteTime, Why: run.Why}
		if run.StartTime != nil && run.CompleteTime != nil {
			v.LastRun.DurationMillis = between(*run.StartTime, *run.CompleteTime)
		}
	}
	for i := range d.Runs {
		r := &d.Runs[i]
		v.Runs = append(v.Runs, Run{ExecutionID: r.ExecutionID, State: r.State, FireTime: r.Fire.UTC(),
			DurationMillis: between(r.Start, r.Complete)})
	}
}

// between returns the milliseconds from start to end; nil if one of them is not known.
func between(start, end time.Time) *int64 {
	if start.IsZero() || end.IsZero() {
		return nil
	}
	took := max(end.Sub(start), 0).Milliseconds()
	return &took
}
