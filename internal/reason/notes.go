package reason

import "time"

// Notes: what people should know of an app or a job.

// LastGoodInForce says that what a path of the registry has now can't be used, and the document before it counts.
func LastGoodInForce(path string, why Reason) Reason {
	return build("last_good_in_force", text("path", path), because("why", why))
}

// OfPath says what is wrong at a path of the registry.
func OfPath(path string, why Reason) Reason {
	return build("of_path", text("path", path), because("why", why))
}

// CronNeverFires says that a job's cron never fires (again).
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

// AgentsTooSmall says that no agent seen so far can hold one shard. need is what it takes, with what its executor does
// if withExecutor is set, and largest the largest amount of each resource. Amounts are for people.
func AgentsTooSmall(need string, withExecutor bool, largest string) Reason {
	code := Code("agents_too_small")
	if withExecutor {
		code = "agents_too_small_with_executor"
	}
	return build(code, text("need", need), text("largest", largest))
}

// MemoryTooSmall says that a shard's memory is less than what its executor needs of it, and what would do, in MB.
func MemoryTooSmall(has string, executor, enough int) Reason {
	return build("memory_too_small", text("memoryMB", has), number("executorMB", executor), number("enoughMB", enough))
}

// NotNotified says that people could not be told of a failed execution yet, and why in words of that handler.
func NotNotified(execution, handler string, tries int, why string) Reason {
	return build("not_notified", text("execution", execution), text("handler", handler), number("times", tries),
		text("why", why))
}

// ClockBehind says that the scheduler's clock is behind the fires that were made, up to that time.
func ClockBehind(cursor time.Time) Reason { return build("clock_behind", moment("at", cursor)) }

// NothingUntilThatEnds says that a job makes no fires and gets no shard placed, and why.
func NothingUntilThatEnds(why Reason) Reason {
	return build("nothing_until_that_ends", because("why", why))
}

// ShownAsLastKnown says that nothing is heard of running tasks, since there is no connection to the cluster.
func ShownAsLastKnown(why string) Reason { return build("shown_as_last_known", text("why", why)) }

// Of a shard that runs.

// TimeoutKillRequested says that it is being killed for its timeout.
func TimeoutKillRequested(since time.Time) Reason {
	return build("timeout_kill_requested", moment("since", since))
}

// KillRequested says that it is being killed.
func KillRequested(since time.Time) Reason { return build("kill_requested", moment("since", since)) }

// EndsWithRun says that a daemon's shard ends with the run under way, and why.
func EndsWithRun(why Reason) Reason { return build("ends_with_run", because("why", why)) }

// AgentSilent says that its agent does not answer.
func AgentSilent(agent string, since time.Time) Reason {
	return build("agent_silent", text("agent", agent), moment("since", since))
}

// CauseMissing says that the cluster has reported its end as that state, and its agent has not said why.
func CauseMissing(state string) Reason { return build("cause_missing", text("state", state)) }

// ExecutorQuiet says for how long nothing was heard of a daemon's executor.
func ExecutorQuiet(quiet time.Duration, agent string) Reason {
	return build("executor_quiet", duration("quiet", quiet), text("agent", agent))
}

// ClockOff says how far an agent's clock is ahead of the scheduler's, or behind it if negative.
func ClockOff(agent Agent, ahead time.Duration) Reason {
	code := Code("agent_clock_ahead")
	if ahead < 0 {
		code = "agent_clock_behind"
	}
	return build(code, text("agent", agent.ID), text("host", agent.Host), duration("off", ahead.Abs()))
}

// Of daemons.

// LastRunEnded says how the last run of a shard ended that did not finish.
func LastRunEnded(fire time.Time, state string, cause Reason) Reason {
	return build("last_run_ended", moment("fire", fire), text("state", state), because("cause", cause))
}

// MoreLastRunsEnded says of how many other items the same is true.
func MoreLastRunsEnded(items int) Reason {
	return build("more_last_runs_ended", number("items", items))
}

// RollingOut says how far a change of settings has come: which item is being replaced or, with comingUp, coming up,
// and how many shards have the former settings.
func RollingOut(item int, comingUp bool, former int) Reason {
	code := Code("rolling_out_replacing")
	if comingUp {
		code = "rolling_out_coming_up"
	}
	return build(code, number("item", item), number("former", former))
}

// Problems of an overview.

// AgentAway says that the master can't reach an agent, and how many tasks it has. host may be "".
func AgentAway(host string, tasks int) Reason {
	return build("agent_away", text("host", host), number("tasks", tasks))
}

// AppNotFetched says that an app's package can't be fetched, why, and how the last attempt ended; that may be none.
func AppNotFetched(why, last Reason) Reason {
	return build("app_not_fetched", because("why", why), because("last", last))
}

// FireLate says that a fire is due and was not made.
func FireLate() Reason { return build("fire_late") }

// Notes on agents and executors.

// TakesNoTasks says that the cluster places nothing on an agent, in its own words.
func TakesNoTasks(why string) Reason { return build("takes_no_tasks", text("why", why)) }

// KillUnanswered says that an executor does not answer the kill of a task.
func KillUnanswered() Reason { return build("kill_unanswered") }

// DaemonsUnheard says for how long nothing was heard of an executor that runs daemons.
func DaemonsUnheard(quiet time.Duration) Reason {
	return build("daemons_unheard", duration("quiet", quiet))
}
