package tasks

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ignoredMessages describes the messages on a process's pipe that the executor ignored or missed. They may explain why
// a run ended without an answer, although its program tried to answer. Any goroutine may use it.
type ignoredMessages struct {
	mu    sync.Mutex
	first string
	count int
}

// add records the description of one more message, and reports whether it is the first.
func (i *ignoredMessages) add(description string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count++; i.count > 1 {
		return false
	}
	i.first = description
	return true
}

// text returns what to append to the reason of a failure; empty if nothing was ignored or missed.
func (i *ignoredMessages) text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.count {
	case 0:
		return ""
	case 1:
		return "; " + i.first
	}
	return fmt.Sprintf("; %s, and %d more", i.first, i.count-1)
}

// ignore records a message of the process that the executor ignores.
func (t *task) ignore(p *process, description string) {
	p.hello.heard.Store(true)
	t.remark(p, "message of the process ignored", "ignored on its pipe: "+t.secrets.redact(description))
}

// remark records what is wrong with the messages of a process. The first remark on a process is logged, and shown as
// the progress of the task while it runs.
func (t *task) remark(p *process, event, problem string) {
	if p.ignored.add(problem) {
		t.log.Warn(event, "message", problem)
		t.host.reports.message(t.id, problem)
	}
}

// noHello is the remark on a process that reads its pipe but writes nothing to it.
const noHello = "it reads its pipe (ELASTICJOB_PIPE) and has sent no hello: " +
	"write the whole line, with its line feed, and flush it"

// helloWatch notices that a process waits for its first run but has sent no hello, mostly because its hello is still
// in a buffer. Unlike a process that does not use its pipe, such a process reads its pipe. So after helloInterval the
// watch writes a space to the pipe, and then checks whether the process has taken the space.
type helloWatch struct {
	heard atomic.Bool // the process has written to its pipe

	mu      sync.Mutex // guards the fields below, and is held during each check
	timer   *time.Timer
	stopped bool
	probed  bool // the watch has written the space
	taken   bool // the last check found that the process has taken the space
}

// helloInterval is the interval between the first checks of a helloWatch. It grows, up to a minute.
const helloInterval = 2 * time.Second

// helloPipe is the part of a process's pipe that a helloWatch uses.
type helloPipe interface {
	Probe() error
	Taken() bool
}

// begin begins to watch a process. It calls missing once when it has found that the hello is missing. It does not call
// missing after stop has returned, because a remark on a task that has ended would stay in the reports.
func (w *helloWatch) begin(p helloPipe, missing func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	interval := helloInterval
	w.timer = time.AfterFunc(interval, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.stopped {
			return
		}
		silent := false
		if interval, silent = w.check(p, interval); silent {
			missing()
		} else if interval > 0 {
			w.timer.Reset(interval)
		}
	})
}

// check returns the interval until the next check, or that the hello is missing. It returns neither if there is nothing
// more to check. The caller holds mu.
func (w *helloWatch) check(p helloPipe, interval time.Duration) (next time.Duration, missing bool) {
	switch {
	case w.heard.Load():
		return 0, false
	case !w.probed:
		if p.Probe() != nil {
			return 0, false // the process has closed its pipe
		}
		w.probed = true
		return helloInterval, false
	case !p.Taken():
		return min(2*interval, time.Minute), false
	case !w.taken: // a hello may be on its way
		w.taken = true
		return helloInterval / 2, false
	}
	return 0, true
}

// stop ends the watch.
func (w *helloWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped = true; w.timer != nil {
		w.timer.Stop()
	}
}
