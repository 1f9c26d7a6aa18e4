package reason

import (
	"slices"
	"time"
)

// Codes of ends that decisions or tests compare.
const (
	PlainText        Code = "text"
	FrameworkRemoved Code = "framework_removed"
	LostBeforeImport Code = "lost_before_import"

	endedAfterGivenUp Code = "ended_after_given_up"
)

// FromText returns the reason for a text that comes from a job's process, an executor or an earlier release.
func FromText(words string) Reason {
	if words == "" {
		return Reason{}
	}
	if code, ok := earlierWords[words]; ok {
		return build(code)
	}
	return build(PlainText, text("text", words))
}

// earlierWords are the codes of sentences that earlier releases stored and compared.
var earlierWords = map[string]Code{
	"killed on request":                                           KilledOnRequest,
	"lost by shutdown of the scheduler":                           ServerStopped,
	"replaced by one with the changed settings of its job or app": SettingsChanged,
	"the job is paused":                                           Paused,
}

// OverMemoryLimit says that the container of executor and tasks exceeded its memory limit. message comes from the
// cluster.
func OverMemoryLimit(message string) Reason {
	return build("over_memory_limit", text("message", message))
}

// OverDiskLimit says that the container of executor and tasks exceeded its disk limit. message comes from the cluster.
func OverDiskLimit(message string) Reason { return build("over_disk_limit", text("message", message)) }

// ExecutorEnded says that a task ended together with its executor. executor is "" if the executor runs only this task.
func ExecutorEnded(executor, agent, state, reported, message string) Reason {
	code := Code("executor_ended")
	if executor == "" {
		code = "task_executor_ended"
	}
	return build(code, text("executor", executor), text("agent", agent), text("state", state),
		text("reason", reported), text("message", message))
}

// EndConfirmed says that a task counts as ended because an operator confirmed its end; by may be "".
func EndConfirmed(by string) Reason { return build("end_confirmed", text("by", by)) }

// MachineDead says that a task counts as ended because its machine was declared dead; by may be "".
func MachineDead(machine, by string) Reason {
	return build("machine_dead", text("machine", machine), text("by", by))
}

// AgentDraining says that an operator drains the task's agent.
func AgentDraining(reported, message string) Reason {
	return build("agent_draining", text("reason", reported), text("message", message))
}

// ClusterReported says that the cluster reported an end. reported and message are the reason and the message of the
// cluster's update; the reason is a word like "RECONCILIATION".
func ClusterReported(state, reported, message string) Reason {
	return build("cluster_reported", text("state", state), text("reason", reported), text("message", message))
}

// EndUnexplained says that the cluster reported the end of a task, and its agent never gave a cause (rule S5).
func EndUnexplained(state string) Reason { return build("end_unexplained", text("state", state)) }

// LaunchRefused says that the master refused the call that should launch the task.
func LaunchRefused(message string) Reason { return build("launch_refused", text("message", message)) }

// LostTooOften says that a shard has lost the greatest allowed number of attempts (rule E2).
func LostTooOften(times int, last Reason) Reason {
	return build("lost_too_often", number("times", times), nested("last", last))
}

// NotStartedTooOften says that a shard could not be started on the greatest allowed number of agents (rule L6). task
// is set if each task has an executor of its own.
func NotStartedTooOften(task bool, times int, agent string, last Reason) Reason {
	code := Code("executor_not_started_too_often")
	if task {
		code = "task_not_started_too_often"
	}
	return build(code, number("times", times), text("agent", agent), nested("last", last))
}

// TimedOut says that a task exceeded its job's timeoutSeconds. end is the reported reason of its end, if any.
func TimedOut(ran time.Duration, limitSeconds int, end Reason) Reason {
	return build("timed_out", duration("ran", ran), number("limitSeconds", limitSeconds), nested("end", end))
}

// ByForce is the code of EndedByForce.
const ByForce Code = "ended_by_force"

