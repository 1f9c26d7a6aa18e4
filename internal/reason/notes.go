package reason

import "time"

// Notes on an app or a job.

// LastGoodInForce says that the content of a path of the registry is invalid, and that the previous document applies.
func LastGoodInForce(path string, why Reason) Reason {
	return build("last_good_in_force", text("path", path), nested("why", why))
}

// OfPath says what is wrong at a path of the registry.
func OfPath(path string, why Reason) Reason {
	return build("of_path", text("path", path), nested("why", why))
}

// CronNeverFires says that a job's cron never fires, or never fires again.
func CronNeverFires(cron string, daemon bool) Reason {
	code := Code("cron_never_fires")
	if daemon {
		code = "daemon_never_fires"
	}
	return build(code, text("cron", cron))
}

// TooFewAgents says that all agents together have no room for all shards of a job at once.
func TooFewAgents(room, shards int) Reason {
	return build("too_few_agents", number("room", room), number("shards", shards))
}

// AgentsTooSmall says that no known agent can hold one shard. need is its demand, including that of its executor if
// withExecutor is set, and largest the largest amount of each resource. Amounts are formatted.
func AgentsTooSmall(need string, withExecutor bool, largest string) Reason {
	code := Code("agents_too_small")
	if withExecutor {
		code = "agents_too_small_with_executor"
	}
	return build(code, text("need", need), text("largest", largest))
}

// MemoryTooSmall says that a shard has less memory than its executor needs. enough is a sufficient amount in MB.
func MemoryTooSmall(has string, executor, enough int) Reason {
	return build("memory_too_small", text("memoryMB", has), number("executorMB", executor), number("enoughMB", enough))
}

// NotNotified says that the notification of a failed execution was not sent yet; why is the handler's error. If
// execution is "", the notification is about something other than a failed execution.
func NotNotified(execution, handler string, tries int, why string) Reason {
	code := Code("not_notified")
	if execution == "" {
		code = "notice_not_sent"
	}
	return build(code, text("execution", execution), text("handler", handler), number("times", tries),
		text("why", why))
}

// ClockBehind says that the scheduler's clock is behind the fire cursor.
func ClockBehind(cursor time.Time) Reason { return build("clock_behind", timestamp("at", cursor)) }

// ClockLeapt says that the scheduler's clock went forward by more than a day, or that no server led in that time.
func ClockLeapt(before, after time.Time) Reason {
	return build("clock_leapt", timestamp("from", before), timestamp("upTo", after))
}

// FiresTakenBack says that the clock was set back after a leap, and that the fires continue from a time before it.
func FiresTakenBack(from, to time.Time) Reason {
	return build("fires_taken_back", timestamp("from", from), timestamp("upTo", to))
}

// FiresMadeAhead says that the fires up to a time were made while the scheduler's clock was ahead.
func FiresMadeAhead(upTo time.Time) Reason { return build("fires_made_ahead", timestamp("upTo", upTo)) }

// NothingUntilThatEnds says that a job makes no fires and gets no shard placed, and why.
func NothingUntilThatEnds(why Reason) Reason {
	return build("nothing_until_that_ends", nested("why", why))
}

// ShownAsLastKnown says that the state of running tasks may be outdated, because the cluster is not connected.
func ShownAsLastKnown(why string) Reason { return build("shown_as_last_known", text("why", why)) }

// Notes on a running shard.

// TimeoutKillRequested says that the shard is being killed because of its timeout.
func TimeoutKillRequested(since time.Time) Reason {
	return build("timeout_kill_requested", timestamp("since", since))
}

// KillRequested says that the shard is being killed.
func KillRequested(since time.Time) Reason { return build("kill_requested", timestamp("since", since)) }

// EndsWithRun says that a daemon's shard ends with its current run, and why.
func EndsWithRun(why Reason) Reason { return build("ends_with_run", nested("why", why)) }

// AgentSilent says since when the shard's agent does not answer.
func AgentSilent(agent string, since time.Time) Reason {
	return build("agent_silent", text("agent", agent), timestamp("since", since))
}

// LeaseNotAsked says that the executor of an exclusive task has not asked for the task's lease since the launch.
// Without a lease the task does not begin (rule K5).
func LeaseNotAsked(task, agent string, since time.Time) Reason {
	return build("lease_not_asked", text("task", task), text("agent", agent), timestamp("since", since))
}

