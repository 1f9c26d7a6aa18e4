package definitions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// API is the part of the REST API that this package uses.
type API interface {
	// Call sends a request to a path below /api. It sends body as JSON unless body is nil, and decodes the answer into
	// answer unless answer is nil. If the server rejects the document in the request, the error is a *Refusal.
	Call(ctx context.Context, method, path string, body, answer any) error
}

// Refusal is the error of a request that the server rejects.
type Refusal struct {
	Message string
	// Fields are the violations in the document.
	Fields document.Violations
}

// Error lists the violations; it returns the message if there are none.
func (r *Refusal) Error() string {
	if len(r.Fields) == 0 {
		return r.Message
	}
	return r.Fields.Error()
}

// State is the present state of a server.
type State struct {
	// All contains all apps and jobs, with hidden secrets. Their Disabled is not nil.
	All []*Definition
}

// jobRow contains the fields of a row of GET /api/jobs that this package uses.
type jobRow struct {
	JobName, State   string
	Running, Waiting int
}

// rowsPerPage is the maximum that the API allows.
const rowsPerPage = 500

// shuttingDown is the state of a job that was shut down and still has running shards.
const shuttingDown = "SHUTTING_DOWN"

// isDisabled reports whether a state is that of a disabled job.
func isDisabled(state string) bool { return state == "DISABLED" || state == shuttingDown }

// Fetch reads all apps and jobs that the caller may see.
func Fetch(ctx context.Context, server API) (*State, error) {
	state := &State{}
	for kind, path := range map[Kind]string{App: "/app/list", Job: "/job/jobs"} {
		var documents []json.RawMessage
		if err := server.Call(ctx, http.MethodGet, path, nil, &documents); err != nil {
			return nil, fmt.Errorf("read all %ss of the server: %w", kind.word(), err)
		}
		for _, body := range documents {
			d, err := fromServer(kind, body)
			if err != nil {
				return nil, err
			}
			d.Disabled = new(bool)
			state.All = append(state.All, d)
		}
	}
	sortAll(state.All)
	return state, state.readDisabled(ctx, server)
}

// readDisabled reads which apps and jobs are disabled, which the documents do not say. A job counts as disabled if it
// is disabled itself, not if only its app is.
func (s *State) readDisabled(ctx context.Context, server API) error {
	disabledJobs := map[string]bool{}
	err := forEachJob(ctx, server, "", func(j jobRow) { disabledJobs[j.JobName] = isDisabled(j.State) })
	if err != nil {
		return fmt.Errorf("read which jobs are disabled: %w", err)
	}
	for _, d := range s.All {
		if d.Kind == Job {
			disabled, listed := disabledJobs[d.Name()]
			if !listed { // a job deleted between two requests moves other jobs to a page that was already read
				var job struct{ State string }
				path := "/job/" + url.PathEscape(d.Name()) + "/explain"
				if err := server.Call(ctx, http.MethodGet, path, nil, &job); err != nil {
					return fmt.Errorf("read whether %s is disabled: %w", d, err)
				}
				disabled = isDisabled(job.State)
			}
			*d.Disabled = disabled
			continue
		}
		path := "/app/" + url.PathEscape(d.Name()) + "/disable"
		if err := server.Call(ctx, http.MethodGet, path, nil, d.Disabled); err != nil {
			return fmt.Errorf("read whether %s is disabled: %w", d, err)
		}
	}
	return nil
}

// shards contains numbers of shards.
type shards struct{ running, waiting int }

// countShards counts the running and waiting shards of all jobs of an app, or of one job if job is not "".
func countShards(ctx context.Context, server API, app, job string) (found shards, err error) {
	err = forEachJob(ctx, server, "&app="+url.QueryEscape(app), func(j jobRow) {
		if job == "" || j.JobName == job {
			found.running += j.Running
			found.waiting += j.Waiting
		}
	})
	if err != nil {
		return shards{}, fmt.Errorf("count the shards of app %s: %w", app, err)
	}
	return found, nil
}

// forEachJob calls do for each job, and reads the jobs page by page. filter is added to the query.
func forEachJob(ctx context.Context, server API, filter string, do func(jobRow)) error {
	for page := 1; ; page++ {
		var answer struct{ Rows []jobRow }
		path := fmt.Sprintf("/jobs?sort=name%s&per_page=%d&page=%d", filter, rowsPerPage, page)
		if err := server.Call(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		for _, row := range answer.Rows {
			do(row)
		}
		if len(answer.Rows) < rowsPerPage {
			return nil
		}
	}
}
