package scheduler

import (
	"fmt"
	"sync"
	"time"
)

// hold is the reason why the terms of this server launch nothing (step.Options.Held). It is dropped when the server
// has not led for Options.HoldFor: another leader launches everything meanwhile, and a server that has been a standby
// for hours must launch when it becomes the leader.
type hold struct {
	limit time.Duration

	mu   sync.Mutex
	why  string    // "" once it is dropped
	term string    // the present term's text, with the jobs that may be the cause
	idle time.Time // since when this server does not lead, zero while it does
}

func newHold(why string, limit time.Duration) *hold {
	return &hold{limit: limit, why: why, idle: time.Now()}
}

// drop ends the hold if its time has passed. h.mu must be held.
func (h *hold) drop() {
	if !h.idle.IsZero() && time.Since(h.idle) >= h.limit {
		h.why = ""
	}
}

// termBegins returns the reason why the beginning term launches nothing, "" if it launches.
func (h *hold) termBegins() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
	h.idle = time.Time{}
	return h.why
}

// termHolds stores the text of a term that launches nothing; "" for any other.
func (h *hold) termHolds(said string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.term = said
}

// termEnded is called when a term has ended, or could not begin.
func (h *hold) termEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.term = ""
	if h.idle.IsZero() {
		h.idle = time.Now()
	}
}

// text returns why this server launches nothing, or would launch nothing if it led now, and what to do; or "".
func (h *hold) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
	if h.term != "" || h.why == "" {
		return h.term
	}
	return fmt.Sprintf("if this server becomes the leader, it launches nothing: %s; that ends when it has not led for %s, "+
		"or is restarted", h.why, h.limit)
}
