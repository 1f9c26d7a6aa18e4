package tasks

import (
	"fmt"
	"sync"
)

// ignored describes the messages on a process's pipe that the executor ignored. It explains why a run did not end with
// an answer that its program may have tried to give. Any goroutine may use it.
type ignored struct {
	mu    sync.Mutex
	first string
	count int
}

// add records one more message, and reports whether it is the first.
func (i *ignored) add(what string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count++; i.count > 1 {
		return false
	}
	i.first = what
	return true
}

// text returns what to append to the reason of a failure; empty if nothing was ignored.
func (i *ignored) text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.count {
	case 0:
		return ""
	case 1:
		return "; ignored on its pipe: " + i.first
	}
	return fmt.Sprintf("; ignored on its pipe: %s, and %d more", i.first, i.count-1)
}

// ignore records a message that the executor ignores. The first one is logged, and shown as the progress of the
// task while it runs.
func (t *task) ignore(p *process, what string) {
	what = t.secrets.redact(what)
	if p.ignored.add(what) {
		t.log.Warn("message of the process ignored", "message", what)
		t.host.reports.message(t.id, "ignored on its pipe: "+what)
	}
}
