// Package buffer keeps what tests have written, such as logs and the output of processes.
package buffer

import (
	"bytes"
	"sync"
)

// Locked takes what is written, and gives it at any time, to any goroutine. Its zero value is empty.
type Locked struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write never fails.
func (l *Locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// String is all that was written so far.
func (l *Locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
