package config

import (
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Inactivity is the reason why a job makes no fires and launches nothing.
type Inactivity int

// Kinds of inactivity. If several apply to a job, the first of them counts.
const (
	// Active means that the job is not inactive.
	Active Inactivity = iota
	// Faulty means that the only document of the job cannot be used.
	Faulty
	// Removed means that the job was deregistered.
	Removed
	// Disabled means that the job has a disabled mark (rule F6).
	Disabled
	// AppMissing means that the job's app is not registered or has a document that cannot be used.
	AppMissing
	// AppDisabled means that the job's app has a disabled mark.
	AppDisabled
	// ShutDown means that the job was shut down; its launched executions run to their end (rule F11).
	ShutDown
	// Paused means that the job is paused; its launched executions run to their end (rule F10).
	Paused
)

// Inactive returns why a job makes no fires and launches nothing, or Active.
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

// MayRun reports whether the launched executions of a job may run on: the job is active, paused or shut down, or its
// only document cannot be used.
func (k *Set) MayRun(j *Job) bool {
	inactivity := k.Inactive(j)
	return inactivity == Active || inactivity == Paused || inactivity == ShutDown || inactivity == Faulty
}

// InactiveReason returns the result of Inactive as the reason that users see; none for an active job.
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

// EndReason returns the result of Inactive for the records of the executions that end because of it. It does not name
// the app: the job may move to another app later, whose users may not be allowed to know the former one.
func (k *Set) EndReason(j *Job) reason.Reason {
	switch k.Inactive(j) {
	case AppMissing:
		return reason.Of(reason.AppMissing)
	case AppDisabled:
		return reason.Of(reason.AppDisabled)
	}
	return k.InactiveReason(j)
}

// AppMissingReason returns the reason that users see why the app with that name is missing, and what to do.
func (k *Set) AppMissingReason(name string) reason.Reason {
	if path := store.Under(store.PathApps, name); k.HasFault(path) {
		return reason.AppDocumentFaulty(name, k.faulty[path].why)
	}
	return reason.AppNotRegistered(name)
}
