package executor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// update is one report of a task. Its uuid is how the agent acknowledges it.
type update struct {
	task    string
	uuid    [16]byte
	state   state
	message string
	data    []byte
	at      time.Time

	number uint64
	sent   bool
	// delivered is closed when the agent has the update, for one who waits for that; else nil.
	delivered chan struct{}
}

// remembered is how many ended tasks' ids are kept, so that a LAUNCH of one is ignored.
const remembered = 10_000

// ledger holds the executor's tasks and every update of them that was not acknowledged (rule X5). SUBSCRIBE names all of
// these to an agent that has restarted: an update that it leaves out would be lost.
//
// Under mu, three things hold:
//   - Updates of one task leave in the order in which they were reported, one at a time: busy is set while one is on its
//     way. Otherwise RUNNING could reach the agent after FINISHED.
//   - A task's id is in ready at most once (queued), and only while the task has an unsent update, none of its updates is on
//     its way, and no retry timer runs.
//   - Only an acknowledgement removes an update. A sent one has reached the agent, but perhaps not the scheduler, so it is
//     kept for the next SUBSCRIBE.
//
// While the agent is away (online is false), updates are queued; connect lets them leave.
type ledger struct {
	mu      sync.Mutex
	work    *sync.Cond // there may be something to take
	changed *sync.Cond // for flush
	tasks   map[string]*record
	ended   map[string]bool
	order   []string // of ended
	ready   []string // tasks with an update to send
	online  bool
	closed  bool
	number  uint64
	heard   bool // the scheduler has acknowledged an update
}

type record struct {
	assignment *assignment // until an update of it is acknowledged
	updates    []update
	busy       bool
	queued     bool

	// These are about the next update, while the agent refuses it.
	refusals int
	answer   string      // the agent's last refusal
	retry    *time.Timer // nil, or runs until the update is queued again
}

// How long an update that the agent refused waits: twice as long each time.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

func newLedger() *ledger {
	l := &ledger{tasks: map[string]*record{}, ended: map[string]bool{}}
	l.work, l.changed = sync.NewCond(&l.mu), sync.NewCond(&l.mu)
	return l
}

// add reports whether the task is new.
func (l *ledger) add(a assignment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks[a.id] != nil || l.ended[a.id] {
		return false
	}
	l.tasks[a.id] = &record{assignment: &a}
	return true
}

// report keeps an update until it is acknowledged.
func (l *ledger) report(u update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[u.task]
	if r == nil {
		return
	}
	l.number++
	u.number = l.number
	r.updates = append(r.updates, u)
	l.queue(u.task, r)
}

func (l *ledger) queue(id string, r *record) {
	if r.busy || r.queued || r.retry != nil || !slices.ContainsFunc(r.updates, unsent) {
		return
	}
	r.queued = true
	l.ready = append(l.ready, id)
	l.work.Signal()
}

func unsent(u update) bool { return !u.sent }

// take waits for an update to send and hands it to the caller, who must give its outcome to sendDone.
// It is false when the ledger was closed.
func (l *ledger) take() (update, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed {
		if !l.online || len(l.ready) == 0 {
			l.work.Wait()
			continue
		}
		r := l.tasks[l.ready[0]]
		l.ready = l.ready[1:]
		if r == nil {
			continue
		}
		r.queued = false
		if i := slices.IndexFunc(r.updates, unsent); i >= 0 {
			r.busy = true
			return r.updates[i], true
		}
	}
	return update{}, false
}

// sendDone takes the outcome of sending an update; nil means that the agent has it. Any other update is queued
// again later. The result is true if the error differs from that of the last try, so that each is logged once.
func (l *ledger) sendDone(u update, err error) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[u.task]
	if r == nil {
		return err != nil
	}
	r.busy = false
	if err == nil {
		r.mark(u.uuid)
		r.forgive()
	} else {
		news = r.answer != err.Error()
		r.answer = err.Error()
		l.retryLater(u.task, r)
	}
	l.queue(u.task, r)
	return news
}

func (l *ledger) retryLater(id string, r *record) {
	if l.closed {
		return
	}
	wait := min(firstRetry<<min(r.refusals, 16), lastRetry)
	r.refusals++
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if r.retry == timer {
			r.retry = nil
			l.queue(id, r)
		}
	})
	r.retry = timer
}

// forgive forgets that the agent refused an update.
func (r *record) forgive() {
	if r.retry != nil {
		r.retry.Stop()
	}
	r.retry, r.refusals, r.answer = nil, 0, ""
}

// retryNow queues the updates that wait for a retry timer. It is called with mu held.
func (l *ledger) retryNow() {
	for id, r := range l.tasks {
		r.forgive()
		l.queue(id, r)
	}
}

func (r *record) mark(uuid [16]byte) {
	for i := range r.updates {
		if u := &r.updates[i]; u.uuid == uuid {
			u.sent = true
			if u.delivered != nil {
				close(u.delivered)
				u.delivered = nil
			}
		}
	}
}

// unacknowledged gives what a SUBSCRIBE must name, updates in the order they were made.
func (l *ledger) unacknowledged() ([]assignment, []update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var tasks []assignment
	var updates []update
	for _, r := range l.tasks {
		if r.assignment != nil {
			tasks = append(tasks, *r.assignment)
		}
		updates = append(updates, r.updates...)
	}
	slices.SortFunc(updates, func(a, b update) int { return cmp.Compare(a.number, b.number) })
	slices.SortFunc(tasks, func(a, b assignment) int { return cmp.Compare(a.id, b.id) })
	return tasks, updates
}

// connect lets updates leave. The agent has those that SUBSCRIBE named, so they are not sent again.
func (l *ledger) connect(named []update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range named {
		if r := l.tasks[u.task]; r != nil {
			r.mark(u.uuid)
		}
	}
	l.retryNow()
	l.online = true
	l.work.Broadcast()
}

func (l *ledger) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.online = false
	l.changed.Broadcast()
}

// acknowledge forgets an update, and its task with the last one.
func (l *ledger) acknowledge(id string, uuid []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[id]
	if r == nil {
		return
	}
	i := slices.IndexFunc(r.updates, func(u update) bool { return string(u.uuid[:]) == string(uuid) })
	if i < 0 {
		return
	}
	u := r.updates[i]
	if u.delivered != nil {
		close(u.delivered) // the agent has it, though its answer to the call was lost
	}
	l.heard = true
	r.assignment = nil
	r.updates = slices.Delete(r.updates, i, i+1)
	r.forgive()
	l.queue(id, r)
	if u.state.terminal() {
		delete(l.tasks, id)
		l.ended[id] = true
		l.order = append(l.order, id)
		if len(l.order) > remembered {
			delete(l.ended, l.order[0])
			l.order = l.order[1:]
		}
	}
	l.changed.Broadcast()
}

// wasHeard reports whether the scheduler has acknowledged an update of this executor, so that it has written down that the
// executor runs.
func (l *ledger) wasHeard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

// backlog is how many updates of a task are not acknowledged.
func (l *ledger) backlog(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.tasks[id]; r != nil {
		return len(r.updates)
	}
	return 0
}

// connected reports whether the agent hears us.
func (l *ledger) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.online
}

// flush sends the remaining updates at once, and waits until all are acknowledged, the agent is away, or ctx ends.
func (l *ledger) flush(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retryNow()
	for ctx.Err() == nil && l.online {
		left := 0
		for _, r := range l.tasks {
			left += len(r.updates)
		}
		if left == 0 {
			return
		}
		l.changed.Wait()
	}
}

// close makes every take return false.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, r := range l.tasks {
		r.forgive()
	}
	l.work.Broadcast()
}
