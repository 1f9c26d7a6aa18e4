package scheduler

import (
	"fmt"
	"sync"
	"time"
)

// hold is why the terms of this server launch nothing (core.Options.Held). It is dropped when the server has not led
// for as long as Options.HoldFor says: whoever leads meanwhile launches what there is to launch, and a server that
// stands by for hours is to launch when its turn comes.
type hold struct {
	limit time.Duration

	mu   sync.Mutex
	why  string    // "" once it was dropped
	term string    // what the present term says of it, with the jobs that may be the cause
	idle time.Time // since when this server does not lead, zero while it does
}

func newHold(why string, limit time.Duration) *hold {
	return &hold{limit: limit, why: why, idle: time.Now()}
}

// drop ends the hold if its time is over. h.mu is held.
func (h *hold) drop() {
	if !h.idle.IsZero() && time.Since(h.idle) >= h.limit {
		h.why = ""
	}
}

// termBegins returns why the term that begins is to launch nothing, "" if it launches.
func (h *hold) termBegins() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
	h.idle = time.Time{}
	return h.why
}

// termHolds takes what a term says that launches nothing, or "".
func (h *hold) termHolds(said string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.term = said
}

// termEnded is for a term that has ended, or has not come about.
func (h *hold) termEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.term = ""
	if h.idle.IsZero() {
		h.idle = time.Now()
	}
}

// text says why this server launches nothing, or would launch nothing if it led now, and what to do; or "".
func (h *hold) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
	if h.term != "" || h.why == "" {
		return h.term
	}
	return fmt.Sprintf("if this server comes to lead, it launches nothing: %s; that ends when it has not led for %s, "+
		"or is restarted", h.why, h.limit)
}
