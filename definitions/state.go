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
	// Call sends a request to a path below /api, with body as JSON unless it is nil, and decodes the answer into
	// answer unless that is nil. If the server rejects the request because of the document, the error is a *Refusal.
	Call(ctx context.Context, method, path string, body, answer any) error
}

// Refusal is the server's answer to a request that it rejects.
type Refusal struct {
	Message string
	// Fields are the rules that the document violates.
	Fields document.Violations
}

func (r *Refusal) Error() string {
	if len(r.Fields) == 0 {
		return r.Message
	}
	return r.Fields.Error()
}

// State is the present state of a server.
type State struct {
	// All has each app and each job, with hidden secrets. Disabled is set for all.
	All []*Definition
}

// jobRow is the part of a row of GET /api/jobs that is used here.
type jobRow struct {
	JobName, State   string
	Running, Waiting int
}

const rowsPerPage = 500

// shuttingDown is the state of a job that was shut down and still has running shards.
const shuttingDown = "SHUTTING_DOWN"

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

// readDisabled reads whether apps and jobs are disabled, which is not in the documents. For a job this is its own
// mark, independent of its app's.
func (s *State) readDisabled(ctx context.Context, server API) error {
	disabled := map[string]bool{}
	err := eachJob(ctx, server, "", func(j jobRow) { disabled[j.JobName] = isDisabled(j.State) })
	if err != nil {
		return fmt.Errorf("read which jobs are disabled: %w", err)
	}
	for _, d := range s.All {
		if d.Kind == Job {
			mark, seen := disabled[d.Name()]
			if !seen { // a job deleted between two requests moves other jobs to a page that was already read
				var one struct{ State string }
				if err := server.Call(ctx, http.MethodGet, "/job/"+url.PathEscape(d.Name())+"/explain", nil,
					&one); err != nil {
					return fmt.Errorf("read whether %s is disabled: %w", d, err)
				}
				mark = isDisabled(one.State)
			}
			*d.Disabled = mark
			continue
		}
		if err := server.Call(ctx, http.MethodGet, "/app/"+url.PathEscape(d.Name())+"/disable", nil,
			d.Disabled); err != nil {
			return fmt.Errorf("read whether %s is disabled: %w", d, err)
		}
	}
	return nil
}

// shards counts shards.
type shards struct{ running, waiting int }

// countShards counts the running and waiting shards of all jobs of an app, or of one job if job is not "".
func countShards(ctx context.Context, server API, app, job string) (found shards, err error) {
	err = eachJob(ctx, server, "&app="+url.QueryEscape(app), func(j jobRow) {
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

// eachJob calls do for each job, page by page. filter is appended to the query.
func eachJob(ctx context.Context, server API, filter string, do func(jobRow)) error {
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
