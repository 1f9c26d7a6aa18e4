// Package agent is an executor's side of its agent: the calls and events of Mesos' v1 executor API (agent.go), what is
// kept to be told to the agent until it is acknowledged (ledger.go), and TLS (tls.go).
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

// This file, and session.go, local.go and podrun.go of package executor, are all that know Mesos' types; this one the
// agent's v1 executor API, protobuf over HTTP.

// API is who launches tasks and takes their updates. Its methods may be called concurrently.
type API interface {
	// Subscribe names what the agent may not know (rule X5). Its error is ErrUnknown when the agent does not know this
	// executor (rule X6).
	Subscribe(ctx context.Context, tasks []Assignment, updates []Update) (Events, error)
	// Update sends one; nil means that the agent has it.
	Update(ctx context.Context, u Update) error
	// Message sends what may get lost.
	Message(ctx context.Context, data []byte) error
	// Close gives up what was kept open; nothing is called after it.
	Close()
}

// Events are the events of a subscription.
type Events interface {
	// Next waits for an event. Any error ends the subscription.
	Next() (*executor.Event, error)
	Close()
}

// Assignment is a task as the agent hands it over.
type Assignment struct {
	ID   string
	Data []byte
	Raw  mesos.TaskInfo
}

// ErrUnknown is the answer 400 to a call.
var ErrUnknown = errors.New("the agent doesn't know this executor")

const mediaType = "application/x-protobuf"

// AnswerWithin bounds the wait for the first bytes of an answer.
const AnswerWithin = 10 * time.Second

// Client makes calls to one agent. It is for use by any goroutine.
type Client struct {
	url, token              string
	frameworkID, executorID string
	http                    *http.Client
}

// Options say which agent a client speaks to, and for whom.
type Options struct {
	// agent is its address, http(s)://host:port; token the executor's own, "" where agents want none.
	Agent, Token string
	// frameworkID and executorID name the executor that speaks.
	FrameworkID, ExecutorID string
	TLS                     *tls.Config // nil without TLS
	// Connections is how many calls are under way at once at most.
	Connections int
}

// NewClient connects to nothing yet.
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
				ResponseHeaderTimeout: AnswerWithin,
				MaxIdleConnsPerHost:   c.Connections,
				DisableCompression:    true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

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
	err = errors.New("the agent isn't ready") // 503 and the like
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

// Subscribe implements API. An answer 400 is ErrUnknown.
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

func (s *subscription) Close() { _ = s.body.Close() }

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

// State is a task's state as reported to the agent.
type State mesos.TaskState

const (
	Starting = State(mesos.TASK_STARTING)
	Running  = State(mesos.TASK_RUNNING)
	Finished = State(mesos.TASK_FINISHED)
	Failed   = State(mesos.TASK_FAILED)
	Killed   = State(mesos.TASK_KILLED)
)

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

func (a *Client) Close() { a.http.CloseIdleConnections() }

// Update implements API.
func (a *Client) Update(ctx context.Context, u Update) error {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	response, err := a.call(ctx, calls.Update(a.status(u)))
	if err != nil {
		return fmt.Errorf("send update: %w", err)
	}
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
	return response.Body.Close()
}

// Message sends data to the scheduler, by way of agent and master. It may get lost.
func (a *Client) Message(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	response, err := a.call(ctx, calls.Message(data))
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.Body.Close()
}
