package agents

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// setMaintenance records when an agent's maintenance begins and ends; a zero time means that the master named none.
func (as *Set) setMaintenance(a *Agent, begin, end time.Time) {
	a.maintenanceStart, a.maintenanceEnd = begin, end
	if !begin.IsZero() {
		as.maintained[a.id] = true
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
		// A schedule may remain long after its window.
		(a.maintenanceEnd.IsZero() || a.maintenanceEnd.After(as.shared.Wall()))
}

// AllInMaintenance returns, by id, the agents for which InMaintenance holds, with the reason for people; nil if
// there are none.
func (as *Set) AllInMaintenance() map[string]reason.Reason {
	var out map[string]reason.Reason
	for id := range as.maintained {
		if !as.InMaintenance(id) {
			continue
		}
		if out == nil {
			out = map[string]reason.Reason{}
		}
		a := as.byID[id]
		say := reason.MaintenanceBegins
		if !a.maintenanceStart.After(as.shared.Wall()) {
			say = reason.InMaintenance
		}
		out[id] = say(a.maintenanceStart.UTC(), a.maintenanceEnd.UTC())
	}
	return out
}
