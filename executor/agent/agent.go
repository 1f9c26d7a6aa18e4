// Package agent is an executor's connection to its agent. It has the calls and events of Mesos' v1 executor API
// (agent.go), the tasks and updates that the executor must keep until they are acknowledged (ledger.go), and TLS
// (tls.go).
package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding/framing"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
	"github.com/mesos/mesos-go/api/v1/lib/executor/calls"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
)

// Only this file, and session.go, local.go and podrun.go of package executor, use Mesos' types. This file
// implements the agent's v1 executor API, protobuf over HTTP.

// API is the executor's access to its agent. The agent sends tasks and receives their updates. The methods may be
// called concurrently.
type API interface {
	// Subscribe subscribes to events. It passes the tasks and updates that the agent may not know (rule X5). The
	// error is ErrUnknown if the agent does not know this executor (rule X6).
	Subscribe(ctx context.Context, tasks []Assignment, updates []Update) (Events, error)
	// Update sends an update; nil means that the agent has it.
	Update(ctx context.Context, u Update) error
	// Message sends data to the scheduler; it may get lost.
	Message(ctx context.Context, data []byte) error
	// Close closes idle connections. No method may be called after it.
	Close()
}

// Events is the event stream of a subscription.
type Events interface {
	// Next waits for an event. Any error ends the subscription.
	Next() (*executor.Event, error)
	Close()
}

// Assignment is a task that the agent has launched on this executor.
type Assignment struct {
	ID   string
	Data []byte
	Raw  mesos.TaskInfo
}

// ErrUnknown means that the agent answered a call with status 400.
var ErrUnknown = errors.New("the agent doesn't know this executor")

const mediaType = "application/x-protobuf"

// AnswerTimeout limits the wait for the header of an answer, and the whole call of an update or a message.
const AnswerTimeout = 10 * time.Second

// Client is an API that calls one agent over HTTP. Any goroutine may use it.
type Client struct {
	url, token              string
	frameworkID, executorID string
	http                    *http.Client
}

// Options describe the agent to call, and the executor that calls it.
type Options struct {
	// Agent is the agent's URL, http(s)://host:port. Token is the executor's token; empty if the agent requires none.
	Agent, Token string
	// FrameworkID and ExecutorID identify the executor.
	FrameworkID, ExecutorID string
	TLS                     *tls.Config // nil for plain HTTP
	// Connections is the maximum number of idle connections that are kept.
	Connections int
}

// NewClient returns a client; it does not connect yet.
func NewClient(c Options) *Client {
	return &Client{
		url: c.Agent + "/api/v1/executor", token: c.Token,
		frameworkID: c.FrameworkID, executorID: c.ExecutorID,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext: (&net.Dialer{Timeout: 5 * time.Second,
					KeepAlive: 10 * time.Second}).DialContext,
				TLSClientConfig:       c.TLS,
				TLSHandshakeTimeout:   5 * time.Second,
				ResponseHeaderTimeout: AnswerTimeout,
				MaxIdleConnsPerHost:   c.Connections,
				DisableCompression:    true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// call makes a call, and returns the answer if its status is 2xx. The error wraps ErrUnknown for the status 400.
func (a *Client) call(ctx context.Context, call *executor.Call) (*http.Response, error) {
	call.FrameworkID = mesos.FrameworkID{Value: a.frameworkID}
	call.ExecutorID = mesos.ExecutorID{Value: a.executorID}
	body, err := call.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("Accept", mediaType)
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	_ = response.Body.Close()
	err = errors.New("the agent is not ready") // such as 503
	if response.StatusCode == http.StatusBadRequest {
		err = ErrUnknown
	}
	return nil, fmt.Errorf("%w: %s: %s", err, response.Status, strings.TrimSpace(string(text)))
}

// subscription is the stream of an agent's events.
type subscription struct {
	body   io.ReadCloser
	frames framing.Reader
}

// Subscribe implements API.
func (a *Client) Subscribe(ctx context.Context, tasks []Assignment, updates []Update) (Events, error) {
	call := calls.Subscribe(nil, nil)
	for _, t := range tasks {
		call.Subscribe.UnacknowledgedTasks = append(call.Subscribe.UnacknowledgedTasks, t.Raw)
	}
	for _, u := range updates {
		call.Subscribe.UnacknowledgedUpdates = append(call.Subscribe.UnacknowledgedUpdates,
			executor.Call_Update{Status: a.status(u)})
	}
	response, err := a.call(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return &subscription{body: response.Body, frames: recordio.NewReader(response.Body)}, nil
}

// Close implements Events.
func (s *subscription) Close() { _ = s.body.Close() }

// Next implements Events.
func (s *subscription) Next() (*executor.Event, error) {
	frame, err := s.frames.ReadFrame()
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	var e executor.Event
	if err := e.Unmarshal(frame); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	return &e, nil
}

// State is the state of a task in an update.
type State mesos.TaskState

// States of a task. All but Starting and Running are terminal.
const (
	Starting = State(mesos.TASK_STARTING)
	Running  = State(mesos.TASK_RUNNING)
	Finished = State(mesos.TASK_FINISHED)
	Failed   = State(mesos.TASK_FAILED)
	Killed   = State(mesos.TASK_KILLED)
)

// Terminal reports whether no further state of the task can follow.
func (s State) Terminal() bool { return s != Starting && s != Running }

func (a *Client) status(u Update) mesos.TaskStatus {
	taskState, source := mesos.TaskState(u.State), mesos.SOURCE_EXECUTOR
	timestamp := float64(u.At.UnixNano()) / 1e9
	return mesos.TaskStatus{
		TaskID: mesos.TaskID{Value: u.Task}, State: &taskState, Source: &source,
		ExecutorID: &mesos.ExecutorID{Value: a.executorID},
		Message:    &u.Message, Data: u.Data, UUID: u.UUID[:], Timestamp: &timestamp,
	}
}

// Close implements API.
func (a *Client) Close() { a.http.CloseIdleConnections() }

// Update implements API.
func (a *Client) Update(ctx context.Context, u Update) error {
	return a.send(ctx, "update", calls.Update(a.status(u)))
}

// Message sends data to the scheduler, through agent and master. It may get lost.
func (a *Client) Message(ctx context.Context, data []byte) error {
	return a.send(ctx, "message", calls.Message(data))
}

// send makes a call whose answer has no content. name names the call in errors.
func (a *Client) send(ctx context.Context, name string, call *executor.Call) error {
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	response, err := a.call(ctx, call)
	if err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be reused
	return response.Body.Close()
}
