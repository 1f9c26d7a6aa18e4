package executor

import (
	"bytes"
	"context"
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

// This file is all that knows Mesos' types: the agent's v1 executor API, protobuf over HTTP.

// assignment is a task as the agent hands it over.
type assignment struct {
	id, agentID string
	data        []byte
	raw         mesos.TaskInfo
}

// eventKind is what an agent sends.
type eventKind int

const (
	other eventKind = iota // nothing for us, such as heartbeats
	launch
	kill
	acknowledged
	shutdown
	failed
)

type agentEvent struct {
	kind eventKind
	task assignment     // launch
	id   string         // task of kill and acknowledged
	uuid []byte         // acknowledged
	wait *time.Duration // kill: the grace that overrides the task's own
	text string         // failed
}

// Answers to a call that aren't 2xx.
var (
	errUnknown     = errors.New("the agent doesn't know this executor") // 400
	errUnavailable = errors.New("the agent isn't ready")                // 503 and the like
)

const mediaType = "application/x-protobuf"

// answerWithin bounds the wait for the first bytes of an answer.
const answerWithin = 10 * time.Second

// agentClient makes calls to one agent. It is for use by any goroutine.
type agentClient struct {
	url, token              string
	frameworkID, executorID string
	http                    *http.Client
}

func newAgentClient(c Config) *agentClient {
	return &agentClient{
		url: c.Agent + "/api/v1/executor", token: c.Token,
		frameworkID: c.FrameworkID, executorID: c.ExecutorID,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 10 * time.Second}).DialContext,
				TLSClientConfig:       c.TLS,
				TLSHandshakeTimeout:   5 * time.Second,
				ResponseHeaderTimeout: answerWithin,
				MaxIdleConnsPerHost:   senders,
				DisableCompression:    true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (a *agentClient) call(ctx context.Context, call *executor.Call) (*http.Response, error) {
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
	kind := errUnavailable
	if response.StatusCode == http.StatusBadRequest {
		kind = errUnknown
	}
	return nil, fmt.Errorf("%w: %s: %s", kind, response.Status, strings.TrimSpace(string(text)))
}

// subscription is the stream of an agent's events.
type subscription struct {
	body   io.ReadCloser
	frames framing.Reader
}

// subscribe names what the agent may not know (rule X5). An answer 400 is errUnknown (rule X6).
func (a *agentClient) subscribe(ctx context.Context, tasks []assignment, updates []update) (*subscription, error) {
	call := calls.Subscribe(nil, nil)
	for _, t := range tasks {
		call.Subscribe.UnacknowledgedTasks = append(call.Subscribe.UnacknowledgedTasks, t.raw)
	}
	for _, u := range updates {
		call.Subscribe.UnacknowledgedUpdates = append(call.Subscribe.UnacknowledgedUpdates, executor.Call_Update{Status: a.status(u)})
	}
	response, err := a.call(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return &subscription{body: response.Body, frames: recordio.NewReader(response.Body)}, nil
}

func (s *subscription) close() { _ = s.body.Close() }

// next waits for an event. Any error ends the subscription.
func (s *subscription) next() (agentEvent, error) {
	frame, err := s.frames.ReadFrame()
	if err != nil {
		return agentEvent{}, fmt.Errorf("read event: %w", err)
	}
	var e executor.Event
	if err := e.Unmarshal(frame); err != nil {
		return agentEvent{}, fmt.Errorf("decode event: %w", err)
	}
	switch {
	case e.Type == executor.Event_LAUNCH && e.Launch != nil:
		t := e.Launch.Task
		return agentEvent{kind: launch, task: assignment{id: t.TaskID.Value, agentID: t.AgentID.Value, data: t.Data, raw: t}}, nil
	case e.Type == executor.Event_KILL && e.Kill != nil:
		event := agentEvent{kind: kill, id: e.Kill.TaskID.Value}
		if p := e.Kill.KillPolicy; p != nil && p.GracePeriod != nil {
			wait := time.Duration(p.GracePeriod.Nanoseconds)
			event.wait = &wait
		}
		return event, nil
	case e.Type == executor.Event_ACKNOWLEDGED && e.Acknowledged != nil:
		return agentEvent{kind: acknowledged, id: e.Acknowledged.TaskID.Value, uuid: e.Acknowledged.UUID}, nil
	case e.Type == executor.Event_SHUTDOWN:
		return agentEvent{kind: shutdown}, nil
	case e.Type == executor.Event_ERROR && e.Error != nil:
		return agentEvent{kind: failed, text: e.Error.Message}, nil
	}
	return agentEvent{}, nil
}

var mesosStates = map[state]mesos.TaskState{
	starting: mesos.TASK_STARTING, running: mesos.TASK_RUNNING,
	finished: mesos.TASK_FINISHED, failedState: mesos.TASK_FAILED, killed: mesos.TASK_KILLED,
}

func (a *agentClient) status(u update) mesos.TaskStatus {
	taskState, source := mesosStates[u.state], mesos.SOURCE_EXECUTOR
	timestamp := float64(u.at.UnixNano()) / 1e9
	return mesos.TaskStatus{
		TaskID: mesos.TaskID{Value: u.task}, State: &taskState, Source: &source,
		ExecutorID: &mesos.ExecutorID{Value: a.executorID},
		Message:    &u.message, Data: u.data, UUID: u.uuid[:], Timestamp: &timestamp,
	}
}

// update sends one; nil means that the agent has it.
func (a *agentClient) update(ctx context.Context, u update) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	response, err := a.call(ctx, calls.Update(a.status(u)))
	if err != nil {
		return fmt.Errorf("send update: %w", err)
	}
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
	return response.Body.Close()
}
