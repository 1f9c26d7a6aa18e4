package search

import "time"

// Activity is the stored data of one minute.
type Activity struct {
	Time time.Time // the begin of the minute
	// Results reports that the ends in the minute are known, Sampled that the running tasks at its end are, and Loaded
	// that its launches and the waiting shards at its end are.
	Results, Sampled, Loaded bool

	Finished, Failed  int64 // runs of shards
	Running           int64 // tasks
	Launched, Waiting int64 // tasks, and shards
	// Fires counts the cron fires whose executions were launched. DelayP50 and DelayP95 are quantiles of their delays
	// in milliseconds.
	Fires              int64
	DelayP50, DelayP95 float64
}
