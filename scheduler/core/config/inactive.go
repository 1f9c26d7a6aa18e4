package config

import (
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// inactivity is why a job makes no fires and launches nothing.
type Inactivity int

const (
	Active Inactivity = iota
	Faulty
	Removed
	Disabled
	AppMissing
	AppDisabled
	// jobShutDown and jobPaused leave what was launched alone (rules F10, F11).
	ShutDown
	Paused
)

// inactive says why a job makes no fires, or that it is active.
func (k *Set) Inactive(j *Job) Inactivity {
	switch {
	case j.cfg == nil && k.HasFault(store.Under(store.PathJobs, j.name)):
		return Faulty
	case j.cfg == nil:
		return Removed
	case j.mark == MarkedDisabled:
		return Disabled
	}
	switch a := k.apps[j.cfg.AppName]; {
	case a == nil:
		return AppMissing
	case a.disabled:
		return AppDisabled
	case j.mark == markedShutdown:
		return ShutDown
	case j.stored.Paused:
		return Paused
	}
	return Active
}

// inactiveReason is the same for people, and none for a job that is active.
func (k *Set) InactiveReason(j *Job) reason.Reason {
	switch k.Inactive(j) {
	case Faulty:
		path := store.Under(store.PathJobs, j.name)
		return reason.DocumentFaulty(path, k.faulty[path].why)
	case Removed:
		return reason.Of(reason.Deregistered)
	case Disabled:
		return reason.Of(reason.Disabled)
	case AppMissing:
		return k.AppMissingReason(j.cfg.AppName)
	case AppDisabled:
		return reason.AppIsDisabled(j.cfg.AppName)
	case ShutDown:
		return reason.Of(reason.ShutDown)
	case Paused:
		return reason.JobPaused(j.name)
	}
	return reason.Reason{}
}

// endReason is inactiveReason for what stays with the runs that end for it. The job may be of another app later,
// whose people may not know of the one before: so it does not name the app.
func (k *Set) EndReason(j *Job) reason.Reason {
	switch k.Inactive(j) {
	case AppMissing:
		return reason.Of(reason.AppMissing)
	case AppDisabled:
		return reason.Of(reason.AppDisabled)
	}
	return k.InactiveReason(j)
}

// appMissingReason says why a job has no app, and what to do.
func (k *Set) AppMissingReason(name string) reason.Reason {
	if path := store.Under(store.PathApps, name); k.HasFault(path) {
		return reason.AppDocumentFaulty(name, k.faulty[path].why)
	}
	return reason.AppNotRegistered(name)
}
