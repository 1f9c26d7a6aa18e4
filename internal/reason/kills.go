package reason

// Codes of kills: why a run, or a task of it, was wanted to end (rule K1). Decisions read them.
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
	TooManyOpen      Code = "too_many_open_executions"
)

// Of gives the reason of a code that has no arguments, or whose arguments may be missing.
func Of(code Code) Reason { return build(code) }

// JobPaused is Paused for somebody who may resume the job.
func JobPaused(job string) Reason { return build(Paused, text("job", job)) }

// AppIsDisabled is AppDisabled with the app's name.
func AppIsDisabled(app string) Reason { return build(AppDisabled, text("app", app)) }

// ShardingTotalCountChanged says that a daemon's shards all end before those of another number begin.
func ShardingTotalCountChanged(from, to int) Reason {
	return build(ShardsChanged, number("from", from), number("to", to))
}

// OverridesDoNotFit says that what a trigger asked for is not possible with the job as it is now.
func OverridesDoNotFit(problems string) Reason {
	return build(OverridesUnfit, text("problems", problems))
}

// DroppedFromQueue says that a fire made room for a later one of its job.
func DroppedFromQueue(limit int) Reason { return build(QueueFull, number("limit", limit)) }

// DroppedOfTooMany says that a fire made room for a later one, since the runs of all jobs together are too many.
func DroppedOfTooMany(limit int) Reason { return build(TooManyOpen, number("limit", limit)) }
