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
		return &cluster.Refused{Message: "ACCEPT not sent: " + err.Error()}
	}
	return s.send(ctx, call)
}

// Decline gives offers back.
func (s *session) Decline(ctx context.Context, offers []string, refuse time.Duration) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_DECLINE, Decline: &scheduler.Call_Decline{
		OfferIDs: offerIDs(offers),
		Filters:  filters(refuse),
	}})
}

// Kill asks for the end of a task; with no grace given, the executor's own holds.
func (s *session) Kill(ctx context.Context, k cluster.Kill) error {
	kill := &scheduler.Call_Kill{TaskID: mesos.TaskID{Value: k.TaskID}, AgentID: agentID(k.AgentID)}
	if k.Grace > 0 {
		kill.KillPolicy = &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: k.Grace.Nanoseconds()}}
	}
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_KILL, Kill: kill})
}

// Shutdown ends an executor.
func (s *session) EndExecutor(ctx context.Context, executorID, agentID string) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_SHUTDOWN, Shutdown: &scheduler.Call_Shutdown{
		ExecutorID: mesos.ExecutorID{Value: executorID},
		AgentID:    mesos.AgentID{Value: agentID},
	}})
}

// Reconcile asks for the tasks' states; with none, for those of all.
func (s *session) Reconcile(ctx context.Context, tasks []cluster.TaskRef) error {
	refs := make([]scheduler.Call_Reconcile_Task, len(tasks))
	for i, t := range tasks {
		refs[i] = scheduler.Call_Reconcile_Task{TaskID: mesos.TaskID{Value: t.TaskID}, AgentID: agentID(t.AgentID)}
	}
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_RECONCILE,
		Reconcile: &scheduler.Call_Reconcile{Tasks: refs}})
}

// Acknowledge confirms to the agent, through the master, that an update is committed.
func (s *session) Acknowledge(ctx context.Context, a cluster.Ack) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, Acknowledge: &scheduler.Call_Acknowledge{
		AgentID: mesos.AgentID{Value: a.AgentID},
		TaskID:  mesos.TaskID{Value: a.TaskID},
		UUID:    a.UUID,
	}})
}

// Revive asks for offers again, whatever was declined.
func (s *session) RequestOffers(ctx context.Context) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{}})
}

// Suppress asks for no offers until Revive.
func (s *session) StopOffers(ctx context.Context) error {
	return s.send(ctx, &scheduler.Call{Type: scheduler.Call_SUPPRESS, Suppress: &scheduler.Call_Suppress{}})
}

// send posts a call once (rule L3; the package comment says why once) and waits for
// its answer, for ctx or for the session's end, whichever comes first.
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
		discard(resp)
		return nil
	}
	return fmt.Errorf("%s to %s: %w", call.Type, s.master.Host, answered(resp))
}

// newPost makes a request. GetBody lets the transport use another connection
// when an idle one is dead before anything was written.
func newPost(ctx context.Context, to *url.URL, header http.Header, body []byte) *http.Request {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	first, _ := open()
	return (&http.Request{
		Method: http.MethodPost, URL: to, Host: to.Host, Header: header,
		Body: first, GetBody: open, ContentLength: int64(len(body)),
	}).WithContext(ctx)
}
