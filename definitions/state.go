package definitions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Server is the REST API as this package needs it.
type Server interface {
	// Call sends a request to a path below /api, with body as JSON unless it is nil, and reads the answer into answer
	// unless that is nil. What the server refuses is a *Refusal.
	Call(ctx context.Context, method, path string, body, answer any) error
}

// Refusal is the server's answer to a request that it does not do.
type Refusal struct {
	Message string
	// Fields are the rules that the document breaks.
	Fields document.Violations
}

func (r *Refusal) Error() string {
	if len(r.Fields) == 0 {
		return r.Message
	}
	return r.Fields.Error()
}

// State is what the server has.
type State struct {
	// All has each app and each job, with its secrets hidden, and Disabled set for all.
	All []*Definition
}

// jobsPage is what GET /api/jobs answers, as far as it is needed here.
type jobsPage struct {
	Total int
	Rows  []struct {
		JobName, State   string
		Running, Waiting int
	}
}

const rowsPerPage = 500

// shuttingDown is the state of a job that was shut down and of which something still runs.
const shuttingDown = "SHUTTING_DOWN"

func isDisabled(state string) bool { return state == "DISABLED" || state == shuttingDown }

// Fetch reads all apps and jobs that the caller may see.
func Fetch(ctx context.Context, server Server) (*State, error) {
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

// readDisabled reads the marks, which are not part of the documents. A job is asked for its own, whatever its app's
// is.
func (s *State) readDisabled(ctx context.Context, server Server) error {
	disabled := map[string]bool{}
	for page := 1; ; page++ {
		var rows jobsPage
		path := fmt.Sprintf("/jobs?sort=name&per_page=%d&page=%d", rowsPerPage, page)
		if err := server.Call(ctx, http.MethodGet, path, nil, &rows); err != nil {
			return fmt.Errorf("read which jobs are disabled: %w", err)
		}
		for _, row := range rows.Rows {
			disabled[row.JobName] = isDisabled(row.State)
		}
		if len(rows.Rows) < rowsPerPage {
			break
		}
	}
	for _, d := range s.All {
		if d.Kind == Job {
			mark, seen := disabled[d.Name()]
			if !seen { // while pages are read, a job that is deleted moves others to a page that was read before
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

// shards are numbers of shards.
type shards struct{ running, waiting int }

// busy is how many shards of an app's jobs run or wait, or of one job of it if that is named.
func busy(ctx context.Context, server Server, app, job string) (found shards, err error) {
	for page := 1; ; page++ {
		var rows jobsPage
		path := fmt.Sprintf("/jobs?sort=name&app=%s&per_page=%d&page=%d", url.QueryEscape(app), rowsPerPage, page)
		if err := server.Call(ctx, http.MethodGet, path, nil, &rows); err != nil {
			return shards{}, fmt.Errorf("count the shards of app %s: %w", app, err)
		}
		for _, row := range rows.Rows {
			if job == "" || row.JobName == job {
				found.running += row.Running
				found.waiting += row.Waiting
			}
		}
		if len(rows.Rows) < rowsPerPage {
			return found, nil
		}
	}
}
