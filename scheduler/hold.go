package scheduler

import (
	"fmt"
	"sync"
	"time"
)

// hold is the reason why the terms of this server launch nothing (step.Options.Held). It ends when the server has not
// led for Options.HoldFor: meanwhile another leader could launch, and a server that has been a standby for hours must
// launch when it becomes the leader.
type hold struct {
	limit time.Duration

	mu  sync.Mutex
	why string // "" once the hold has ended
	// heldText is the text of the present term, with the jobs that are probably the cause; "" if it launches.
	heldText        string
	notLeadingSince time.Time // since when this server does not lead, zero while it does
}

func newHold(why string, limit time.Duration) *hold {
	return &hold{limit: limit, why: why, notLeadingSince: time.Now()}
}

// dropIfExpired ends the hold if its time has passed. h.mu must be held.
func (h *hold) dropIfExpired() {
	if !h.notLeadingSince.IsZero() && time.Since(h.notLeadingSince) >= h.limit {
		h.why = ""
	}
}

// termBegins returns the reason why the beginning term launches nothing, "" if it launches.
func (h *hold) termBegins() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropIfExpired()
	h.notLeadingSince = time.Time{}
	return h.why
}

// setHeldText stores the text of a term that launches nothing; "" for any other.
func (h *hold) setHeldText(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heldText = text
}

// termEnded is called when a term has ended, or could not begin.
func (h *hold) termEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heldText = ""
	if h.notLeadingSince.IsZero() {
		h.notLeadingSince = time.Now()
	}
}

// text returns why this server launches nothing, or would launch nothing if it led now, and what to do; "" if it
// launches.
func (h *hold) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropIfExpired()
	if h.heldText != "" || h.why == "" {
		return h.heldText
	}
	return fmt.Sprintf("if this server becomes the leader, it launches nothing: %s; that ends when it has not led for %s, "+
		"or is restarted", h.why, h.limit)
}
