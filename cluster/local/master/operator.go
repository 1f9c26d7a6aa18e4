package master

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/maintenance"
	"github.com/mesos/mesos-go/api/v1/lib/master"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// goneMessage is what Mesos tells of and to an agent that was marked gone.
const goneMessage = "Agent has been marked gone"

// ErrGone is what an agent is refused with that was marked gone; it may not come back.
var ErrGone = errors.New("the agent has been marked gone")

// serveOperator is POST /api/v1. Of the operator API there is what changes the answers that
// frameworks get, and what is needed to say it: GET_AGENTS, MARK_AGENT_GONE,
// UPDATE_MAINTENANCE_SCHEDULE, GET_MAINTENANCE_SCHEDULE, RESERVE_RESOURCES, UNRESERVE_RESOURCES and TEARDOWN.
func (m *Master) serveOperator(w http.ResponseWriter, r *http.Request) {
	var call master.Call
	if !apihttp.ReadCall(w, r, &call, "Call") {
		return
	}
	missing := func(part string) {
		apihttp.Refuse(w, http.StatusBadRequest, "Failed to validate master::Call: Expecting '"+part+"' to be present")
	}
	done := func(status int, text string) {
		if text != "" {
			apihttp.Refuse(w, status, text)
			return
		}
		w.Header().Set("Content-Length", "0")
	}
	begun := func(status int, text string) { // what Mesos answers before its agent has done it
		done(status, text)
		if text == "" {
			w.WriteHeader(status)
		}
	}
	switch call.Type {
	case master.Call_UNKNOWN:
		missing("type")
	case master.Call_MARK_AGENT_GONE:
		if call.MarkAgentGone == nil {
			missing("mark_agent_gone")
			return
		}
		done(m.markGone(call.MarkAgentGone.AgentID.Value))
	case master.Call_UPDATE_MAINTENANCE_SCHEDULE:
		if call.UpdateMaintenanceSchedule == nil {
			missing("update_maintenance_schedule")
			return
		}
		done(m.schedule(&call.UpdateMaintenanceSchedule.Schedule))
	case master.Call_TEARDOWN:
		if call.Teardown == nil {
			missing("teardown")
			return
		}
		done(m.teardown(call.Teardown.FrameworkID.Value))
	case master.Call_RESERVE_RESOURCES:
		if call.ReserveResources == nil {
			missing("reserve_resources")
			return
		}
		begun(m.reserve(call.ReserveResources.AgentID.Value, call.ReserveResources.Resources, false))
	case master.Call_UNRESERVE_RESOURCES:
		if call.UnreserveResources == nil {
			missing("unreserve_resources")
			return
		}
		begun(m.reserve(call.UnreserveResources.AgentID.Value, call.UnreserveResources.Resources, true))
	case master.Call_GET_MAINTENANCE_SCHEDULE:
		m.answer(w, r, m.maintenanceSchedule())
	case master.Call_GET_AGENTS:
		m.answer(w, r, m.listAgents())
	default:
		apihttp.Refuse(w, http.StatusNotImplemented, call.Type.String()+" is not implemented by the local master")
	}
}

// answer writes a response in the codec that was asked for.
func (m *Master) answer(w http.ResponseWriter, r *http.Request, response *master.Response) {
	codec, ok := apihttp.Negotiate(w, r)
	if !ok {
		return
	}
	var body bytes.Buffer
	err := codec.NewEncoder(encoding.SinkWriter(&body)).Encode(response)
	if err != nil {
		apihttp.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", codec.Type.ContentType())
	_, _ = body.WriteTo(w) // the peer may be gone; there is nobody else to tell
}

func (m *Master) maintenanceSchedule() *master.Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	var schedule maintenance.Schedule
	if err := schedule.Unmarshal(m.registry.Maintenance); err != nil {
		m.log.Error("maintenance schedule can't be read", "error", err)
	}
	return &master.Response{
		Type:                   master.Response_GET_MAINTENANCE_SCHEDULE,
		GetMaintenanceSchedule: &master.Response_GetMaintenanceSchedule{Schedule: schedule},
	}
}

