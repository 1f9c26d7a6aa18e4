package sim

import (
	"fmt"
	"io"
	"time"
)

// tracer writes all lines of the trace to out. Without out it keeps the last lines, or does nothing if kept is 0.
type tracer struct {
	out   io.Writer
	kept  int      // maximum number of kept lines
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
