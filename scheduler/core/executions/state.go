package executions

// Source says what asked for an execution, or for a repeated attempt.
type Source string

// Sources of executions and attempts, with the original's names.
const (
	NormalTrigger  Source = "NORMAL_TRIGGER"
	Triggered      Source = "TRIGGER"
	Misfired       Source = "MISFIRE"
	FailoverSource Source = "FAILOVER"
	// DaemonSource is that of a daemon job's standing execution, which no fire has made.
	DaemonSource Source = "DAEMON"
)

// State of an execution or of a shard.
type State string

// States. An execution is WAITING, RUNNING, FINISHED, FAILED or KILLED.
const (
	Waiting   State = "WAITING"
	Launching State = "LAUNCHING"
	Running   State = "RUNNING"
	Finished  State = "FINISHED"
	Failed    State = "FAILED"
	Killed    State = "KILLED"
	Lost      State = "LOST"
	TimedOut  State = "TIMED_OUT"
)
