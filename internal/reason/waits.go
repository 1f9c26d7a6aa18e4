package reason

import "time"

// Codes of waits.
const (
	Stopping       Code = "server_stopping"
	Connecting     Code = "connecting"
	NothingOffered Code = "nothing_offered"
	AboutToPlace   Code = "about_to_be_placed"
)

// DocumentFaulty says that a job's document at a path of the registry is invalid.
func DocumentFaulty(path string, why Reason) Reason {
	return build("document_faulty", text("path", path), nested("why", why))
}

// DocumentUnreadable says that a document can't be read; why is the registry's message.
func DocumentUnreadable(why string) Reason { return build("document_unreadable", text("why", why)) }

// MarkUnreadable says that a disabled mark can't be read; why is the registry's message.
func MarkUnreadable(why string) Reason { return build("mark_unreadable", text("why", why)) }

// AppNotRegistered says that a job's app does not exist.
func AppNotRegistered(app string) Reason { return build("app_not_registered", text("app", app)) }

// AppDocumentFaulty says that the document of a job's app is invalid.
func AppDocumentFaulty(app string, why Reason) Reason {
	return build("app_document_faulty", text("app", app), nested("why", why))
}

// BeingEnded says that an execution waits until the job's previous execution has ended, and why that is being ended.
func BeingEnded(execution string, why Reason) Reason {
	return build("former_execution_ending", text("execution", execution), nested("why", why))
}

// DaemonBeingEnded says that an execution waits until the execution of the former daemon has ended, because the job
// was a daemon.
func DaemonBeingEnded(execution string) Reason {
	return build("former_daemon_ending", text("execution", execution))
}

// OneAtATime says that an execution waits until the job's previous execution has ended, and gives that one's state.
func OneAtATime(execution, state string) Reason {
	return build("one_at_a_time", text("execution", execution), text("state", state))
}

// Orphaned identifies an abandoned attempt that may still run (rule E5). Its methods say why the attempt still counts.
type Orphaned struct{ Task, Agent string }

// MayBeEnding says that the cluster has removed the task, and at which time it counts as ended.
func (o Orphaned) MayBeEnding(at time.Time) Reason {
	return build("orphan_ending", text("task", o.Task), text("agent", o.Agent), timestamp("at", at))
}

// HoldsLease says that the attempt is exclusive, and when its lease is over at the latest (rule K5).
func (o Orphaned) HoldsLease(until time.Time) Reason {
	return build("orphan_holds_lease", text("task", o.Task), text("agent", o.Agent), timestamp("until", until))
}

// Unkilled says that the attempt is exclusive, and that its executor could not end all of its processes (rule K5).
func (o Orphaned) Unkilled() Reason {
	return build("orphan_unkilled", text("task", o.Task), text("agent", o.Agent))
}

// StuckStaging says that the attempt was abandoned because it stayed in STAGING, and may have started since.
func (o Orphaned) StuckStaging() Reason { return o.because("orphan_staging") }

// KillUnconfirmed says that the cluster has not confirmed that the agent will not start the attempt.
func (o Orphaned) KillUnconfirmed() Reason { return o.because("orphan_kill_unconfirmed") }

// Unanswered says that the cluster has not reported whether the attempt's agent is connected again.
func (o Orphaned) Unanswered() Reason { return o.because("orphan_unanswered") }

// MayRun says that the attempt was reported again after it was given up, and is being ended.
func (o Orphaned) MayRun() Reason { return o.because("orphan_may_run") }

// OfOtherMaster says that the attempt ran under a removed framework, and that the master that removed the framework is
// no longer the leader (rule T7).
func (o Orphaned) OfOtherMaster(framework string) Reason {
	return build("orphan_of_other_master", text("task", o.Task), text("agent", o.Agent), text("framework", framework))
}

// OfRemovedFramework says that the attempt counts as ended once its agent has been registered for the given time.
func (o Orphaned) OfRemovedFramework(framework string, length time.Duration) Reason {
	return build("orphan_of_removed_framework", text("task", o.Task), text("agent", o.Agent),
		text("framework", framework), duration("duration", length))
}

func (o Orphaned) because(code Code) Reason {
	return build(code, text("task", o.Task), text("agent", o.Agent))
}

// HostSilent says that the host of a package does not answer.
func HostSilent(host string) Reason { return build("host_silent", text("host", host)) }

// AnswerBad says that the host of a package gave a bad answer for its URL.
func AnswerBad(host string) Reason { return build("answer_bad", text("host", host)) }

// PackageUnfetchable says that a package can't be fetched after that many attempts, and when the next attempt is made
// (rule L8).
func PackageUnfetchable(why Reason, times int, at time.Time) Reason {
	return build("package_unfetchable", nested("why", why), number("times", times),
		text("at", at.Format(time.TimeOnly)))
}

// PackageBeingTried says that another execution of the app is testing whether its package can be fetched again.
func PackageBeingTried(why Reason, times int, execution string) Reason {
	return build("package_being_tried", nested("why", why), number("times", times), text("execution", execution))
}

// SettingsTooLarge says that the settings of several shards together exceed the limit of a launch. waiting says that
// only the waiting shards count. Sizes are formatted.
func SettingsTooLarge(waiting bool, shards int, each, together, limit, execution string) Reason {
	code := Code("settings_too_large")
	if waiting {
		code = "waiting_settings_too_large"
	}
	return build(code, number("shards", shards), text("each", each), text("together", together), text("limit", limit),
		text("execution", execution))
}

// LaunchesHeld says that the server launches nothing; why is the server's message.
func LaunchesHeld(why string) Reason { return build("launches_held", text("why", why)) }

// TakeoverUnreported says that the master has not reported all tasks of the previous scheduler (rule T8).
func TakeoverUnreported() Reason { return build("takeover_unreported") }

// TakeoverEnding says that tasks of the previous scheduler are being ended first. tasks lists some of their ids, and
// more is the number of the others.
func TakeoverEnding(tasks string, more int) Reason {
	switch {
	case tasks == "":
		return build("takeover_ending_unnamed", number("tasks", more))
	case more == 0:
		return build("takeover_ending", text("tasks", tasks))
	}
	return build("takeover_ending", text("tasks", tasks), number("more", more))
}

// NotConnected says that the cluster is not connected; why is the message of the cluster's client.
func NotConnected(why string) Reason {
	if why == "" {
		return build(Connecting)
	}
	return build("not_connected", text("why", why))
}

// RetryAt says at which time a shard is retried.
func RetryAt(t time.Time) Reason { return build("retry_at", timestamp("at", t)) }

// AfterAttempt says why a shard waits now, and why its last attempt ended. It returns now if last is zero.
func AfterAttempt(now, last Reason) Reason {
	if last.IsZero() {
		return now
	}
	return build("after_attempt", nested("now", now), nested("last", last))
}
