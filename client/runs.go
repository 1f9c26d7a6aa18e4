package client

import (
	"context"
	"crypto/rand"
	"net/url"
	"strconv"
	"strings"
)

// TriggerJob requests a run of a job. The key identifies the request, so that a trigger sent twice makes only one run;
// if it is "", TriggerJob chooses one. If the outcome is unknown, the error is an *UnknownError with the key.
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

// Runs selects executions. Empty fields select all.
type Runs struct {
	Job string
	// States are execution states.
	States []string
	// Since is the earliest fire time: a time (RFC 3339), or how long ago (24h).
	Since string
	// Before selects older executions: those before a time, or those after the page whose Answer.Next it is.
	Before string
	// Limit is the maximum number of executions, 1 to 1000; 0 is the server's default.
	Limit int
}

// Executions lists runs, the newest fire first.
func (c *Client) Executions(ctx context.Context, ask Runs) (Answer[[]Summary], error) {
	query := url.Values{}
	for name, value := range map[string]string{"state": strings.Join(ask.States, ","), "since": ask.Since,
		"before": ask.Before} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if ask.Limit > 0 {
		query.Set("limit", strconv.Itoa(ask.Limit))
	}
	if ask.Job == "" {
		return call[[]Summary](ctx, c, get("api", "executions").with(query))
	}
	return call[[]Summary](ctx, c, get("api", "job", ask.Job, "executions").with(query))
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
