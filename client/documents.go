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

// App returns an app's document.
func (c *Client) App(ctx context.Context, name string) (Answer[App], error) {
	return call[App](ctx, c, get("api", "app", name))
}

// AppDisabled reports whether an app is disabled.
func (c *Client) AppDisabled(ctx context.Context, name string) (Answer[bool], error) {
	return call[bool](ctx, c, get("api", "app", name, "disable"))
}

// PublishApp publishes a new app. With check the server first checks that the package can be fetched and contains the
// script.
func (c *Client) PublishApp(ctx context.Context, document json.RawMessage, check bool) (Answer[App], error) {
	return call[App](ctx, c, writeApp(http.MethodPost, document, check))
}

// UpdateApp changes the fields of an app that the document contains. The document must name the app. check is that of
// PublishApp.
func (c *Client) UpdateApp(ctx context.Context, document json.RawMessage, check bool) (Answer[App], error) {
	return call[App](ctx, c, writeApp(http.MethodPut, document, check))
}

// writeApp returns the request of PublishApp or UpdateApp.
func writeApp(method string, document json.RawMessage, check bool) request {
	r := request{method: method, path: []string{"api", "app"}, body: document}
	if check {
		r.query, r.timeout = url.Values{"check": {"true"}}, checkTimeout
	}
	return r
}

// PackageCheck is what a server found in the package of an app.
type PackageCheck struct {
	// Problems say what would keep a shard from starting. Each names a field of the app.
	Problems []Field `json:"problems"`
}

// CheckApp lets the server fetch an app's package and search it for the app's command. The app is that of the
// document; with update it is the stored app, changed by the fields of the document. CheckApp changes nothing.
func (c *Client) CheckApp(ctx context.Context, document json.RawMessage, update bool) (Answer[PackageCheck], error) {
	r := post("api", "app", "check").sending(document).with(flag("update", update))
	r.timeout = checkTimeout
	return call[PackageCheck](ctx, c, r)
}

// SetAppEnabled enables or disables an app. Disabling an app disables all its jobs.
func (c *Client) SetAppEnabled(ctx context.Context, name string, enabled bool) (Answer[App], error) {
	action := "disable"
	if enabled {
		action = "enable"
	}
	return call[App](ctx, c, post("api", "app", name, action))
}

// DeleteApp deletes an app. If the app has jobs, the server deletes them too if deleteJobs is set, and otherwise
// refuses the request.
func (c *Client) DeleteApp(ctx context.Context, name string, deleteJobs bool) (Answer[App], error) {
	return call[App](ctx, c, request{method: http.MethodDelete, path: []string{"api", "app", name},
		query: flag("jobs", deleteJobs)})
}

// Jobs lists the documents of all jobs.
func (c *Client) Jobs(ctx context.Context) (Answer[[]Job], error) {
	return call[[]Job](ctx, c, get("api", "job", "jobs"))
}

// Job returns a job's document.
func (c *Client) Job(ctx context.Context, name string) (Answer[Job], error) {
	return call[Job](ctx, c, get("api", "job", "jobs", name))
}

// RegisterJob registers a new job.
func (c *Client) RegisterJob(ctx context.Context, document json.RawMessage) (Answer[Job], error) {
	return call[Job](ctx, c, post("api", "job", "register").sending(document))
}

// UpdateJob changes the fields of a job that the document contains. The document must name the job.
func (c *Client) UpdateJob(ctx context.Context, document json.RawMessage) (Answer[Job], error) {
	return call[Job](ctx, c, request{method: http.MethodPut, path: []string{"api", "job", "update"}, body: document})
}

// CheckJob returns the answer that RegisterJob, or with update UpdateJob, would return for a document. It changes
// nothing.
func (c *Client) CheckJob(ctx context.Context, document json.RawMessage, update bool) (Answer[json.RawMessage],
	error) {
	return call[json.RawMessage](ctx, c, post("api", "job", "check").sending(document).with(flag("update", update)))
}

// DeleteJob deregisters a job and returns its last document.
func (c *Client) DeleteJob(ctx context.Context, name string) (Answer[Job], error) {
	return call[Job](ctx, c, request{method: http.MethodDelete, path: []string{"api", "job", name, "deregister"}})
}

// JobAction is an action on a registered job.
type JobAction string

// The actions on a job. docs/api.md describes them under Jobs.
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

// Explain returns what a job is doing, and why.
func (c *Client) Explain(ctx context.Context, name string) (Answer[Explanation], error) {
	return call[Explanation](ctx, c, get("api", "job", name, "explain"))
}

// flag returns the query name=true if set, and otherwise no query.
func flag(name string, set bool) url.Values {
	if !set {
		return nil
	}
	return url.Values{name: {strconv.FormatBool(set)}}
}