// listAgents are the agents that are registered, active while they are connected too, and
// those that are to come back.
func (m *Master) listAgents() *master.Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	agents := []master.Response_GetAgents_Agent{}
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		a := m.agents[id]
		at := m.agentURL(&a.info).Address
		pid := fmt.Sprintf("slave(1)@%s:%d", at.GetIP(), at.Port)
		agents = append(agents, master.Response_GetAgents_Agent{
			AgentInfo: a.info, Active: !a.disconnected, Version: Version, PID: &pid, TotalResources: a.total.proto(nil),
			AllocatedResources: a.used.minus(m.offeredOf(id)).proto(nil), OfferedResources: m.offeredOf(id).proto(nil),
		})
	}
	away := []mesos.AgentInfo{}
	for _, id := range slices.Sorted(maps.Keys(m.away)) {
		away = append(away, mesos.AgentInfo{ID: &mesos.AgentID{Value: id}})
	}
	return &master.Response{
		Type:      master.Response_GET_AGENTS,
		GetAgents: &master.Response_GetAgents{Agents: agents, RecoveredAgents: away},
	}
}

// offeredOf is what is on offer of an agent.
func (m *Master) offeredOf(agentID string) quantities {
	var sum quantities
	for _, o := range m.offers {
		if o.agentID == agentID {
			sum = sum.plus(o.resources)
		}
	}
	return sum
}

// serveTeardown is POST /teardown with frameworkId=… as a form, Mesos' older way to end a framework.
func (m *Master) serveTeardown(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	id := r.FormValue("frameworkId")
	if id == "" {
		apihttp.Refuse(w, http.StatusBadRequest, "Missing 'frameworkId' query parameter")
		return
	}
	if status, text := m.teardown(id); text != "" {
		apihttp.Refuse(w, status, text)
	}
}

// teardown removes a framework, with all its tasks and executors; it may not come back.
func (m *Master) teardown(id string) (status int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.frameworks[id]
	switch {
	case m.closed:
		return http.StatusServiceUnavailable, errClosed.Error()
	case f == nil:
		return http.StatusBadRequest, "No framework found with specified ID"
	}
	m.log.Warn("framework is torn down by an operator", "framework", id)
	if err := m.removeFramework(f); err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	return 0, ""
}

// markGone gives an agent up for good: its tasks are over, its executors are ended.
// The text is empty when that is done.
func (m *Master) markGone(id string) (status int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, lost := m.agents[id], m.lost[id]
	switch {
	case m.closed:
		return http.StatusServiceUnavailable, errClosed.Error()
	case m.registry.isGone(id):
		return 0, ""
	case a == nil && !m.away[id] && m.unreachable[id].IsZero():
		return http.StatusNotFound, fmt.Sprintf("Agent '%s' not found", id)
	}
	if err := m.registry.markGone(id); err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	m.log.Warn("agent is marked gone", "agent", id)
	delete(m.away, id)
	delete(m.unreachable, id)
	delete(m.lost, id)
	switch {
	case a != nil:
		for id := range m.frameworks {
			a.courier.send(func() { a.link.ShutdownFramework(id) })
		}
		a.courier.close()
		m.removeAgent(a, mesos.TASK_GONE_BY_OPERATOR, mesos.REASON_AGENT_REMOVED_BY_OPERATOR, goneMessage, nil)
	case lost != nil:
		lost.courier.close()
		for _, had := range lost.had {
			if f := m.frameworks[had.framework]; f != nil {
				f.sendLost(had.task, mesos.TASK_GONE_BY_OPERATOR, mesos.REASON_AGENT_REMOVED_BY_OPERATOR, goneMessage, nil)
			}
		}
	}
	return 0, ""
}

// refuseGone ends what an agent that was marked gone still runs.
func (m *Master) refuseGone(link AgentLink, still Recovered) {
	m.background.Go(func() {
		for i := range still.Frameworks {
			link.ShutdownFramework(still.Frameworks[i].GetID().GetValue())
		}
	})
}
