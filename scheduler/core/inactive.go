package core

import (
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// inactivity is why a job makes no fires and launches nothing.
type inactivity int

const (
	active inactivity = iota
	jobFaulty
	jobRemoved
	jobDisabled
	appMissing
	appDisabled
	// jobShutDown and jobPaused leave what was launched alone (rules F10, F11).
	jobShutDown
	jobPaused
)

// inactive says why a job makes no fires, or that it is active.
func (k *configuration) inactive(j *jobState) inactivity {
	switch {
	case j.cfg == nil && k.hasFault(store.Under(store.PathJobs, j.name)):
		return jobFaulty
	case j.cfg == nil:
		return jobRemoved
	case j.mark == markedDisabled:
		return jobDisabled
	}
	switch a := k.apps[j.cfg.AppName]; {
	case a == nil:
		return appMissing
	case a.disabled:
		return appDisabled
	case j.mark == markedShutdown:
		return jobShutDown
	case j.stored.Paused:
		return jobPaused
	}
	return active
}

// inactiveReason is the same for people, and none for a job that is active.
func (k *configuration) inactiveReason(j *jobState) reason.Reason {
	switch k.inactive(j) {
	case jobFaulty:
		path := store.Under(store.PathJobs, j.name)
		return reason.DocumentFaulty(path, k.faulty[path].why)
	case jobRemoved:
		return reason.Of(reason.Deregistered)
	case jobDisabled:
		return reason.Of(reason.Disabled)
	case appMissing:
		return k.appMissingReason(j.cfg.AppName)
	case appDisabled:
		return reason.AppIsDisabled(j.cfg.AppName)
	case jobShutDown:
		return reason.Of(reason.ShutDown)
	case jobPaused:
		return reason.JobPaused(j.name)
	}
	return reason.Reason{}
}

// endReason is inactiveReason for what stays with the runs that end for it. The job may be of another app later,
// whose people may not know of the one before: so it does not name the app.
func (k *configuration) endReason(j *jobState) reason.Reason {
	switch k.inactive(j) {
	case appMissing:
		return reason.Of(reason.AppMissing)
	case appDisabled:
		return reason.Of(reason.AppDisabled)
	}
	return k.inactiveReason(j)
}

// appMissingReason says why a job has no app, and what to do.
func (k *configuration) appMissingReason(name string) reason.Reason {
	if path := store.Under(store.PathApps, name); k.hasFault(path) {
		return reason.AppDocumentFaulty(name, k.faulty[path].why)
	}
	return reason.AppNotRegistered(name)
}
