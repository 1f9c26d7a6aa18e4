package views

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/fires"
	"github.com/elasticjob-go/elasticjob/scheduler/core/minutes"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/placement"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
)

// Views makes what people see. It reads, and changes nothing: readers may be in it at the same time, between two steps.
type Views struct {
	st            *state.State
	placement     *placement.Placement
	fires         *fires.Fires
	daemons       *daemons.Daemons
	places        sandbox.Places
	notifications *notifications.Notifications
	audit         *audit.Log
	minutes       *minutes.Minutes
	heldJobs      string // which jobs may be why launches are held
}

// Parts are what Views reads beside the state.
type Parts struct {
	Placement     *placement.Placement
	Fires         *fires.Fires
	Daemons       *daemons.Daemons
	Places        sandbox.Places
	Notifications *notifications.Notifications
	Audit         *audit.Log
	Minutes       *minutes.Minutes
}

func New(s *state.State, p Parts) *Views {
	return &Views{st: s, placement: p.Placement, fires: p.Fires, daemons: p.Daemons, places: p.Places,
		notifications: p.Notifications, audit: p.Audit, minutes: p.Minutes}
}
