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

// This file, local.go and pod.go are all that know Mesos' types; this one the agent's v1 executor API, protobuf over HTTP.

// agent is who launches tasks and takes their updates. Its methods may be called concurrently.
type agent interface {
	// subscribe names what the agent may not know (rule X5). Its error is errUnknown when the agent does not know this executor (rule X6).
	subscribe(ctx context.Context, tasks []assignment, updates []update) (eventStream, error)
	// update sends one; nil means that the agent has it.
	update(ctx context.Context, u update) error
	// message sends what may get lost.
	message(ctx context.Context, data []byte) error
	// close gives up what was kept open; nothing is called after it.
	close()
}

// eventStream are the events of a subscription.
type eventStream interface {
	// next waits for an event. Any error ends the subscription.
	next() (*executor.Event, error)
	close()
}

// assignment is a task as the agent hands it over.
type assignment struct {
	id   string
	data []byte
	raw  mesos.TaskInfo
}

// errUnknown is the answer 400 to a call.
var errUnknown = errors.New("the agent doesn't know this executor")

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
				DialContext: (&net.Dialer{Timeout: 5 * time.Second,
					KeepAlive: 10 * time.Second}).DialContext,
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
	err = errors.New("the agent isn't ready") // 503 and the like
	if response.StatusCode == http.StatusBadRequest {
		err = errUnknown
	}
	return nil, fmt.Errorf("%w: %s: %s", err, response.Status, strings.TrimSpace(string(text)))
}

// subscription is the stream of an agent's events.
type subscription struct {
	body   io.ReadCloser
	frames framing.Reader
}

// subscribe implements agent. An answer 400 is errUnknown.
func (a *agentClient) subscribe(ctx context.Context, tasks []assignment, updates []update) (eventStream, error) {
	call := calls.Subscribe(nil, nil)
	for _, t := range tasks {
		call.Subscribe.UnacknowledgedTasks = append(call.Subscribe.UnacknowledgedTasks, t.raw)
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

func (s *subscription) close() { _ = s.body.Close() }

func (s *subscription) next() (*executor.Event, error) {
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

// obey does what an event asks. Other events than these, such as heartbeats, ask nothing.
func (s *session) obey(e *executor.Event, shutdown func()) {
	switch {
	case e.Type == executor.Event_LAUNCH && e.Launch != nil:
		t := e.Launch.Task
		s.launch(assignment{id: t.TaskID.Value, data: t.Data, raw: t})
	case e.Type == executor.Event_KILL && e.Kill != nil:
		var grace *time.Duration
		if named := e.Kill.GetKillPolicy().GetGracePeriod(); named != nil {
			d := time.Duration(named.Nanoseconds)
			grace = &d
		}
		s.kill(e.Kill.TaskID.Value, grace)
	case e.Type == executor.Event_ACKNOWLEDGED && e.Acknowledged != nil:
		s.ledger.acknowledge(e.Acknowledged.TaskID.Value, e.Acknowledged.UUID)
	case e.Type == executor.Event_SHUTDOWN:
		shutdown()
	case e.Type == executor.Event_ERROR && e.Error != nil:
		s.log.Error("error received from the agent", "error", e.Error.Message)
	}
}

// state is a task's state as reported to the agent.
type state mesos.TaskState

const (
	starting    = state(mesos.TASK_STARTING)
	running     = state(mesos.TASK_RUNNING)
	finished    = state(mesos.TASK_FINISHED)
	failedState = state(mesos.TASK_FAILED)
	killed      = state(mesos.TASK_KILLED)
)

func (s state) terminal() bool { return s != starting && s != running }

func (a *agentClient) status(u update) mesos.TaskStatus {
	taskState, source := mesos.TaskState(u.state), mesos.SOURCE_EXECUTOR
	timestamp := float64(u.at.UnixNano()) / 1e9
	return mesos.TaskStatus{
		TaskID: mesos.TaskID{Value: u.task}, State: &taskState, Source: &source,
		ExecutorID: &mesos.ExecutorID{Value: a.executorID},
		Message:    &u.message, Data: u.data, UUID: u.uuid[:], Timestamp: &timestamp,
	}
}

func (a *agentClient) close() { a.http.CloseIdleConnections() }

// update implements agent.
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

// message sends data to the scheduler, by way of agent and master. It may get lost.
func (a *agentClient) message(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	response, err := a.call(ctx, calls.Message(data))
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.Body.Close()
}
