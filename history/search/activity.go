package search

import "time"

// Activity is the stored data of one minute.
type Activity struct {
	Time time.Time // the start of the minute
	// Results reports whether Finished and Failed are stored, Sampled whether Running is, and Loaded whether Launched,
	// Waiting, Fires and the delays are.
	Results, Sampled, Loaded bool

	Finished, Failed int64 // runs of shards that ended in the minute
	Running          int64 // tasks at the end of the minute
	Launched         int64 // tasks launched in the minute
	Waiting          int64 // shards that wait at the end of the minute
	// Fires counts the cron fires whose executions were launched. DelayP50 and DelayP95 are quantiles of their delays
	// in milliseconds.
	Fires              int64
	DelayP50, DelayP95 float64
}
