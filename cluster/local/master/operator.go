package master

import (
	"fmt"
	"net/http"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/master"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// goneMessage is what Mesos tells of and to an agent that was marked gone.
const goneMessage = "Agent has been marked gone"

// serveOperator is POST /api/v1. Of the operator API there is what changes the answers that
// frameworks get: MARK_AGENT_GONE. The only agent of a cluster of one machine is of no
// more use then, until its folder is removed.
func (m *Master) serveOperator(w http.ResponseWriter, r *http.Request) {
	var call master.Call
	if !apihttp.ReadCall(w, r, &call, "Call") {
		return
	}
	switch {
	case call.Type == master.Call_UNKNOWN:
		apihttp.Refuse(w, http.StatusBadRequest, "Failed to validate master::Call: Expecting 'type' to be present")
	case call.Type != master.Call_MARK_AGENT_GONE:
		apihttp.Refuse(w, http.StatusNotImplemented, call.Type.String()+" is not implemented by the local master")
	case call.MarkAgentGone == nil:
		apihttp.Refuse(w, http.StatusBadRequest, "Failed to validate master::Call: Expecting 'mark_agent_gone' to be present")
	default:
		if status, text := m.markGone(call.MarkAgentGone.AgentID.Value); text != "" {
			apihttp.Refuse(w, status, text)
			return
		}
		w.Header().Set("Content-Length", "0")
	}
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
