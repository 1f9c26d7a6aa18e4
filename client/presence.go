package client

import (
	"sync/atomic"
	"time"
)

// presence records whether the client's server answers, as seen by all requests of the client.
type presence struct {
	// answered is set by the first answer. Before that the server's address may be wrong, so no request waits for the
	// server.
	answered atomic.Bool
	// away is set while at least one caller waits for the server.
	away atomic.Bool
	// waiting is called when such a wait begins; it may be nil.
	waiting func(error)
}

// shouldWait reports whether the caller should wait for a server that caused err and last answered at heard. The first
// caller to wait calls presence.waiting.
func (c *Client) shouldWait(err error, heard time.Time) bool {
	p := &c.presence
	if !isAbsent(err) || !p.answered.Load() || time.Since(heard) > c.absenceTimeout {
		return false
	}
	if !p.away.Swap(true) && p.waiting != nil {
		p.waiting(err)
	}
	return true
}

// isAbsent reports whether err is of a server that may soon answer again.
func isAbsent(err error) bool { return isUnreachable(err) || isTemporary(err) }
