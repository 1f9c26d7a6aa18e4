package settings

import "time"

// Jobs are how all jobs run, and the executors that run them.
type Jobs struct {
	// RunAs is the user that their processes run as, empty for the executors' own.
	RunAs string
	// TimeZone is that of crons whose job names none.
	TimeZone string
	// KillGrace is the time between SIGTERM and SIGKILL.
	KillGrace time.Duration
	// Spread places shards on the emptiest agents instead of filling the fullest.
	Spread bool
	// ExecutorIdle is how long an executor is kept with nothing to do.
	ExecutorIdle time.Duration
	// ExecutorLimits are bounds of executors, as name=value.
	ExecutorLimits []string
	// ExecutorDir is the folder of the executor binaries, empty for that of this program.
	ExecutorDir string
}
