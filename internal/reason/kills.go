package reason

// Codes of kills say why the end of a run, or of a task of it, was requested (rule K1). Decisions compare them.
const (
	KilledOnRequest  Code = "killed_on_request"
	ServerStopped    Code = "server_stopped"
	SettingsChanged  Code = "settings_changed"
	Paused           Code = "job_paused"
	Deregistered     Code = "job_deregistered"
	Disabled         Code = "job_disabled"
	ShutDown         Code = "job_shut_down"
	AppDisabled      Code = "app_disabled"
	AppMissing       Code = "app_missing"
	NoDaemonAnyMore  Code = "no_daemon_any_more"
	BecameDaemon     Code = "became_daemon"
	ShardsChanged    Code = "sharding_total_count_changed"
	DestinationMoved Code = "destination_moved"
	OverridesUnfit   Code = "overrides_do_not_fit"
	QueueFull        Code = "queue_full"
	Drained          Code = "machine_drained"
	TooManyOpen      Code = "too_many_open_executions"
)

// Of returns the reason with a code that has no arguments, or whose arguments are optional.
func Of(code Code) Reason { return build(code) }

// MachineDrained is Drained with the name of the machine that a task has to leave.
func MachineDrained(machine string) Reason { return build(Drained, text("machine", machine)) }

// JobPaused is Paused with the name of the job, by which a user can resume it.
func JobPaused(job string) Reason { return build(Paused, text("job", job)) }

// AppIsDisabled is AppDisabled with the app's name.
func AppIsDisabled(app string) Reason { return build(AppDisabled, text("app", app)) }

// ShardingTotalCountChanged says that all shards of a daemon end because their number changes, before the new shards
// begin.
func ShardingTotalCountChanged(from, to int) Reason {
	return build(ShardsChanged, number("from", from), number("to", to))
}

// OverridesDoNotFit says that the parameters of a trigger are not valid for the job as it is now.
func OverridesDoNotFit(problems string) Reason {
	return build(OverridesUnfit, text("problems", problems))
}

// DroppedFromQueue says that a fire was dropped for a later one of its job.
func DroppedFromQueue(limit int) Reason { return build(QueueFull, number("limit", limit)) }

// DroppedOfTooMany says that a fire was dropped for a later one, because all jobs together have too many runs.
func DroppedOfTooMany(limit int) Reason { return build(TooManyOpen, number("limit", limit)) }
