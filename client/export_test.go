package client

import "time"

// SetTimeouts sets a client's timeouts for tests.
func (c *Client) SetTimeouts(retry, absence time.Duration) {
	c.retryTimeout, c.absenceTimeout = retry, absence
}
