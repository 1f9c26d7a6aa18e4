package search

import "time"

// Activity is what is known of one minute.
type Activity struct {
	Time time.Time // its begin
	// Results say that it is known what ended in it, Sampled what ran at its end, Loaded what was launched in it and
	// waited at its end.
	Results, Sampled, Loaded bool

	Finished, Failed  int64 // runs of shards
	Running           int64 // tasks
	Launched, Waiting int64 // tasks, and shards
	// Fires are those of crons whose executions were launched, DelayP50 and DelayP95 quantiles, in milliseconds, of
	// how long after its moment each was.
	Fires              int64
	DelayP50, DelayP95 float64
}
