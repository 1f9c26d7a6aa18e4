package master

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// dynamicMark tells a dynamic reservation of which nothing more is known from a static one.
const dynamicMark = "dynamic:"

// visibleTo is what a framework of a role may be offered: what is reserved for that role, and what is unreserved.
func (q quantities) visibleTo(role string) quantities {
	for i := range q {
		if q[i].role != "*" && q[i].role != role {
			visible := make(quantities, 0, len(q))
			for _, a := range q {
				if a.role == "*" || a.role == role {
					visible = append(visible, a)
				}
			}
			return visible
		}
	}
	return q
}

// refined reads a reservation in the form with type and role.
func refined(r *mesos.Resource_ReservationInfo) (role, dynamic string) {
	if r.GetType() == mesos.Resource_ReservationInfo_STATIC {
		return r.GetRole(), ""
	}
	return r.GetRole(), dynamicMark + encodeReservation(&mesos.Resource_ReservationInfo{Principal: r.Principal, Labels: r.Labels})
}

// encodeReservation is the same for the same principal and labels in the same order.
func encodeReservation(r *mesos.Resource_ReservationInfo) string {
	encoded, err := r.Marshal()
	if err != nil {
		return "unreadable" // it has strings only, which can all be written
	}
	return string(encoded)
}

// decodeReservation is nil for what is not reserved dynamically.
func decodeReservation(dynamic string) *mesos.Resource_ReservationInfo {
	encoded, is := strings.CutPrefix(dynamic, dynamicMark)
	if !is {
		return nil
	}
	r := &mesos.Resource_ReservationInfo{}
	_ = r.Unmarshal([]byte(encoded)) // it was made by encodeReservation
	return r
}

// reservation writes an amount's reservation as Mesos does in its messages.
func (a *amount) reservation() string {
	r := decodeReservation(a.dynamic)
	if r == nil {
		return "STATIC," + a.role
	}
	text := "DYNAMIC," + a.role
	if r.Principal != nil {
		text += "," + *r.Principal
	}
	if r.Labels != nil {
		labels := make([]string, 0, len(r.Labels.Labels))
		for _, l := range r.Labels.Labels {
			label := l.Key
			if l.Value != nil {
				label += ": " + *l.Value
			}
			labels = append(labels, label)
		}
		text += ",{" + strings.Join(labels, ", ") + "}"
	}
	return text
}

// unreserved is q as it is when nothing of it is reserved.
func (q quantities) unreserved() quantities {
	var plain quantities
	for _, a := range q {
		a.role, a.dynamic = "*", ""
		plain = plain.plusOne(a)
	}
	return plain
}

// reserve makes unreserved resources of an agent dynamically reserved ones, or the other way round. What is on offer of
// the agent is rescinded; what tasks hold can't be had. The answers are those of Mesos 1.12: the text is empty when it is
// done.
func (m *Master) reserve(agentID string, resources []mesos.Resource, undo bool) (status int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.agents[agentID]
	switch {
	case m.closed:
		return http.StatusServiceUnavailable, errClosed.Error()
	case a == nil:
		return http.StatusBadRequest, "No agent found with specified ID"
	}
	reserved := parse(resources)
	kind := "RESERVE"
	if undo {
		kind = "UNRESERVE"
	}
	at := m.agentURL(&a.info).Address
	invalid := fmt.Sprintf("Invalid %s operation on agent %s at slave(1)@%s:%d (%s): ", kind, a.id, at.GetIP(), at.Port, a.info.Hostname)
	for _, r := range reserved {
		if r.dynamic == "" || r.role == "*" {
			return http.StatusBadRequest, invalid + "Resource " + quantities{r}.text("") + " is not dynamically reserved"
		}
	}
	if fault := invalidResources(resources); fault != "" {
		return http.StatusBadRequest, invalid + fault
	}
	from, to, all := reserved.unreserved(), reserved, m.registry.reserved(a.id)
	if undo {
		from, to = to, from
	}
	m.rescind(a)
	if !a.free.contains(from) {
		m.wake()
		return http.StatusConflict, a.free.text("") + " does not contain " + from.text("")
	}
	if undo {
		all = all.minus(reserved)
	} else {
		all = all.plus(reserved)
	}
	if err := m.registry.setReserved(a.id, all); err != nil {
		m.wake()
		return http.StatusInternalServerError, err.Error()
	}
	m.log.Info("reservations of an agent changed", "agent", a.id, "operation", kind, "resources", reserved.text(""))
	a.total = a.total.minus(from).plus(to).offered()
	a.free = a.total.minus(a.used)
	m.wake()
	return http.StatusAccepted, ""
}
