// Package buffer collects output in tests, such as logs and the output of processes.
package buffer

import (
	"bytes"
	"sync"
)

// Locked is a buffer for concurrent use. The zero value is empty.
type Locked struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write appends p. It never fails.
func (l *Locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// String returns everything written so far.
func (l *Locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
