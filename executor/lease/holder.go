// Package lease holds the leases of an executor's exclusive tasks (rule K5). An exclusive task may run only while it
// has a lease. A Holder asks the scheduler's servers for leases, by HTTP or, if no server answers, by a message through
// the cluster, and ends each task whose lease is over.
//
// A lease lasts from the moment at which the Holder asked, by CLOCK_BOOTTIME, which goes on while the machine is
// suspended. So neither a slow answer nor a change of the wall clock makes it longer. The supervisor process knows the
// same deadlines, and ends the tasks if the executor can't.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// Now returns the present time of CLOCK_BOOTTIME.
func Now() time.Duration {
	var t unix.Timespec
	// It can't fail: Linux has had this clock since 2.6.39.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}

// Task is an exclusive task that needs a lease.
type Task struct {
	ID    string
	Grant lease.Grant
	// Renewed is called with the end of each new lease, as a time of Now; before the first one the task must not begin.
	Renewed func(until time.Duration)
	// End is called once if the task must end, with the reason. late is for how long the lease has been over: the
	// task's grace must be shorter by that time. It is 0 if the lease ended early. After a jump of the wall clock the
	// machine may have been paused for the time of the jump, so late includes that time.
	End func(why string, late time.Duration)
}

// Options are what a Holder uses.
type Options struct {
	// Now is the clock of leases, Wall the wall clock. Nil means Now and time.Now.
	Now  func() time.Duration
	Wall func() time.Time
	// Lookup returns the addresses of a host. Nil means the resolver of this machine.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Send sends data to the scheduler by way of the cluster, and may lose it; nil if there is no such way. The answer
	// is passed to Receive.
	Send func(ctx context.Context, data []byte) error
	Log  *slog.Logger
}

// Holder holds leases. Any goroutine may call its methods.
type Holder struct {
	opt    Options
	client *http.Client
	start  uint64 // lease.Request.Start

	mu     sync.Mutex
	tasks  map[string]*held
	number uint64   // of the last request
	term   int64    // the highest term of an answer
	urls   []string // of the servers, from the tasks' grants
	// lastWarning is the time of the last warning that no server answers; zero after an answer. Only ask uses it.
	lastWarning time.Duration
	// holder and key are Grant.Holder and Grant.Key, which are the same for all tasks.
	holder, key string
	lastServer  string // the server that answered last; empty if none has
	failure     error  // what Failed returns
	// sent has, by number, the times of the requests that were sent by way of the cluster and may still be answered.
	sent    map[uint64]time.Duration
	changed chan struct{} // has a value when a task was added
}

// held is a task with its lease.
type held struct {
	Task
	until time.Duration // zero before the first lease
	ended bool          // End was called
}

// New returns a Holder without tasks.
func New(o Options) *Holder {
	if o.Now == nil {
		o.Now = Now
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupHost
	}
	return &Holder{opt: o, start: rand.Uint64(), tasks: map[string]*held{},
		sent: map[uint64]time.Duration{}, changed: make(chan struct{}, 1),
		// The client uses no proxy, because a proxy of the job's environment does not know the servers. After a failed
		// request the next one uses a new connection, because the error closed the old one.
		client: &http.Client{Transport: &http.Transport{MaxIdleConns: 4, IdleConnTimeout: time.Minute}}}
}

// Hold begins to ask for the leases of a task.
func (h *Holder) Hold(t Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks[t.ID] = &held{Task: t}
	h.holder, h.key = t.Grant.Holder, t.Grant.Key
	for _, url := range t.Grant.URLs {
		if !slices.Contains(h.urls, url) {
			h.urls = append(h.urls, url)
		}
	}
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Release gives up the lease of a task. No process of the task may be left.
func (h *Holder) Release(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tasks, id)
}

// Serve asks for leases and watches their ends until ctx ends.
func (h *Holder) Serve(ctx context.Context) {
	var loops sync.WaitGroup
	// watch has a goroutine of its own, so that no slow request delays the end of a task.
	loops.Go(func() { h.watch(ctx) })
	loops.Go(func() { h.renew(ctx) })
	loops.Wait()
	h.client.CloseIdleConnections()
}

// maxJump is how far the wall clock may get ahead of the clock of leases between two checks.
const maxJump = 2 * time.Second

// watch ends each task whose lease is over. It checks the leases at least every lease.CheckInterval.
func (h *Holder) watch(ctx context.Context) {
	tick := time.NewTicker(lease.CheckInterval / 2)
	defer tick.Stop()
	now, wall := h.clocks()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		before, wallBefore := now, wall
		now, wall = h.clocks()
		jump := wall.Sub(wallBefore) - (now - before)
		for _, end := range h.expire(now, jump) {
			end()
		}
	}
}

// expire marks the tasks whose lease is over as ended, and returns functions that call their End. jump is how far the
// wall clock has got ahead of the clock of leases since the last check. After a jump of maxJump all leases count as
// over.
func (h *Holder) expire(now, jump time.Duration) (ends []func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tasks {
		why, late := "", now-t.until
		switch {
		case t.until == 0 || t.ended:
			continue
		case jump >= maxJump:
			// In a paused virtual machine the clock of leases stands still. When the machine goes on, only its wall
			// clock is corrected, so the jump shows the pause.
			why = fmt.Sprintf("the clock has jumped %s ahead, so the machine may have been paused for longer than its lease",
				jump.Round(time.Second))
			late += jump
		case now >= t.until:
			why = fmt.Sprintf("its lease is over: no scheduler has answered for %d s", t.Grant.Seconds)
		default:
			continue
		}
		t.ended = true
		ends = append(ends, func() { t.End(why, max(late, 0)) })
	}
	return ends
}

// clocks reads both clocks. It reads them again if this process stood still in between.
func (h *Holder) clocks() (now time.Duration, wall time.Time) {
	for {
		before := h.opt.Now()
		wall = h.opt.Wall().Round(0)
		if now = h.opt.Now(); now-before < maxJump/4 {
			return now, wall
		}
	}
}

// Failed returns why no server has answered the last request over HTTP; nil if a server has answered, or none was
// asked.
func (h *Holder) Failed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure
}

// apply applies an answer and calls Renewed or End of the tasks that it concerns. from is the server that answered, ""
// for an answer by way of the cluster. asked is the time of the request. An answer whose Term is lower than that of an
// earlier answer is ignored.
func (h *Holder) apply(from string, asked time.Duration, a lease.Answer) {
	for _, call := range h.record(from, asked, a) {
		call()
	}
}

// record records an answer, and returns the calls of Renewed and End that follow from it.
func (h *Holder) record(from string, asked time.Duration, a lease.Answer) (calls []func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.Term < h.term {
		return nil
	}
	h.term = a.Term
	if from != "" { // it did not come by way of the cluster
		h.lastServer, h.failure = from, nil
	}
	for _, id := range a.Granted {
		t := h.tasks[id]
		if t == nil || t.ended {
			continue
		}
		until := asked + time.Duration(t.Grant.Seconds)*time.Second
		if until > h.opt.Now() && until > t.until {
			t.until = until
			calls = append(calls, func() { t.Renewed(until) })
		}
	}
	for _, id := range a.Ended {
		if t := h.tasks[id]; t != nil && !t.ended {
			t.ended = true
			calls = append(calls, func() { t.End("the scheduler has ended it", 0) })
		}
	}
	return calls
}
