package client

import (
	"context"
	"crypto/rand"
	"net/url"
	"strconv"
	"strings"
)

// TriggerJob requests a run of a job. The key identifies the request, so that a trigger that is sent twice makes only
// one run. If key is "", TriggerJob chooses a key. If the outcome is unknown, the error is an *UnknownError with the
// key.
func (c *Client) TriggerJob(ctx context.Context, name string, o Overrides, key string) (Answer[Triggered], error) {
	if key == "" {
		key = rand.Text()
	}
	r := post("api", "job", name, "trigger")
	r.key = key
	if o.JobParameter != nil || o.ShardingItemParameters != nil || len(o.Env) > 0 {
		r.body = o
	}
	return call[Triggered](ctx, c, r)
}

// Runs selects executions. An empty field does not restrict them.
type Runs struct {
	Job string
	// States are execution states.
	States []string
	// Since is the earliest fire time: a time (RFC 3339), or a duration before now (24h).
	Since string
	// Before is a time, or the Answer.Next of a page. It selects the executions that are older than the time or page.
	Before string
	// Limit is the maximum number of executions, 1 to 1000; 0 is the server's default.
	Limit int
}

// Executions lists runs, the newest fire first.
func (c *Client) Executions(ctx context.Context, q Runs) (Answer[[]Summary], error) {
	query := url.Values{}
	for name, value := range map[string]string{"state": strings.Join(q.States, ","), "since": q.Since,
		"before": q.Before} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Job == "" {
		return call[[]Summary](ctx, c, get("api", "executions").with(query))
	}
	return call[[]Summary](ctx, c, get("api", "job", q.Job, "executions").with(query))
}

// Execution returns one run with all its shards.
func (c *Client) Execution(ctx context.Context, id string) (Answer[Execution], error) {
	return call[Execution](ctx, c, get("api", "execution", id))
}

// KillExecution kills one run: its running and its waiting shards.
func (c *Client) KillExecution(ctx context.Context, id string) (Answer[struct{}], error) {
	return call[struct{}](ctx, c, post("api", "execution", id, "kill"))
}

// KillTask kills one task. The other shards of its run continue.
func (c *Client) KillTask(ctx context.Context, id string) (Answer[struct{}], error) {
	return call[struct{}](ctx, c, post("api", "task", id, "kill"))
}
