package scheduler

import "time"

// LeaderView is the leader, as far as this process knows.
type LeaderView struct {
	// Address is the host:port of the leader's API.
	Address string    `json:"address"`
	Term    int64     `json:"term"`
	Since   time.Time `json:"since"`
	// Self is set when this process is the leader and its term has begun.
	Self bool `json:"self"`
}

// Health is the result of a health check of this process.
type Health struct {
	// Leading is set while a term is under way, Subscribed while the cluster's events come in.
	Leading, Subscribed bool
	// Detail says in one sentence what is missing, and what happens next.
	Detail string
}
