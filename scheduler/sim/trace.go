package sim

import (
	"fmt"
	"io"
	"time"
)

// tracer keeps the last lines of what happened, writes all, or does nothing.
type tracer struct {
	out   io.Writer
	kept  int      // how many lines are kept
	lines []string // the oldest first
	now   func() time.Duration
}

func (t *tracer) add(format string, args ...any) {
	if t.out == nil && t.kept == 0 {
		return
	}
	line := fmt.Sprintf("%14s  ", t.now()) + fmt.Sprintf(format, args...)
	if t.out != nil {
		_, _ = fmt.Fprintln(t.out, line)
		return
	}
	t.lines = append(t.lines[max(len(t.lines)-t.kept+1, 0):], line)
}