// ExclusiveUnreachable says that the shard's exclusive task has no lease, and since when the task's agent does not
// answer. The shard waits until the node of that agent has ended (rule K5).
func ExclusiveUnreachable(task, agent string, since time.Time) Reason {
	return build("exclusive_unreachable", text("task", task), text("agent", agent), timestamp("since", since))
}

// CauseMissing says that the cluster has reported the shard's end in that state, and that its agent has not given a
// cause.
func CauseMissing(state string) Reason { return build("cause_missing", text("state", state)) }

// ExecutorQuiet says for how long the executor of a daemon's shard has not reported.
func ExecutorQuiet(quiet time.Duration, agent string) Reason {
	return build("executor_quiet", duration("quiet", quiet), text("agent", agent))
}

// ClockOff says how far an agent's clock is ahead of the scheduler's; negative if it is behind.
func ClockOff(agent Agent, ahead time.Duration) Reason {
	code := Code("agent_clock_ahead")
	if ahead < 0 {
		code = "agent_clock_behind"
	}
	return build(code, text("agent", agent.ID), text("host", agent.Host), duration("off", ahead.Abs()))
}

// The following reasons say why a task remains on a machine that is being drained.

// DrainMayFinish says that a shard may run to its end, but not beyond the deadline, which is zero if there is none.
func DrainMayFinish(deadline time.Time) Reason { return withDeadline("drain_may_finish", deadline) }

// DrainNoRoom says that no other agent has room for a daemon's shard, whose formatted demand is need. The shard stays
// until the deadline, which is zero if there is none.
func DrainNoRoom(need string, deadline time.Time) Reason {
	return withDeadline("drain_no_room", deadline, text("need", need))
}

func withDeadline(code Code, deadline time.Time, args ...arg) Reason {
	if !deadline.IsZero() {
		args = append(args, timestamp("deadline", deadline))
	}
	return build(code, args...)
}

// DrainTurn says that a daemon's shard waits until another one has moved, or until offers have arrived.
func DrainTurn() Reason { return build("drain_turn") }

// DrainStopping says since when a shard is being stopped.
func DrainStopping(since time.Time) Reason { return build("drain_stopping", timestamp("since", since)) }

// DrainUnreachable says since when the agent of a shard does not answer.
func DrainUnreachable(since time.Time) Reason {
	return build("drain_unreachable", timestamp("since", since))
}

// DrainOrphan says that a task that was given up may still run.
func DrainOrphan() Reason { return build("drain_orphan") }

// Notes on daemons.

// LastRunEnded says how the last unsuccessful run of a shard ended.
func LastRunEnded(fire time.Time, state string, cause Reason) Reason {
	return build("last_run_ended", timestamp("fire", fire), text("state", state), nested("cause", cause))
}

// MoreLastRunsEnded says for how many other items the last run was unsuccessful, too.
func MoreLastRunsEnded(items int) Reason {
	return build("more_last_runs_ended", number("items", items))
}

// RollingOut describes the progress of a change of settings: the item that is being replaced or, with comingUp, is
// starting, and how many shards have the former settings.
func RollingOut(item int, comingUp bool, former int) Reason {
	code := Code("rolling_out_replacing")
	if comingUp {
		code = "rolling_out_coming_up"
	}
	return build(code, number("item", item), number("former", former))
}

// Problems on the overview page.

// AgentAway says that the master can't reach an agent, and how many tasks it has. host may be "".
func AgentAway(host string, tasks int) Reason {
	return build("agent_away", text("host", host), number("tasks", tasks))
}

// AppNotFetched says that an app's package can't be fetched, why, and how the last attempt ended, if there was one.
func AppNotFetched(why, last Reason) Reason {
	return build("app_not_fetched", nested("why", why), nested("last", last))
}

// FireLate says that a fire is overdue.
func FireLate() Reason { return build("fire_late") }

// Notes on agents and executors.

// TakesNoTasks says that the cluster places nothing on an agent; why is the cluster's message.
func TakesNoTasks(why string) Reason { return build("takes_no_tasks", text("why", why)) }

// KillUnanswered says that an executor does not answer the kill of a task.
func KillUnanswered() Reason { return build("kill_unanswered") }

// DaemonsUnheard says for how long an executor that runs daemons has not reported.
func DaemonsUnheard(quiet time.Duration) Reason {
	return build("daemons_unheard", duration("quiet", quiet))
}
