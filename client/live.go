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

// JobQuery selects and sorts jobs, in the words of GET /api/jobs. Empty fields select all.
type JobQuery struct {
	Search, App, Type string
	States, Last      []string
	// Sort is one of the values of the parameter sort of GET /api/jobs.
	Sort       string
	Descending bool
	// Page counts from 1. PerPage is from 1 to MaxPerPage. 0 is the server's default.
	Page, PerPage int
}

// MaxPerPage is the maximum number of jobs of a page.
const MaxPerPage = 500

// JobPage returns one page of the jobs, each with its state and its last runs.
func (c *Client) JobPage(ctx context.Context, ask JobQuery) (Answer[JobPage], error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("search", ask.Search)
	set("app", ask.App)
	set("type", ask.Type)
	set("state", strings.Join(ask.States, ","))
	set("last", strings.Join(ask.Last, ","))
	set("sort", ask.Sort)
	if ask.Descending {
		set("order", "DESC")
	}
	if ask.Page > 0 {
		set("page", strconv.Itoa(ask.Page))
	}
	if ask.PerPage > 0 {
		set("per_page", strconv.Itoa(ask.PerPage))
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

// Changed is the data of the event changed. It names what the server may now answer differently about.
type Changed struct {
	Jobs, Executions, Apps []string
	Cluster                bool
	// All is set if everything shown must be read again.
	All bool
}

// maxEvent bounds the size of an event, in bytes. It exceeds every event.
const maxEvent = 4 << 20

// Events yields events until the stream breaks, which it yields as an error, or until ctx ends.
func (c *Client) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		resp, err := c.open(ctx, get("api", "events"))
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if err := eachEvent(resp.Body, func(e Event) bool { return yield(e, nil) }); err != nil {
			yield(Event{}, c.unreachable(fmt.Errorf("the stream of events has ended: %w", err)))
		}
	}
}

// eachEvent reads events until wanted returns false, which is no error, or until the stream ends.
func eachEvent(r io.Reader, wanted func(Event) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	var e Event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && e.Name != "":
			if !wanted(e) {
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
