package reason

import "time"

// Codes of waits.
const (
	Stopping       Code = "server_stopping"
	Connecting     Code = "connecting"
	NothingOffered Code = "nothing_offered"
	AboutToPlace   Code = "about_to_be_placed"
)

// DocumentFaulty says that a job's document can't be used, at that path of the registry.
func DocumentFaulty(path string, why Reason) Reason {
	return build("document_faulty", text("path", path), because("why", why))
}

// DocumentUnreadable says that a document can't be read, in words of the registry.
func DocumentUnreadable(why string) Reason { return build("document_unreadable", text("why", why)) }

// MarkUnreadable says that of a disabled mark.
func MarkUnreadable(why string) Reason { return build("mark_unreadable", text("why", why)) }

// AppNotRegistered says that a job's app is not there.
func AppNotRegistered(app string) Reason { return build("app_not_registered", text("app", app)) }

// AppDocumentFaulty says that the document of a job's app can't be used.
func AppDocumentFaulty(app string, why Reason) Reason {
	return build("app_document_faulty", text("app", app), because("why", why))
}

// BeingEnded says that an execution of the job before is being ended first, for that reason.
func BeingEnded(execution string, why Reason) Reason {
	return build("former_execution_ending", text("execution", execution), because("why", why))
}

// DaemonBeingEnded says that the job was a daemon, and its standing execution is being ended first.
func DaemonBeingEnded(execution string) Reason {
	return build("former_daemon_ending", text("execution", execution))
}

// OneAtATime says that the job's execution before has not ended, and is in that state.
func OneAtATime(execution, state string) Reason {
	return build("one_at_a_time", text("execution", execution), text("state", state))
}

// Orphaned says that an attempt that was given up may still run (rule E5).
type Orphaned struct{ Task, Agent string }

// MayBeEnding says that the cluster has removed the task, which counts as ended at that time.
func (o Orphaned) MayBeEnding(at time.Time) Reason {
	return build("orphan_ending", text("task", o.Task), text("agent", o.Agent), moment("at", at))
}

// StuckStaging says that it was given up since it got no further than STAGING, and may have begun since.
func (o Orphaned) StuckStaging() Reason { return o.because("orphan_staging") }

// KillUnconfirmed says that the cluster has not confirmed that the agent will not begin it.
func (o Orphaned) KillUnconfirmed() Reason { return o.because("orphan_kill_unconfirmed") }

// Unanswered says that the cluster has not said whether its agent is back with it.
func (o Orphaned) Unanswered() Reason { return o.because("orphan_unanswered") }

// MayRun says that it may still run.
func (o Orphaned) MayRun() Reason { return o.because("orphan_may_run") }

// OfOtherMaster says that it ran under a removed framework, and the master that removed it leads no more (rule T7).
func (o Orphaned) OfOtherMaster(framework string) Reason {
	return build("orphan_of_other_master", text("task", o.Task), text("agent", o.Agent), text("framework", framework))
}

// OfRemovedFramework says that it counts as ended when its agent has been registered for so long.
func (o Orphaned) OfRemovedFramework(framework string, length time.Duration) Reason {
	return build("orphan_of_removed_framework", text("task", o.Task), text("agent", o.Agent),
		text("framework", framework), duration("duration", length))
}

func (o Orphaned) because(code Code) Reason {
	return build(code, text("task", o.Task), text("agent", o.Agent))
}

// HostSilent and AnswerBad say what is wrong with where a package is fetched from: a host, or its answer for one URL.
func HostSilent(host string) Reason { return build("host_silent", text("host", host)) }

// AnswerBad is like HostSilent.
func AnswerBad(host string) Reason { return build("answer_bad", text("host", host)) }

// PackageUnfetchable says that a package can't be fetched, and is tried again at that time of day (rule L8).
func PackageUnfetchable(why Reason, times int, at time.Time) Reason {
	return build("package_unfetchable", because("why", why), number("times", times),
		text("at", at.Format(time.TimeOnly)))
}

// PackageBeingTried says that another execution of the app finds out whether its package can be fetched again.
func PackageBeingTried(why Reason, times int, execution string) Reason {
	return build("package_being_tried", because("why", why), number("times", times), text("execution", execution))
}

// SettingsTooLarge says that what shards are given together is more than may be launched. waiting is set if it is
// said of the shards that wait alone. Sizes are for people.
func SettingsTooLarge(waiting bool, shards int, each, together, limit, execution string) Reason {
	code := Code("settings_too_large")
	if waiting {
		code = "waiting_settings_too_large"
	}
	return build(code, number("shards", shards), text("each", each), text("together", together), text("limit", limit),
		text("execution", execution))
}

// LaunchesHeld says that the server launches nothing, for that reason in words of its own.
func LaunchesHeld(why string) Reason { return build("launches_held", text("why", why)) }

// TakeoverUnreported says that the master has not reported all tasks of the scheduler before this one (rule T8).
func TakeoverUnreported() Reason { return build("takeover_unreported") }

// TakeoverEnding says that tasks of the scheduler before this one are being ended first: some of their ids, and how
// many more.
func TakeoverEnding(tasks string, more int) Reason {
	switch {
	case tasks == "":
		return build("takeover_ending_unnamed", number("tasks", more))
	case more == 0:
		return build("takeover_ending", text("tasks", tasks))
	}
	return build("takeover_ending", text("tasks", tasks), number("more", more))
}

// NotConnected says that there is no connection to the cluster, and why in words of the cluster's client.
func NotConnected(why string) Reason {
	if why == "" {
		return build(Connecting)
	}
	return build("not_connected", text("why", why))
}

// RetryAt says that the shard is tried again at that time.
func RetryAt(at time.Time) Reason { return build("retry_at", moment("at", at)) }

// AfterAttempt says that it waits for now, and its last attempt ended for that reason; now alone if that is none.
func AfterAttempt(now, last Reason) Reason {
	if last.IsZero() {
		return now
	}
	return build("after_attempt", because("now", now), because("last", last))
}
