package config

import (
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Inactivity is why a job makes no fires and launches nothing.
type Inactivity int

// Kinds of inactivity. If several hold of a job, the first of them counts.
const (
	// Active is a job that is not inactive.
	Active Inactivity = iota
	// Faulty is a job whose only document can't be used.
	Faulty
	// Removed is a job that was deregistered.
	Removed
	// Disabled is a job with a disabled mark (rule F6).
	Disabled
	// AppMissing is a job whose app is not registered or has a document that can't be used.
	AppMissing
	// AppDisabled is a job whose app has a disabled mark.
	AppDisabled
	// ShutDown is a job that was shut down; launched executions of it run to their end (rule F11).
	ShutDown
	// Paused is a job that is paused; launched executions of it run to their end (rule F10).
	Paused
)

// Inactive says why a job makes no fires and launches nothing, or that it is Active.
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

// InactiveReason is the result of Inactive for people; none for a job that is active.
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

// EndReason is InactiveReason as it is recorded with the executions that end for it. It does not name the app: the
// job may belong to another one later, whose people may not know of the one before.
func (k *Set) EndReason(j *Job) reason.Reason {
	switch k.Inactive(j) {
	case AppMissing:
		return reason.Of(reason.AppMissing)
	case AppDisabled:
		return reason.Of(reason.AppDisabled)
	}
	return k.InactiveReason(j)
}

// AppMissingReason says for people why the app with that name is missing, and what to do.
func (k *Set) AppMissingReason(name string) reason.Reason {
	if path := store.Under(store.PathApps, name); k.HasFault(path) {
		return reason.AppDocumentFaulty(name, k.faulty[path].why)
	}
	return reason.AppNotRegistered(name)
}
