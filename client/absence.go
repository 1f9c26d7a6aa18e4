package client

import (
	"sync/atomic"
	"time"
)

// presence is whether a client's server answers, as far as all its requests know.
type presence struct {
	// answered is set by the first answer: before, the server's address may be wrong, and nothing is waited for.
	answered atomic.Bool
	// away is set while something waits for the server.
	away atomic.Bool
	// waiting is called when that begins, unless it is nil.
	waiting func(error)
}

// waits reports whether a server is to be waited for that gave an error, and was heard last at a time. The first one
// to wait says so.
func (c *Client) waits(err error, heard time.Time) bool {
	p := &c.presence
	if !isAbsent(err) || !p.answered.Load() || time.Since(heard) > c.absence {
		return false
	}
	if !p.away.Swap(true) && p.waiting != nil {
		p.waiting(err)
	}
	return true
}

// isAbsent reports errors of a server that may be back soon.
func isAbsent(err error) bool { return isSilence(err) || isPassing(err) }
