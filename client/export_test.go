package client

import "time"

// SetPatience has a client wait for other times than people do.
func (c *Client) SetPatience(patience, absence time.Duration) {
	c.patience, c.absence = patience, absence
}
