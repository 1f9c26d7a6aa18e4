package agent

import (
	"context"
	"fmt"
	"net/http"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

const unfinishedRecovery = "Agent has not finished recovery"

// heartbeat is the interval of HEARTBEAT events to executors.
const heartbeat = 30 * time.Minute

// answer is an HTTP status and the body that is sent with it.
type answer struct {
	status int
	text   string
}

// serveCall handles POST /api/v1/executor. It checks a call in the same order as Mesos.
func (a *Agent) serveCall(w http.ResponseWriter, r *http.Request) {
	container := ""
	if key := a.options.ExecutorKey; len(key) > 0 {
		var admitted bool
		if container, admitted = key.Admit(w, r); !admitted {
			return
		}
	}
	var call executor.Call
	if !apihttp.ReadCall(w, r, &call) {
		return
	}
	if fault := validate(&call); fault != "" {
		apihttp.Answer(w, http.StatusBadRequest, "Failed to validate Executor::Call: "+fault)
		return
	}
	switch call.Type {
	case executor.Call_SUBSCRIBE:
		a.serveSubscribe(w, r, &call, container)
	case executor.Call_HEARTBEAT:
		apihttp.Answer(w, http.StatusAccepted, "")
	case executor.Call_UPDATE, executor.Call_MESSAGE:
		answer := a.handleReport(&call, container)
		apihttp.Answer(w, answer.status, answer.text)
	default:
		apihttp.Answer(w, http.StatusNotImplemented, call.Type.String()+" is not implemented by the local agent")
	}
}

// validate returns what is wrong with a call, or "".
func validate(call *executor.Call) string {
	status := call.GetUpdate().GetStatus()
	switch {
	case call.Type == executor.Call_UNKNOWN,
		call.Type == executor.Call_SUBSCRIBE && call.Subscribe == nil,
		call.Type == executor.Call_UPDATE && call.Update == nil:
		return "Expecting 'type', and what belongs to it, to be present"
	case call.Type == executor.Call_MESSAGE && call.Message == nil:
		return "Expecting 'message' to be present"
	case call.Type == executor.Call_MESSAGE && call.Message.Data == nil:
		// This is possible in JSON, for which mesos-go does not enforce required fields.
		return "Expecting 'message.data' to be present"
	case call.Type != executor.Call_UPDATE: // the checks below are for updates
	case len(status.UUID) != 16:
		return "Expecting 'uuid' to be present and valid"
	case status.ExecutorID != nil && status.ExecutorID.Value != call.ExecutorID.Value:
		return fmt.Sprintf("ExecutorID in Call: %s does not match ExecutorID in TaskStatus: %s", call.ExecutorID.Value,
			status.ExecutorID.Value)
	case status.GetSource() != mesos.SOURCE_EXECUTOR, status.GetState() == mesos.TASK_STAGING:
		return "Expecting an executor's update, with 'SOURCE_EXECUTOR' and another state than TASK_STAGING"
	}
	return ""
}

// findCaller returns the executor that sent a call, or nil and the answer that rejects the call. container is the one
// to which the call's token belongs, and must be the executor's own; it is empty if executors have no tokens. The
// agent's lock must be held.
func (a *Agent) findCaller(call *executor.Call, container string) (*executorRun, answer) {
	f := a.frameworks[call.FrameworkID.Value]
	if f == nil {
		return nil, answer{http.StatusBadRequest, "Framework cannot be found"}
	}
	ex := f.executors[call.ExecutorID.Value]
	if ex == nil {
		return nil, answer{http.StatusBadRequest, "Executor cannot be found"}
	}
	if container != "" && container != ex.container {
		return nil, answer{http.StatusForbidden, "The token is not that of the executor's container"}
	}
	return ex, answer{}
}

// handleReport handles UPDATE and MESSAGE.
func (a *Agent) handleReport(call *executor.Call, container string) answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recovering || a.closed {
		return answer{http.StatusServiceUnavailable, unfinishedRecovery}
	}
	ex, rejection := a.findCaller(call, container)
	if ex == nil {
		return rejection
	}
	if ex.state == registering {
		return answer{http.StatusForbidden, "Executor is not subscribed"}
	}
	if call.Type == executor.Call_MESSAGE {
		a.forwardMessage(ex, call.Message.Data)
		return answer{http.StatusAccepted, ""}
	}
	if err := a.handleUpdate(ex, call.Update.Status); err != nil {
		a.log.Error("update refused", "task", call.Update.Status.TaskID.Value, "error", err)
		return answer{http.StatusInternalServerError, "Failed to checkpoint the status update"}
	}
	return answer{http.StatusAccepted, ""}
}

// maxMessage limits an executor's message in bytes, because messages, unlike updates, are not held back while the
// framework is slow. Mesos has no limit.
const maxMessage = 1 << 20

// forwardMessage sends an executor's message to the master. It drops a message that is too large and, as in Mesos, all
// messages while the agent is not registered.
func (a *Agent) forwardMessage(ex *executorRun, data []byte) {
	switch {
	case !a.inSession:
		a.log.Debug("message dropped, the agent is not registered", "executor", ex.id)
	case len(data) > maxMessage:
		a.log.Warn("message dropped, it is too large", "executor", ex.id, "bytes", len(data), "limit", maxMessage)
	default:
		a.news.Push(link.News{Message: &link.Message{
			Executor: link.Executor{Framework: ex.framework.info.GetID().GetValue(), Executor: ex.id}, Data: data,
		}})
	}
}

