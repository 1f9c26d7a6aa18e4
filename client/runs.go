package client

import (
	"context"
	"crypto/rand"
	"net/url"
	"strconv"
	"strings"
)

// TriggerJob asks for a run of a job. The key names the request, so that a trigger which is sent twice makes one run;
// an empty one is chosen. An *UnknownError has it where the outcome is not known.
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

// Runs says which executions are asked for. What is empty asks for all.
type Runs struct {
	Job string
	// States are execution states.
	States []string
	// Since is a time (RFC 3339), or how long ago (24h), of the fire.
	Since string
	// Before leads to older ones: a time, or the Next of an answer.
	Before string
	// Limit is how many there are at most, 1 to 1000; 0 is the server's choice.
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

// Execution gives one run with all its shards.
func (c *Client) Execution(ctx context.Context, id string) (Answer[Execution], error) {
	return call[Execution](ctx, c, get("api", "execution", id))
}

// KillExecution ends one run: its running shards, and those that wait.
func (c *Client) KillExecution(ctx context.Context, id string) (Answer[struct{}], error) {
	return call[struct{}](ctx, c, post("api", "execution", id, "kill"))
}

// KillTask ends one task; the other shards of its run go on.
func (c *Client) KillTask(ctx context.Context, id string) (Answer[struct{}], error) {
	return call[struct{}](ctx, c, post("api", "task", id, "kill"))
}
