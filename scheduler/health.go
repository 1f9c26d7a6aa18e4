package scheduler

import "time"

// LeaderView is who leads, as far as this process knows.
type LeaderView struct {
	// Address is host:port, where others find the leader's API.
	Address string    `json:"address"`
	Term    int64     `json:"term"`
	Since   time.Time `json:"since"`
	// Self is set when this process is it, and has begun its work.
	Self bool `json:"self"`
}

// Health says whether this process can do its work.
type Health struct {
	// Leading: a term is under way. Subscribed: the cluster's events come in.
	Leading, Subscribed bool
	// Detail says in one sentence what is missing, and what happens next.
	Detail string
}
