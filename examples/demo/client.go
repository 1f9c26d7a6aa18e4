package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client calls the REST API.
type client struct{ base string }

// refusal is an error response.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server answered %d: %s", r.status, r.message)
}

// call sends a request and decodes the response: as JSON into out, or as text if out is a *string.
func (c *client) call(ctx context.Context, method, path, body string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode != http.StatusOK {
		return refused(response.StatusCode, text)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *string:
		*out = string(text)
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func refused(status int, text []byte) error {
	var answer struct {
		Error struct {
			Message string
			Fields  []struct{ Field, Message string }
		}
	}
	if json.Unmarshal(text, &answer) != nil || answer.Error.Message == "" {
		return &refusal{status, string(bytes.TrimSpace(text))}
	}
	message := answer.Error.Message
	for _, f := range answer.Error.Fields {
		message += "\n  " + f.Field + ": " + f.Message
	}
	return &refusal{status, message}
}

type execution struct {
	ExecutionID, JobName, Source, State, Reason string
	FireTime                                    time.Time
	Shards                                      []shard
}

func (e execution) over() bool { return e.State != "WAITING" && e.State != "RUNNING" }

type shard struct {
	Item                               int
	State, TaskID, Agent, FailureCause string
	Attempt                            int
	StartTime, CompleteTime            *time.Time
	ExitStatus                         *int
}

// runs returns the ids of a job's waiting and running executions, and those of the next fires with their times.
func (c *client) runs(ctx context.Context, job string) (current []string, due map[string]time.Time, err error) {
	var explanation struct {
		Waiting, Running []struct{ ExecutionID string }
		NextFires        []time.Time
	}
	if err := c.call(ctx, "GET", "/api/job/"+url.PathEscape(job)+"/explain", "", &explanation); err != nil {
		return nil, nil, err
	}
	for _, w := range append(explanation.Running, explanation.Waiting...) {
		current = append(current, w.ExecutionID)
	}
	due = map[string]time.Time{}
	for _, fire := range explanation.NextFires {
		// The id of an execution contains the time of its fire, so that no fire has two executions.
		due[job+"@"+fire.UTC().Format("20060102T150405Z")] = fire
	}
	return current, due, nil
}

func (c *client) execution(ctx context.Context, id string) (execution, error) {
	var e execution
	err := c.call(ctx, "GET", "/api/execution/"+url.PathEscape(id), "", &e)
	return e, err
}

func (c *client) output(ctx context.Context, task, stream string) (string, error) {
	var text string
	err := c.call(ctx, "GET", "/api/task/"+url.PathEscape(task)+"/logs?stream="+stream, "", &text)
	return text, err
}
