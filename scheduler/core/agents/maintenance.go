package agents

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// setMaintenance records when an agent's maintenance begins and ends; a zero time means that the master named none.
func (as *Set) setMaintenance(a *Agent, begin, end time.Time) {
	a.maintenanceStart, a.maintenanceEnd = begin, end
	if !begin.IsZero() {
		as.excludable[a.id] = true
	}
}

// maintenanceSoon is how long before an agent's maintenance the core stops placing tasks there.
const maintenanceSoon = time.Hour

// InMaintenance reports whether an agent's maintenance has begun, or begins within the next hour, and has not ended.
// It goes by the wall clock.
func (as *Set) InMaintenance(id string) bool {
	a := as.byID[id]
	return a != nil && !a.maintenanceStart.IsZero() &&
		!a.maintenanceStart.After(as.shared.Wall().Add(maintenanceSoon)) &&
		// A maintenance schedule may remain long after its window.
		(a.maintenanceEnd.IsZero() || a.maintenanceEnd.After(as.shared.Wall()))
}

// IsExcluded reports whether nothing is placed on an agent because it is in maintenance or its executors are silent.
// Its machine may also be cordoned: see state.State.
func (as *Set) IsExcluded(id string) bool {
	return as.InMaintenance(id) || as.byID[id] != nil && !as.byID[id].silent.IsZero()
}

// Excluded returns, by id, the agents for which IsExcluded holds, with the reason that users see; nil if there are
// none. The caller may change the map.
func (as *Set) Excluded() (out map[string]reason.Reason) {
	for id := range as.excludable {
		a, why := as.byID[id], reason.Reason{}
		switch {
		case !a.silent.IsZero():
			why = reason.ExecutorsSilent(as.shared.Shown(a.silent))
		case !as.InMaintenance(id):
			continue
		case a.maintenanceStart.After(as.shared.Wall()):
			why = reason.MaintenanceBegins(a.maintenanceStart.UTC(), a.maintenanceEnd.UTC())
		default:
			why = reason.InMaintenance(a.maintenanceStart.UTC(), a.maintenanceEnd.UTC())
		}
		if out == nil {
			out = map[string]reason.Reason{}
		}
		out[id] = why
	}
	return out
}

// ReplaceSilent records which agents are silent, and since when: those where all executors with tasks are silent. It
// returns whether an agent is no longer silent.
func (as *Set) ReplaceSilent(silent map[string]time.Time) (someHeard bool) {
	for id := range as.excludable {
		if a := as.byID[id]; !a.silent.IsZero() && silent[id].IsZero() {
			as.EndSilence(id)
			someHeard = true
		}
	}
	for id, since := range silent {
		if a := as.byID[id]; a != nil && a.silent.IsZero() {
			a.silent, as.excludable[id] = since, true
			as.markPresence()
		}
	}
	return someHeard
}

// EndSilence records that an executor on an agent is heard again.
func (as *Set) EndSilence(id string) {
	if a := as.byID[id]; a != nil && !a.silent.IsZero() {
		a.silent = time.Time{}
		as.markPresence()
	}
}
