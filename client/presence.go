package client

import (
	"sync/atomic"
	"time"
)

// presence records for all requests of the client whether the server answers.
type presence struct {
	// answered is set by the first answer. Before that, the server's address may be wrong, so no caller waits for the
	// server.
	answered atomic.Bool
	// away is set from the time at which a caller begins to wait for the server until the server answers.
	away atomic.Bool
	// waiting is called when away becomes set; it may be nil.
	waiting func(error)
}

// shouldWait reports whether the caller should wait for a server that caused err and last answered at lastAnswer. For
// the first caller that waits, it calls presence.waiting.
func (c *Client) shouldWait(err error, lastAnswer time.Time) bool {
	p := &c.presence
	if !isAbsent(err) || !p.answered.Load() || time.Since(lastAnswer) > c.absenceTimeout {
		return false
	}
	if !p.away.Swap(true) && p.waiting != nil {
		p.waiting(err)
	}
	return true
}

// isAbsent reports whether err is that of a server that may answer again soon.
func isAbsent(err error) bool { return isUnreachable(err) || isTemporary(err) }
