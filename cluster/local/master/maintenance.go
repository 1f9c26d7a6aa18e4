package master

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/maintenance"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// machine is what maintenance is planned for: in Mesos, a hostname with an address.
type machine struct{ hostname, ip string }

func (m *Master) machineOf(a *agent) machine {
	address := m.agentURL(&a.info).Address
	return machine{strings.ToLower(a.info.Hostname), address.GetIP()}
}

// unavailability is when the agent's machine is to be away; nil for never.
func (m *Master) unavailability(a *agent) *mesos.Unavailability {
	if when, is := m.maintenance[m.machineOf(a)]; is {
		return &when
	}
	return nil
}

// planned are the machines of a schedule, or, in Mesos' words, what is wrong with it.
func planned(schedule *maintenance.Schedule) (map[machine]mesos.Unavailability, string) {
	plan := map[machine]mesos.Unavailability{}
	for _, window := range schedule.Windows {
		if len(window.MachineIDs) == 0 {
			return nil, "List of machines in the maintenance window is empty"
		}
		if window.Unavailability.Duration != nil && window.Unavailability.Duration.Nanoseconds < 0 {
			return nil, "Unavailability 'duration' is negative"
		}
		for _, id := range window.MachineIDs {
			of := machine{strings.ToLower(id.GetHostname()), id.GetIP()}
			if of == (machine{}) {
				return nil, "Both 'hostname' and 'ip' for a machine are empty"
			}
			if _, twice := plan[of]; twice {
				return nil, fmt.Sprintf("Machine '%s (%s)' appears more than once in the schedule", of.hostname, of.ip)
			}
			plan[of] = window.Unavailability
		}
	}
	return plan, ""
}

// schedule replaces the maintenance schedule. Agents whose part of it has changed are
// offered anew, with their unavailability, and asked back by an inverse offer from who uses
// them: once, where Mesos asks again and again. An answer to it changes nothing.
func (m *Master) schedule(next *maintenance.Schedule) (status int, text string) {
	plan, fault := planned(next)
	if fault != "" {
		return http.StatusBadRequest, fault
	}
	encoded, err := next.Marshal()
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.registry.setMaintenance(encoded); err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	before := map[string]*mesos.Unavailability{}
	for id, a := range m.agents {
		before[id] = m.unavailability(a)
	}
	m.maintenance = plan
	for id, a := range m.agents {
		now := m.unavailability(a)
		if sameTime(before[id], now) {
			continue
		}
		m.rescind(a)
		if now != nil {
			m.askBack(a, *now)
		}
	}
	m.wake()
	return 0, ""
}

func sameTime(a, b *mesos.Unavailability) bool {
	if a == nil || b == nil {
		return a == b
	}
	first, err := a.Marshal()
	second, failed := b.Marshal()
	return err == nil && failed == nil && bytes.Equal(first, second)
}

// askBack sends inverse offers to who uses an agent.
func (m *Master) askBack(a *agent, when mesos.Unavailability) {
	for _, f := range m.frameworks {
		uses := len(f.executors[a.id]) > 0
		for _, t := range f.tasks {
			uses = uses || t.agentID == a.id && t.resources != nil
		}
		if !uses {
			continue
		}
		f.send(&scheduler.Event{Type: scheduler.Event_INVERSE_OFFERS, InverseOffers: &scheduler.Event_InverseOffers{
			InverseOffers: []mesos.InverseOffer{{
				OfferID:        mesos.OfferID{Value: fmt.Sprintf("%s-O%d", m.id, m.nextOffer)},
				FrameworkID:    mesos.FrameworkID{Value: f.id},
				AgentID:        &mesos.AgentID{Value: a.id},
				URL:            m.agentURL(&a.info),
				Unavailability: when,
			}},
		}})
		m.nextOffer++
	}
}
