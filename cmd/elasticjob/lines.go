package main

import (
	"bytes"
	"io"
	"sync"
)

// lockedWriter has what several goroutines write go out one after the other.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// mostLine is how long a line may become before it is written in parts, so that it needs no end.
const mostLine = 64 << 10

// lineWriter writes whole lines only, each behind a prefix, so that the lines of several are not mixed. A terminal
// gets them printable.
type lineWriter struct {
	w        io.Writer
	prefix   []byte
	terminal bool
	rest     []byte // a line without its end
}

func newLineWriter(w io.Writer, prefix string) *lineWriter {
	_, toTerminal := terminal(w)
	return &lineWriter{w: w, prefix: []byte(prefix), terminal: toTerminal}
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	var out []byte
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 && len(l.rest) < mostLine {
			break
		}
		if end < 0 {
			end = mostLine - 1
		}
		line := l.rest[:end+1]
		if l.terminal {
			line = printable(line)
		}
		out = append(append(out, l.prefix...), line...)
		if out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		l.rest = l.rest[end+1:]
	}
	if len(out) == 0 {
		return len(p), nil
	}
	if _, err := l.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end writes the last line, if it has no end.
func (l *lineWriter) end() error {
	if len(l.rest) == 0 {
		return nil
	}
	_, err := l.Write([]byte{'\n'})
	return err
}

// lastLines is the end of a text that has so many lines; the last one may have no end.
func lastLines(text []byte, most int) []byte {
	at := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for range most {
		before := bytes.LastIndexByte(text[:at], '\n')
		if before < 0 {
			return text
		}
		at = before
	}
	return text[at+1:]
}
