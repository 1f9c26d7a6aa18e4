package main

import (
	"bytes"
	"io"
	"sync"
)

// lockedWriter serializes the writes of several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// maxLine is the number of bytes after which an unfinished line is written in parts, so that a line without an end
// does not fill the memory.
const maxLine = 64 << 10

// lineWriter writes whole lines, each with a prefix, so that the lines of several writers are not mixed. If w is a
// terminal, it replaces control characters.
type lineWriter struct {
	w        io.Writer
	prefix   []byte
	terminal bool
	rest     []byte // the beginning of a line whose end is missing
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
		if end < 0 && len(l.rest) < maxLine {
			break
		}
		if end < 0 {
			end = maxLine - 1
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

// end writes the last line if its line end is missing.
func (l *lineWriter) end() error {
	if len(l.rest) == 0 {
		return nil
	}
	_, err := l.Write([]byte{'\n'})
	return err
}

// lastLines returns the last lines of a text, at most limit. The last line may lack its line end.
func lastLines(text []byte, limit int) []byte {
	end := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for range limit {
		newline := bytes.LastIndexByte(text[:end], '\n')
		if newline < 0 {
			return text
		}
		end = newline
	}
	return text[end+1:]
}
