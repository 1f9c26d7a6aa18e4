package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
)

// maintenanceSoon is how long before an agent's maintenance nothing new is placed there.
const maintenanceSoon = time.Hour

// inMaintenance reports whether an agent's maintenance has begun or begins soon.
func (c *Core) inMaintenance(a *agentState) bool {
	return a != nil && !a.maintenanceStart.IsZero() && !a.maintenanceStart.After(c.wall.Add(maintenanceSoon)) &&
		(a.maintenanceEnd.IsZero() || a.maintenanceEnd.After(c.wall)) // a schedule may stand long after its window
}

// agentsInMaintenance are the agents whose maintenance begins soon, with the reason for people.
func (c *Core) agentsInMaintenance() map[string]string {
	var out map[string]string
	for id := range c.maintained {
		a := c.agents[id]
		if a == nil {
			delete(c.maintained, id)
			continue
		}
		if !c.inMaintenance(a) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[id] = "its maintenance begins at " + a.maintenanceStart.UTC().Format(time.RFC3339)
		if !a.maintenanceStart.After(c.wall) {
			out[id] = "it is in maintenance since " + a.maintenanceStart.UTC().Format(time.RFC3339)
		}
		if !a.maintenanceEnd.IsZero() {
			out[id] += ", until " + a.maintenanceEnd.UTC().Format(time.RFC3339)
		}
	}
	return out
}

// takeOffersInMaintenance takes out the offers of agents in maintenance, or close to it: nothing is placed there.
func (c *Core) takeOffersInMaintenance() []offers.Offer {
	var gone []offers.Offer
	for _, id := range sortedKeys(c.agentsInMaintenance()) {
		gone = append(gone, c.pool.TakeAgent(id)...)
	}
	return gone
}
