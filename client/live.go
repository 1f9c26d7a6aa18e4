package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
)

// JobQuery selects and sorts jobs by the parameters of GET /api/jobs. An empty field does not restrict the jobs.
type JobQuery struct {
	Search, App, Type string
	States, Last      []string
	// Sort is one of the values of the parameter sort of GET /api/jobs.
	Sort       string
	Descending bool
	// Page counts from 1. PerPage is from 1 to MaxPerPage. For both, 0 means the server's default.
	Page, PerPage int
}

// MaxPerPage is the maximum number of jobs on a page.
const MaxPerPage = 500

// JobPage returns one page of the jobs, each with its state and its last runs.
func (c *Client) JobPage(ctx context.Context, q JobQuery) (Answer[JobPage], error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("search", q.Search)
	set("app", q.App)
	set("type", q.Type)
	set("state", strings.Join(q.States, ","))
	set("last", strings.Join(q.Last, ","))
	set("sort", q.Sort)
	if q.Descending {
		set("order", "DESC")
	}
	if q.Page > 0 {
		set("page", strconv.Itoa(q.Page))
	}
	if q.PerPage > 0 {
		set("per_page", strconv.Itoa(q.PerPage))
	}
	return call[JobPage](ctx, c, get("api", "jobs").with(query))
}

// Overview returns a summary of the cluster and its problems.
func (c *Client) Overview(ctx context.Context) (Answer[Overview], error) {
	return call[Overview](ctx, c, get("api", "overview"))
}

// Event is one server-sent event.
type Event struct {
	// Name is hello, summary or changed.
	Name string
	Data json.RawMessage
}

// Changed is the data of the event changed. It names the objects whose data may have changed. Cluster stands for the
// data of the cluster.
type Changed struct {
	Jobs, Executions, Apps []string
	Cluster                bool
	// All is set if anything may have changed.
	All bool
}

// maxEvent limits the size of an event, in bytes. It exceeds every event.
const maxEvent = 4 << 20

// Events yields events until the stream breaks or ctx ends. It yields an error last.
func (c *Client) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.open(ctx, get("api", "events"))
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if err := readEvents(resp.Body, func(e Event) bool { return yield(e, nil) }); err != nil {
			yield(Event{}, c.unreachable(fmt.Errorf("the stream of events has ended: %w", err)))
		}
	}
}

// readEvents reads events from a stream and calls yield with each. It returns nil after yield has returned false, and
// an error when the stream ends.
func readEvents(r io.Reader, yield func(Event) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	var e Event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && e.Name != "":
			if !yield(e) {
				return nil
			}
			e = Event{}
		case name == "event":
			e.Name = value
		case name == "data":
			e.Data = append(e.Data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}
