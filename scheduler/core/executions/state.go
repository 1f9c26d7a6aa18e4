package executions

// Source is the reason why an execution, or a repeated attempt, was made.
type Source string

// Sources of executions and attempts, with the original's names.
const (
	// NormalTrigger is a fire of the job's cron.
	NormalTrigger Source = "NORMAL_TRIGGER"
	// Triggered is a trigger by a person or a program.
	Triggered Source = "TRIGGER"
	// Misfired is a fire that was missed, or found its job busy, and is made late.
	Misfired Source = "MISFIRE"
	// FailoverSource is an attempt that follows a lost one.
	FailoverSource Source = "FAILOVER"
	// DaemonSource is the standing execution of a daemon job, which is made without a fire.
	DaemonSource Source = "DAEMON"
)

// State is the state of an execution or of a shard.
type State string

// States. An execution is WAITING, RUNNING, FINISHED, FAILED or KILLED.
const (
	// Waiting is a shard that waits for an attempt, or an execution that was not launched.
	Waiting State = "WAITING"
	// Launching is a shard whose task was launched and not yet reported running.
	Launching State = "LAUNCHING"
	// Running is a shard whose task was reported running, or a launched execution that has not ended.
	Running State = "RUNNING"
	// Finished is a shard whose program ended well, or an execution of such shards.
	Finished State = "FINISHED"
	// Failed is a shard whose program failed, or an execution with a shard that did not finish and was not killed.
	Failed State = "FAILED"
	// Killed is a shard or an execution that was ended on request.
	Killed State = "KILLED"
	// Lost is a shard whose task was lost and is not run again.
	Lost State = "LOST"
	// TimedOut is a shard whose task exceeded its timeout.
	TimedOut State = "TIMED_OUT"
)
