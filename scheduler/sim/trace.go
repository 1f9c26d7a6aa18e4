package sim

import (
	"fmt"
	"io"
	"time"
)

// tracer keeps the last lines of what happened, writes all, or does nothing.
type tracer struct {
	out  io.Writer
	ring []string
	next int
	now  func() time.Duration
}

func newTracer(out io.Writer, kept int) *tracer {
	return &tracer{out: out, ring: make([]string, kept)}
}

// on reports whether lines are wanted: what is dear to write asks first.
func (t *tracer) on() bool { return t.out != nil || len(t.ring) > 0 }

func (t *tracer) add(format string, args ...any) {
	if !t.on() {
		return
	}
	line := fmt.Sprintf("%14s  ", t.now()) + fmt.Sprintf(format, args...)
	if t.out != nil {
		_, _ = fmt.Fprintln(t.out, line)
		return
	}
	t.ring[t.next%len(t.ring)] = line
	t.next++
}

// lines are what is kept, the oldest first.
func (t *tracer) lines() []string {
	if t.next <= len(t.ring) {
		return t.ring[:t.next]
	}
	i := t.next % len(t.ring)
	return append(append([]string{}, t.ring[i:]...), t.ring[:i]...)
}
