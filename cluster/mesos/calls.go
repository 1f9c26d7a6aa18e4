package mesos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// Launch launches tasks on offers of one agent.
func (s *session) Launch(ctx context.Context, a cluster.Launch) error {
	call, err := acceptCall(a)
	if err != nil {
		return &cluster.Refused{Message: "send ACCEPT: " + err.Error()}
	}
	return s.send(ctx, call)
}

// Decline returns offers to the master.
func (s *session) Decline(ctx context.Context, offers []string, refuse time.Duration) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_DECLINE, Decline: &scheduler.Call_Decline{
		OfferIDs: offerIDs(offers),
		Filters:  filters(refuse),
	}})
}

// Kill ends a task. Without a grace in k, the executor's own grace period applies.
func (s *session) Kill(ctx context.Context, k cluster.Kill) error {
	kill := &scheduler.Call_Kill{TaskID: mesos.TaskID{Value: k.TaskID}, AgentID: agentID(k.AgentID)}
	if k.Grace > 0 {
		kill.KillPolicy = &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: k.Grace.Nanoseconds()}}
	}
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_KILL, Kill: kill})
}

// EndExecutor ends an executor with all its tasks.
func (s *session) EndExecutor(ctx context.Context, executorID, agentID string) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_SHUTDOWN, Shutdown: &scheduler.Call_Shutdown{
		ExecutorID: mesos.ExecutorID{Value: executorID},
		AgentID:    mesos.AgentID{Value: agentID},
	}})
}

// SendMessage sends data to an executor. It may get lost.
func (s *session) SendMessage(ctx context.Context, executorID, agentID string, data []byte) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_MESSAGE, Message: &scheduler.Call_Message{
		ExecutorID: mesos.ExecutorID{Value: executorID},
		AgentID:    mesos.AgentID{Value: agentID},
		Data:       data,
	}})
}

// Reconcile requests the state of the given tasks, or of all tasks if none are given.
func (s *session) Reconcile(ctx context.Context, tasks []cluster.TaskRef) error {
	refs := make([]scheduler.Call_Reconcile_Task, len(tasks))
	for i, t := range tasks {
		refs[i] = scheduler.Call_Reconcile_Task{TaskID: mesos.TaskID{Value: t.TaskID}, AgentID: agentID(t.AgentID)}
	}
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_RECONCILE,
		Reconcile: &scheduler.Call_Reconcile{Tasks: refs}})
}

// Acknowledge confirms to the agent, through the master, that the scheduler has committed an update.
func (s *session) Acknowledge(ctx context.Context, a cluster.Ack) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, Acknowledge: &scheduler.Call_Acknowledge{
		AgentID: mesos.AgentID{Value: a.AgentID},
		TaskID:  mesos.TaskID{Value: a.TaskID},
		UUID:    a.UUID,
	}})
}

// RequestOffers requests offers and clears the filters of earlier declines.
func (s *session) RequestOffers(ctx context.Context) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{}})
}

// StopOffers stops offers until RequestOffers.
func (s *session) StopOffers(ctx context.Context) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_SUPPRESS, Suppress: &scheduler.Call_Suppress{}})
}

// send posts a call once (rule L3; see the package comment). It returns when the answer arrives, or earlier if ctx or
// the session ends.
func (s *session) send(ctx context.Context, call *scheduler.Call) error {
	call.FrameworkID = &mesos.FrameworkID{Value: s.framework}
	body, err := call.Marshal()
	if err != nil {
		return &cluster.Refused{Message: fmt.Sprintf("%s not sent: %v", call.Type, err)}
	}
	s.calling.RLock()
	defer s.calling.RUnlock()
	if s.ctx.Err() != nil {
		return fmt.Errorf("%s: the session has ended: %w", call.Type, s.Err())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	resp, err := s.transport.RoundTrip(newPost(ctx, s.master, s.header, body))
	if err != nil {
		if ended := s.Err(); ended != nil {
			err = ended
		}
		return fmt.Errorf("%s to %s, outcome unknown: %w", call.Type, s.master.Host, err)
	}
	if resp.StatusCode == http.StatusAccepted {
		drainBody(resp)
		return nil
	}
	return fmt.Errorf("%s to %s: %w", call.Type, s.master.Host, answerError(resp))
}

// newPost builds a POST request. GetBody lets the transport repeat the request on another connection if an idle one
// turns out to be dead before anything was written to it.
func newPost(ctx context.Context, to *url.URL, header http.Header, body []byte) *http.Request {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	first, _ := open()
	return (&http.Request{
		Method: http.MethodPost, URL: to, Host: to.Host, Header: header,
		Body: first, GetBody: open, ContentLength: int64(len(body)),
	}).WithContext(ctx)
}
