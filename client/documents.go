package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Apps lists the documents of all apps.
func (c *Client) Apps(ctx context.Context) (Answer[[]App], error) {
	return call[[]App](ctx, c, get("api", "app", "list"))
}

// App gives an app's document.
func (c *Client) App(ctx context.Context, name string) (Answer[App], error) {
	return call[App](ctx, c, get("api", "app", name))
}

// AppDisabled says whether an app is disabled.
func (c *Client) AppDisabled(ctx context.Context, name string) (Answer[bool], error) {
	return call[bool](ctx, c, get("api", "app", name, "disable"))
}

// PublishApp publishes a new app by its document. With check the server first looks whether the
// package can be fetched and has the script.
func (c *Client) PublishApp(ctx context.Context, document json.RawMessage, check bool) (Answer[App], error) {
	return call[App](ctx, c, writeApp(http.MethodPost, document, check))
}

// UpdateApp changes the fields of an app that the document has; it names the app.
func (c *Client) UpdateApp(ctx context.Context, document json.RawMessage, check bool) (Answer[App], error) {
	return call[App](ctx, c, writeApp(http.MethodPut, document, check))
}

func writeApp(method string, document json.RawMessage, check bool) request {
	r := request{method: method, path: []string{"api", "app"}, body: document}
	if check {
		r.query, r.timeout = url.Values{"check": {"true"}}, checkTimeout
	}
	return r
}

// SetAppEnabled enables or disables an app, and so all its jobs.
func (c *Client) SetAppEnabled(ctx context.Context, name string, enabled bool) (Answer[App], error) {
	action := "disable"
	if enabled {
		action = "enable"
	}
	return call[App](ctx, c, post("api", "app", name, action))
}

// DeleteApp deletes an app, with its jobs if asked for; without, an app that has jobs is refused.
func (c *Client) DeleteApp(ctx context.Context, name string, jobs bool) (Answer[App], error) {
	return call[App](ctx, c, request{method: http.MethodDelete, path: []string{"api", "app", name},
		query: flag("jobs", jobs)})
}

// Jobs lists the documents of all jobs.
func (c *Client) Jobs(ctx context.Context) (Answer[[]Job], error) {
	return call[[]Job](ctx, c, get("api", "job", "jobs"))
}

// Job gives a job's document.
func (c *Client) Job(ctx context.Context, name string) (Answer[Job], error) {
	return call[Job](ctx, c, get("api", "job", "jobs", name))
}

// RegisterJob registers a new job by its document.
func (c *Client) RegisterJob(ctx context.Context, document json.RawMessage) (Answer[Job], error) {
	return call[Job](ctx, c, post("api", "job", "register").sending(document))
}

// UpdateJob changes the fields of a job that the document has; it names the job.
func (c *Client) UpdateJob(ctx context.Context, document json.RawMessage) (Answer[Job], error) {
	return call[Job](ctx, c, request{method: http.MethodPut, path: []string{"api", "job", "update"}, body: document})
}

// CheckJob says all that RegisterJob, or with update UpdateJob, would say of a document, and changes nothing.
func (c *Client) CheckJob(ctx context.Context, document json.RawMessage, update bool) (Answer[json.RawMessage],
	error) {
	return call[json.RawMessage](ctx, c, post("api", "job", "check").sending(document).with(flag("update", update)))
}

// DeleteJob deregisters a job and gives it as it was.
func (c *Client) DeleteJob(ctx context.Context, name string) (Answer[Job], error) {
	return call[Job](ctx, c, request{method: http.MethodDelete, path: []string{"api", "job", name, "deregister"}})
}

// JobAction is what may be done with a job that is there.
type JobAction string

// What each does is said in docs/api.md, under Jobs.
const (
	Pause    JobAction = "pause"
	Resume   JobAction = "resume"
	Enable   JobAction = "enable"
	Disable  JobAction = "disable"
	ShutDown JobAction = "shutdown"
)

// ActOnJob pauses, resumes, enables, disables or shuts down a job.
func (c *Client) ActOnJob(ctx context.Context, name string, action JobAction) (Answer[Job], error) {
	return call[Job](ctx, c, post("api", "job", name, string(action)))
}

// Explain says what a job does, and why.
func (c *Client) Explain(ctx context.Context, name string) (Answer[Explanation], error) {
	return call[Explanation](ctx, c, get("api", "job", name, "explain"))
}

func flag(name string, set bool) url.Values {
	if !set {
		return nil
	}
	return url.Values{name: {strconv.FormatBool(set)}}
}
