package client

import "time"

// SetPatience sets a client's timeouts for tests.
func (c *Client) SetPatience(patience, absence time.Duration) {
	c.retryTimeout, c.absenceTimeout = patience, absence
}