// EndedByForce says that a process did not end within its grace period after SIGTERM, and why it should have ended.
func EndedByForce(why Reason) Reason { return build(ByForce, nested("why", why)) }

// Force returns the reason that EndedByForce contains, and true. It returns any other reason unchanged, and false.
func (r Reason) Force() (why Reason, forced bool) {
	if !r.Is(ByForce) {
		return r, false
	}
	if a := r.arg("why"); a != nil {
		why = a.inner
	}
	return why, true
}

// Saying returns the reason of a kill together with a reason about the end: the last words of the killed task, or how
// the shards of a killed run ended. It returns r unchanged if one of them is zero.
func (r Reason) Saying(end Reason) Reason {
	if r.IsZero() || end.IsZero() {
		return r
	}
	return Reason{&content{code: r.code, args: append(slices.Clone(r.args), nested("end", end))}}
}

// ShardsForced says how many shards of a killed run had to be ended by force.
func ShardsForced(forced, shards int) Reason {
	return build("shards_ended_by_force", number("forced", forced), number("shards", shards))
}

// StuckStaging says that a task did not get beyond STAGING on an agent.
func StuckStaging(agent string, length time.Duration) Reason {
	return build("stuck_staging", text("agent", agent), duration("duration", length))
}

// AgentUnreachable says that an agent was unreachable for so long that its task was abandoned (rule E4).
func AgentUnreachable(agent string, length time.Duration) Reason {
	return build("agent_unreachable", text("agent", agent), duration("duration", length))
}

// NoHeartbeat says that the executor of a task sent no heartbeat for so long that the task was given up (rule E4).
func NoHeartbeat(agent string, length time.Duration) Reason {
	return build("no_heartbeat", text("agent", agent), duration("duration", length))
}

// TookMachines says that attempts of a shard were lost with several machines, so that it is not run again (rule E2).
func TookMachines(machines int, last Reason) Reason {
	return build("took_machines", number("machines", machines), nested("last", last))
}

// TakenBack says that a task that was given up has reported again and continues (rule E5).
func TakenBack(agent string, length time.Duration) Reason {
	return build("taken_back", text("agent", agent), duration("duration", length))
}

// EndedAfterGivenUp says that a task has ended after it was given up, so that its end changes no result (rule E5).
func EndedAfterGivenUp() Reason { return Of(endedAfterGivenUp) }

// CannotStay says that the attempts of a daemon's shard repeatedly fail before it runs.
func CannotStay(attempts int, last Reason) Reason {
	return build("does_not_come_up", number("attempts", attempts), nested("last", last))
}

// ShardsFailed says why a run failed: how many of its shards did not finish, how many of these were killed, and why the
// first of those that were not killed did not finish.
func ShardsFailed(unfinished, killed, shards, item int, cause Reason) Reason {
	args := []arg{number("failed", unfinished), number("shards", shards), number("item", item), nested("cause", cause)}
	if killed > 0 {
		args = append(args, number("killed", killed))
	}
	return build("shards_failed", args...)
}

// ShardsKilled says why a run counts as killed: how many of its shards were killed, and why the first of them was.
func ShardsKilled(killed, shards, item int, cause Reason) Reason {
	return build("shards_killed", number("killed", killed), number("shards", shards), number("item", item),
		nested("cause", cause))
}

// OfItem says that a reason applies to one shard.
func OfItem(item int, cause Reason) Reason {
	return build("of_item", number("item", item), nested("cause", cause))
}

// Shortened returns the reason with every text argument passed through shorten. It returns the same reason if that
// changes no argument.
func (r Reason) Shortened(shorten func(string) string) Reason {
	if r.IsZero() {
		return r
	}
	changed := false
	args := make([]arg, len(r.args))
	for i, a := range r.args {
		args[i] = arg{a.name, shorten(a.text), a.inner.Shortened(shorten)}
		changed = changed || args[i].text != a.text || args[i].inner.content != a.inner.content
	}
	if !changed {
		return r
	}
	return Reason{&content{code: r.code, args: args}}
}
