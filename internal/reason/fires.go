package reason

import "time"

// FireFoundBusy says that a fire found an unfinished execution of its job, and that the job has no misfire (rule F5).
func FireFoundBusy(fire time.Time, execution, state string) Reason {
	return build("fire_found_busy", timestamp("fire", fire), text("execution", execution), text("state", state))
}

// OldestDropped says that the oldest fire of a job was dropped because too many of its fires wait.
func OldestDropped(waiting int, fire time.Time) Reason {
	return build("oldest_fire_dropped", number("waiting", waiting), timestamp("fire", fire))
}

// OldestOfAllDropped says that the job's oldest fire was dropped because too many executions of all jobs are open.
func OldestOfAllDropped(open int, fire time.Time) Reason {
	return build("oldest_fire_dropped_of_all", number("open", open), timestamp("fire", fire))
}

// FiresSkipped says that fires found a daemon's shard busy.
func FiresSkipped(fires int64, last time.Time, item int) Reason {
	return build("fires_skipped", number("fires", fires), timestamp("last", last), number("item", item))
}

// ShardWasDown says that a daemon's shard did not run, and missed the fires of that time.
func ShardWasDown(item int, from, until time.Time) Reason {
	return build("shard_was_down", number("item", item), timestamp("from", from), timestamp("until", until))
}

// FiresMissed says that the fires of that time were missed and are dropped (rule F3).
func FiresMissed(from, upTo time.Time) Reason {
	return build("fires_missed", timestamp("from", from), timestamp("upTo", upTo))
}

// FiresMadeUp says that the fires of that time were missed, and the newest of them run now (rule F3).
func FiresMadeUp(from, upTo time.Time, newest int) Reason {
	return build("fires_made_up", timestamp("from", from), timestamp("upTo", upTo), number("newest", newest))
}
