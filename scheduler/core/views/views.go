// Package views builds the views of a leader term: the answers of the API about jobs, executions, tasks, agents and
// metrics, with the reasons why something waits. Views owns no state of the term and changes none. Its methods may be
// called concurrently between two steps, but not during a step. scheduler/explain checks the permissions.
package views

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/fires"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machinedrain"
	"github.com/elasticjob-go/elasticjob/scheduler/core/minutes"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/placement"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
)

// Views builds the views of a term. Except for PrepareHeld, its methods change nothing, so several readers may call
// them concurrently between two steps.
type Views struct {
	st            *state.State
	placement     *placement.Placement
	fires         *fires.Fires
	daemons       *daemons.Daemons
	places        sandbox.Places
	notifications *notifications.Notifications
	audit         *audit.Log
	minutes       *minutes.Minutes
	// heldJobs is the part of the text of Held that names jobs.
	heldJobs string
	drainer  *machinedrain.Drainer
	silence  Silence
}

// Parts are the parts of the core that Views reads in addition to the state.
type Parts struct {
	Placement     *placement.Placement
	Fires         *fires.Fires
	Daemons       *daemons.Daemons
	Places        sandbox.Places
	Notifications *notifications.Notifications
	Audit         *audit.Log
	Minutes       *minutes.Minutes
	Drainer       *machinedrain.Drainer
	Silence       Silence
}

// New makes the Views of a term.
func New(s *state.State, p Parts) *Views {
	return &Views{st: s, placement: p.Placement, fires: p.Fires, daemons: p.Daemons, places: p.Places,
		notifications: p.Notifications, audit: p.Audit, minutes: p.Minutes, drainer: p.Drainer,
		silence: p.Silence}
}
