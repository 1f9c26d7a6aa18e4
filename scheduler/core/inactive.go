package core

import "fmt"

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
	case j.cfg == nil && k.hasFault(under(pathJobs, j.name)):
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

// inactiveReason is the same for people, and "" for a job that is active.
func (k *configuration) inactiveReason(j *jobState) string {
	switch k.inactive(j) {
	case jobFaulty:
		path := under(pathJobs, j.name)
		return "its document " + path + " can't be used: " + k.faulty[path].why
	case jobRemoved:
		return "the job is deregistered"
	case jobDisabled:
		return "the job is disabled"
	case appMissing:
		return k.appMissingReason(j.cfg.AppName)
	case appDisabled:
		return fmt.Sprintf("its app %q is disabled", j.cfg.AppName)
	case jobShutDown:
		return "the job is shut down"
	case jobPaused:
		return fmt.Sprintf("the job is paused: POST /api/job/%s/resume", j.name)
	}
	return ""
}

// endReason is inactiveReason for what stays with the runs that end for it. The job may be of another app later,
// whose people may not know of the one before: so it does not name the app.
func (k *configuration) endReason(j *jobState) string {
	switch k.inactive(j) {
	case appMissing:
		return "its app is not registered, or its document can't be used"
	case appDisabled:
		return "its app is disabled"
	}
	return k.inactiveReason(j)
}

// appMissingReason says why a job has no app, and what to do.
func (k *configuration) appMissingReason(name string) string {
	if f := k.faulty[under(pathApps, name)]; f.why != "" {
		return fmt.Sprintf("the document of its app %q in the registry can't be used; correct it, or register app %s again with POST /api/app: %s", name, name, f.why)
	}
	return fmt.Sprintf("its app %q is not registered: register app %s with POST /api/app; until then nothing runs", name, name)
}
