package tasks

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ignored describes the messages on a process's pipe that the executor ignored, or missed. It explains why a run did
// not end with an answer that its program may have tried to give. Any goroutine may use it.
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

// text returns what to append to the reason of a failure; empty if nothing was ignored or missed.
func (i *ignored) text() string {
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

// ignore records a message that the executor ignores.
func (t *task) ignore(p *process, what string) {
	p.hello.heard.Store(true)
	t.remark(p, "message of the process ignored", "ignored on its pipe: "+t.secrets.redact(what))
}

// remark records what is wrong with the messages of a process. The first remark is logged, and shown as the progress of
// the task while it runs.
func (t *task) remark(p *process, event, what string) {
	if p.ignored.add(what) {
		t.log.Warn(event, "message", what)
		t.host.reports.message(t.id, what)
	}
}

// noHello is the remark on a process that reads its pipe and is silent.
const noHello = "it reads its pipe (ELASTICJOB_PIPE) and has sent no hello: " +
	"write the whole line, with its line feed, and flush it"

// helloWatch notices that a process waits for its first run and has sent no hello, mostly because its hello is still in
// a buffer. Such a process looks like one that does not use its pipe and is one run, except that it reads its pipe: so
// after helloInterval the watch writes a space to it, and waits until the process has taken that.
type helloWatch struct {
	heard atomic.Bool // the process has written to its pipe

	mu      sync.Mutex // guards what follows, and is held during each check
	timer   *time.Timer
	stopped bool
	probed  bool // the space was written
	taken   bool // at the last check the process had taken it
}

// helloInterval is the interval of the first checks of a helloWatch. It grows, up to a minute.
const helloInterval = 2 * time.Second

// helloPipe is the part of a process's pipe that a helloWatch uses.
type helloPipe interface {
	Probe() error
	Taken() bool
}

// begin begins to watch a process. missing is called, at most once and not after stop has returned, if the process waits
// without a hello: a remark on a task that has ended would stay in the reports.
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

// check returns the interval until the next check, or whether a hello is missing; neither if the watch ends. The caller
// holds mu.
func (w *helloWatch) check(p helloPipe, interval time.Duration) (again time.Duration, missing bool) {
	switch {
	case w.heard.Load():
		return 0, false
	case !w.probed:
		if p.Probe() != nil {
			return 0, false // it has closed its pipe
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
