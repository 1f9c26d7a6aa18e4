package zookeeper

import (
	"cmp"
	"encoding/binary"
	"time"
)

// How long a session surely lives, from when answered requests left.

// left is how long the session surely lives from now on, if nothing more is heard.
func (w *wires) left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard + w.granted - w.now()
}

func (w *wires) now() time.Duration { return time.Since(w.began) }

// arrived takes word that a request did that left then.
func (w *wires) arrived(left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = max(w.heard, left)
}

// answered takes word of an answer to a request that left then: its server is of use.
func (w *wires) answered(left time.Duration) {
	w.arrived(left)
	w.hosts.answered()
	w.failed(nil)
}

// leaves keeps when a packet leaves, before it does.
func (c *wire) leaves(packet []byte) {
	now := c.all.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.greeted {
		c.hello = cmp.Or(c.hello, now)
		return
	}
	if len(packet) < 12 {
		return
	}
	switch number := int32(binary.BigEndian.Uint32(packet[4:])); number {
	case firstOwn: // several have it
	case heartbeat:
		c.beats = append(c.beats, now)
	default:
		c.left[number] = now
	}
}

// answered takes word that an answer has come, or its begin.
func (c *wire) answered(number int32) {
	c.mu.Lock()
	left, ok := c.left[number]
	delete(c.left, number)
	if number == heartbeat && len(c.beats) > 0 {
		left, ok = c.beats[0], true
		c.beats = c.beats[1:]
	}
	c.useful = c.useful || ok
	c.mu.Unlock()
	if ok {
		c.all.answered(left)
	}
}
