package master

import (
	"fmt"
	"net/http"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// streamID is the header that ties a framework's calls to its subscription.
const streamID = "Mesos-Stream-Id"

// serveScheduler handles POST /api/v1/scheduler. It checks a call in the same order as Mesos' handler.
func (m *Master) serveScheduler(w http.ResponseWriter, r *http.Request) {
	var call scheduler.Call
	if !apihttp.ReadCall(w, r, &call) {
		return
	}
	if fault := m.validateCall(&call); fault != "" {
		apihttp.Answer(w, http.StatusBadRequest, "Failed to validate scheduler::Call: "+fault)
		return
	}
	stream, hasStream := r.Header[streamID]
	if call.Type == scheduler.Call_SUBSCRIBE {
		if hasStream {
			apihttp.Answer(w, http.StatusBadRequest, "Subscribe calls should not include the 'Mesos-Stream-Id' header")
			return
		}
		m.serveSubscribe(w, r, call.Subscribe)
		return
	}
	status, text := m.executeCall(&call, stream, hasStream)
	apihttp.Answer(w, status, text)
}

// validateCall returns what is missing or wrong in a call, or "".
func (m *Master) validateCall(call *scheduler.Call) string {
	incomplete := map[scheduler.Call_Type]bool{
		scheduler.Call_UNKNOWN:     true,
		scheduler.Call_SUBSCRIBE:   call.GetSubscribe().GetFrameworkInfo() == nil,
		scheduler.Call_ACCEPT:      call.Accept == nil,
		scheduler.Call_DECLINE:     call.Decline == nil,
		scheduler.Call_KILL:        call.Kill == nil,
		scheduler.Call_SHUTDOWN:    call.Shutdown == nil,
		scheduler.Call_ACKNOWLEDGE: call.Acknowledge == nil,
		scheduler.Call_RECONCILE:   call.Reconcile == nil,
	}[call.Type]
	switch {
	case incomplete:
		return "Expecting 'type', and what belongs to it, to be present"
	case call.Type == scheduler.Call_SUBSCRIBE:
		info, own := call.Subscribe.FrameworkInfo, m.opts.Credentials
		if info.GetID().GetValue() != call.FrameworkID.GetValue() {
			return "'framework_id' differs from 'subscribe.framework_info.id'"
		}
		if named := info.GetPrincipal(); own != nil && named != "" && named != own.Principal {
			return fmt.Sprintf("Authenticated principal '%s' does not match principal '%s' set in `FrameworkInfo`",
				own.Principal, named)
		}
	case call.FrameworkID == nil:
		return "Expecting 'framework_id' to be present"
	case call.Type == scheduler.Call_ACKNOWLEDGE && len(call.Acknowledge.UUID) != 16:
		return "Not a valid UUID"
	}
	return ""
}

// executeCall executes a valid call other than SUBSCRIBE and returns the answer.
func (m *Master) executeCall(call *scheduler.Call, stream []string, hasStream bool) (status int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := call.FrameworkID.Value
	f := m.frameworks[id]
	switch {
	case m.closed:
		return http.StatusServiceUnavailable, errClosed.Error()
	case f == nil:
		return http.StatusBadRequest, "Framework cannot be found"
	case f.stream == nil:
		return http.StatusForbidden, "Framework is not subscribed"
	case !hasStream:
		return http.StatusBadRequest, "All non-subscribe calls should include the 'Mesos-Stream-Id' header"
	case stream[0] != f.stream.id:
		return http.StatusBadRequest, fmt.Sprintf("The stream ID '%s' included in this request didn't match the "+
			"stream ID currently associated with framework ID %s", stream[0], id)
	}
	switch call.Type {
	case scheduler.Call_ACCEPT:
		m.accept(f, call.Accept)
	case scheduler.Call_DECLINE:
		m.decline(f, call.Decline)
	case scheduler.Call_REVIVE:
		m.revive(f)
	case scheduler.Call_SUPPRESS:
		f.suppressed = true
	case scheduler.Call_KILL:
		m.kill(f, call.Kill)
	case scheduler.Call_SHUTDOWN:
		m.shutdown(f, call.Shutdown)
	case scheduler.Call_ACKNOWLEDGE:
		m.acknowledge(f, call.Acknowledge)
	case scheduler.Call_RECONCILE:
		m.reconcile(f, call.Reconcile)
	default:
		return http.StatusNotImplemented, call.Type.String() + " is not implemented by the local master"
	}
	return http.StatusAccepted, ""
}

// kill passes the kill to the task's agent. It answers for a task that the master does not know as reconciliation does.
func (m *Master) kill(f *framework, call *scheduler.Call_Kill) {
	t := f.tasks[call.TaskID.Value]
	if t == nil {
		m.reconcileTask(f, call.TaskID, call.AgentID)
		return
	}
	if a := m.agents[t.agentID]; a != nil {
		kill := link.Order{Kill: &link.Kill{Framework: f.id, Task: t.id}}
		if call.KillPolicy != nil {
			kill.Kill.Policy = &link.Proto[mesos.KillPolicy]{Of: *call.KillPolicy}
		}
		a.orders.Push(kill) // a disconnected agent does not get it; the framework repeats the kill
	}
}

// shutdown passes the shutdown of an executor to its agent.
func (m *Master) shutdown(f *framework, call *scheduler.Call_Shutdown) {
	if a := m.agents[call.AgentID.Value]; a != nil {
		a.orders.Push(link.Order{ShutdownExecutor: &link.Executor{Framework: f.id, Executor: call.ExecutorID.Value}})
	}
}

// acknowledge passes the acknowledgement to the task's agent. It forgets a task whose end is acknowledged.
func (m *Master) acknowledge(f *framework, call *scheduler.Call_Acknowledge) {
	a := m.agents[call.AgentID.Value]
	if a == nil {
		return
	}
	taskID, uuid := call.TaskID.Value, call.UUID
	if t := f.tasks[taskID]; t != nil && link.Terminal(t.reported) && string(t.uuid) == string(uuid) {
		delete(f.tasks, taskID)
	}
	a.orders.Push(link.Order{Acknowledge: &link.Acknowledgement{Framework: f.id, Task: taskID, UUID: uuid}})
}