// serveSubscribe handles SUBSCRIBE. It sends events to the executor until the subscription ends.
func (a *Agent) serveSubscribe(w http.ResponseWriter, r *http.Request, call *executor.Call, container string) {
	a.awaitLaunch(r.Context(), call)
	s, rejection := a.subscribe(call, container)
	if s == nil {
		apihttp.Answer(w, rejection.status, rejection.text)
		return
	}
	defer a.work.Done()
	defer a.disconnected(call, s)
	if err := apihttp.Stream(r.Context(), w, r, nil, s, heartbeat,
		&executor.Event{Type: executor.Event_HEARTBEAT}); err != nil {
		a.log.Debug("subscription of an executor ended", "executor", call.ExecutorID.Value, "error", err)
	}
}

// awaitLaunch waits until the launch of the calling executor is complete. A fast executor may subscribe before the
// agent has recorded its process.
func (a *Agent) awaitLaunch(ctx context.Context, call *executor.Call) {
	a.mu.Lock()
	ex := a.findExecutor(call.FrameworkID.Value, call.ExecutorID.Value)
	a.mu.Unlock()
	if ex == nil || ex.launched == nil {
		return
	}
	select {
	case <-ex.launched:
	case <-ctx.Done():
	case <-a.ctx.Done():
	}
}

// subscribe opens a session for an executor. It records the updates that the executor still has, drops the tasks that
// never reached it, and sends it the queued tasks. An executor that is to end gets only SHUTDOWN. subscribe returns nil
// and an answer if it rejects the call. Otherwise the caller must call a.work.Done when the session has ended.
func (a *Agent) subscribe(call *executor.Call, container string) (*session, answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, answer{http.StatusServiceUnavailable, unfinishedRecovery}
	}
	ex, rejection := a.findCaller(call, container)
	if ex == nil {
		return nil, rejection
	}
	s := queue.New[encoding.Marshaler](0)
	a.work.Add(1)
	if ex.state == terminating || ex.state == terminated {
		s.Close(&executor.Event{Type: executor.Event_SHUTDOWN})
		return s, answer{}
	}
	if ex.session != nil {
		ex.session.Close()
	}
	ex.session = s
	if !ex.everSent && len(ex.queued()) == 0 {
		// All its tasks were killed before it subscribed, so without a shutdown it would wait forever.
		a.setState(ex, running)
		a.shutdown(ex)
		return s, answer{}
	}
	s.Push(&executor.Event{Type: executor.Event_SUBSCRIBED, Subscribed: &executor.Event_Subscribed{
		ExecutorInfo:  ex.info,
		FrameworkInfo: ex.framework.info,
		AgentInfo:     a.info,
		ContainerID:   &mesos.ContainerID{Value: ex.container},
	}})
	if err := a.handleUnacknowledged(ex, call.Subscribe); err != nil {
		// The executor sends the updates again with its next subscription.
		a.log.Error("updates of a subscription not recorded", "executor", ex.id, "error", err)
		s.Close()
		return s, answer{}
	}
	a.sendQueued(ex)
	a.setState(ex, running)
	return s, answer{}
}

// handleUnacknowledged records the updates that an executor sends with its subscription. It then drops the tasks that
// were sent to the executor and that the executor did not receive. The executor still has a task that it received and
// has not reported.
func (a *Agent) handleUnacknowledged(ex *executorRun, call *executor.Call_Subscribe) error {
	for _, u := range call.UnacknowledgedUpdates {
		if len(u.Status.UUID) != 16 {
			continue
		}
		if err := a.handleUpdate(ex, u.Status); err != nil {
			return err
		}
	}
	received := map[string]bool{}
	for i := range call.UnacknowledgedTasks {
		received[call.UnacknowledgedTasks[i].TaskID.Value] = true
	}
	for _, t := range ex.inOrder() {
		if t.sent && t.state == mesos.TASK_STAGING && !received[t.id] {
			a.log.Info("task never reached its executor", "task", t.id, "executor", ex.id)
			a.fail(t, cause{mesos.TASK_DROPPED, mesos.REASON_AGENT_RESTARTED, "Task launched during agent restart"})
		}
	}
	return nil
}

// sendQueued sends the tasks that wait for the executor's subscription.
func (a *Agent) sendQueued(ex *executorRun) {
	waiting := ex.queued()
	if len(waiting) == 0 {
		return
	}
	var ids []string
	for _, t := range waiting {
		ids = append(ids, t.id)
	}
	if err := ex.journal.append(record{Kind: recSent, Tasks: ids}); err != nil {
		// A task that was sent but not recorded could be launched twice after a restart.
		a.log.Error("tasks held back", "executor", ex.id, "tasks", len(ids), "error", err)
		return
	}
	for _, t := range waiting {
		t.sent = true
	}
	ex.everSent = true
	ex.send(launchEvents(waiting)...)
}

// disconnected records the end of a subscription. The executor continues and is expected to subscribe again.
func (a *Agent) disconnected(call *executor.Call, s *session) {
	s.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if ex := a.findExecutor(call.FrameworkID.Value, call.ExecutorID.Value); ex != nil && ex.session == s {
		ex.session = nil
	}
}
