package master

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/master"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// goneMessage is Mesos' message about an agent that was marked gone.
const goneMessage = "Agent has been marked gone"

// serveOperator handles POST /api/v1. Of the operator API it implements MARK_AGENT_GONE and TEARDOWN, which change the
// answers to frameworks, and GET_AGENTS, which lists the ids for MARK_AGENT_GONE.
func (m *Master) serveOperator(w http.ResponseWriter, r *http.Request) {
	var call master.Call
	if !apihttp.ReadCall(w, r, &call) {
		return
	}
	status, text := http.StatusNotImplemented,
		"The local master implements GET_AGENTS, MARK_AGENT_GONE and TEARDOWN, with what belongs to them"
	switch {
	case call.Type == master.Call_GET_AGENTS:
		w.Header().Set("Content-Type", "application/json")
		// The client may have disconnected, and no one else needs the answer.
		_ = json.NewEncoder(w).Encode(m.listAgents())
		return
	case call.MarkAgentGone != nil && call.Type == master.Call_MARK_AGENT_GONE:
		status, text = m.markGone(call.MarkAgentGone.AgentID.Value)
	case call.Teardown != nil && call.Type == master.Call_TEARDOWN:
		status, text = m.teardown(call.Teardown.FrameworkID.Value)
	}
	apihttp.Answer(w, status, text)
}

// listAgents returns the registered agents. The connected ones are active.
func (m *Master) listAgents() *master.Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	agents := []master.Response_GetAgents_Agent{}
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		a := m.agents[id]
		agents = append(agents, master.Response_GetAgents_Agent{AgentInfo: a.info, Active: !a.disconnected,
			Version: Version, TotalResources: a.total.proto()})
	}
	return &master.Response{Type: master.Response_GET_AGENTS, GetAgents: &master.Response_GetAgents{Agents: agents}}
}

// teardown removes a framework with all its tasks and executors. The framework cannot subscribe again. It returns the
// answer.
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
	m.log.Warn("framework torn down by an operator", "framework", id)
	if err := m.removeFramework(f); err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	return http.StatusOK, ""
}

// markGone removes an agent permanently. The agent's tasks are reported as gone, and its executors are ended if the
// agent is registered. It returns the answer.
func (m *Master) markGone(id string) (status int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record, known := m.registry.Agents[id]
	switch {
	case m.closed:
		return http.StatusServiceUnavailable, errClosed.Error()
	case record.Gone:
		return http.StatusOK, ""
	case !known:
		return http.StatusNotFound, fmt.Sprintf("Agent '%s' not found", id)
	}
	if err := m.registry.setAgent(id, agentRecord{Gone: true}); err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	m.log.Warn("agent marked gone", "agent", id)
	if a := m.agents[id]; a != nil {
		for id := range m.frameworks {
			a.orders.Push(link.Order{ShutdownFramework: id})
		}
		m.removeAgent(a, mesos.TASK_GONE_BY_OPERATOR, mesos.REASON_AGENT_REMOVED_BY_OPERATOR, goneMessage, nil)
	}
	for _, t := range m.lost[id] {
		t.sendLost(mesos.TASK_GONE_BY_OPERATOR, mesos.REASON_AGENT_REMOVED_BY_OPERATOR, goneMessage, nil)
	}
	delete(m.lost, id)
	return http.StatusOK, ""
}
