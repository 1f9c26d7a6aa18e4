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

// JobQuery says which jobs are asked for, in the words of GET /api/jobs. What is empty asks for all.
type JobQuery struct {
	Search, App, Type string
	States, Last      []string
	// Sort is by what, in GET /api/jobs' words.
	Sort       string
	Descending bool
	// Page counts from 1; PerPage is 1 to 500.
	Page, PerPage int
}

// MostPerPage is how many jobs one page has at most.
const MostPerPage = 500

// JobPage gives one page of the jobs, each with how it gets on.
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

// Overview gives the cluster at a glance, and what needs a look.
func (c *Client) Overview(ctx context.Context) (Answer[Overview], error) {
	return call[Overview](ctx, c, get("api", "overview"))
}

// Event is one server-sent event.
type Event struct {
	// Name is hello, summary or changed.
	Name string
	Data json.RawMessage
}

// Changed is what the event of that name says: of which the server answers otherwise now.
type Changed struct {
	Jobs, Executions, Apps []string
	Cluster                bool
	// All says that everything that is shown is to be read again.
	All bool
}

// mostEvent is more than any event has, in bytes.
const mostEvent = 4 << 20

// Events gives what changes, as it changes, until the stream ends, which is an error, or ctx.
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

// eachEvent reads events until one is not wanted, which is no error, or there are no more.
func eachEvent(r io.Reader, wanted func(Event) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostEvent)
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
