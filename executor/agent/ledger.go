package agent

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Update is one report of a task. Its uuid is how the agent acknowledges it.
type Update struct {
	Task    string
	UUID    [16]byte
	State   State
	Message string
	Data    []byte
	At      time.Time

	number uint64
	sent   bool
	// Delivered is closed when the agent has the update, for one who waits for that; else nil.
	Delivered chan struct{}
}

// remembered is how many ended tasks' ids are kept, so that a LAUNCH of one is ignored.
const remembered = 10_000

// Ledger holds the executor's tasks and every update of them that was not acknowledged (rule X5). SUBSCRIBE names all
// of these to an agent that has restarted: an update that it leaves out would be lost.
//
// Under mu, three things hold: - Updates of one task leave in the order in which they were reported, one at a time:
// busy is set while one is on its way. Otherwise RUNNING could reach the agent after FINISHED. - A task's id is in
// ready at most once (queued), and only while the task has an unsent update, none of its updates is on its way, and no
// retry timer runs. - Only an acknowledgement removes an update. A sent one has reached the agent, but perhaps not the
// scheduler, so it is kept for the next SUBSCRIBE.
//
// While the agent is away (online is false), updates are queued; connect lets them leave.
type Ledger struct {
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
	assignment *Assignment // until an update of it is acknowledged
	updates    []Update
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

func NewLedger() *Ledger {
	l := &Ledger{tasks: map[string]*record{}, ended: map[string]bool{}}
	l.work, l.changed = sync.NewCond(&l.mu), sync.NewCond(&l.mu)
	return l
}

// Add reports whether the task is new.
func (l *Ledger) Add(a Assignment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks[a.ID] != nil || l.ended[a.ID] {
		return false
	}
	l.tasks[a.ID] = &record{assignment: &a}
	return true
}

// Report keeps an update until it is acknowledged.
func (l *Ledger) Report(u Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[u.Task]
	if r == nil {
		return
	}
	l.number++
	u.number = l.number
	r.updates = append(r.updates, u)
	l.queue(u.Task, r)
}

func (l *Ledger) queue(id string, r *record) {
	if r.busy || r.queued || r.retry != nil || !slices.ContainsFunc(r.updates, unsent) {
		return
	}
	r.queued = true
	l.ready = append(l.ready, id)
	l.work.Signal()
}

func unsent(u Update) bool { return !u.sent }

// Take waits for an update to send and hands it to the caller, who must give its outcome to SendDone.
// It is false when the Ledger was closed.
func (l *Ledger) Take() (Update, bool) {
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
	return Update{}, false
}

// SendDone takes the outcome of sending an update; nil means that the agent has it. Any other update is queued
// again later. The result is true if the error differs from that of the last try, so that each is logged once.
func (l *Ledger) SendDone(u Update, err error) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[u.Task]
	if r == nil {
		return err != nil
	}
	r.busy = false
	if err == nil {
		r.mark(u.UUID)
		r.forgive()
	} else {
		news = r.answer != err.Error()
		r.answer = err.Error()
		l.retryLater(u.Task, r)
	}
	l.queue(u.Task, r)
	return news
}

func (l *Ledger) retryLater(id string, r *record) {
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
func (l *Ledger) retryNow() {
	for id, r := range l.tasks {
		r.forgive()
		l.queue(id, r)
	}
}

func (r *record) mark(uuid [16]byte) {
	for i := range r.updates {
		if u := &r.updates[i]; u.UUID == uuid {
			u.sent = true
			if u.Delivered != nil {
				close(u.Delivered)
				u.Delivered = nil
			}
		}
	}
}

// Unacknowledged gives what a SUBSCRIBE must name, updates in the order they were made.
func (l *Ledger) Unacknowledged() ([]Assignment, []Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var tasks []Assignment
	var updates []Update
	for _, r := range l.tasks {
		if r.assignment != nil {
			tasks = append(tasks, *r.assignment)
		}
		updates = append(updates, r.updates...)
	}
	slices.SortFunc(updates, func(a, b Update) int { return cmp.Compare(a.number, b.number) })
	slices.SortFunc(tasks, func(a, b Assignment) int { return cmp.Compare(a.ID, b.ID) })
	return tasks, updates
}

// Connect lets updates leave. The agent has those that SUBSCRIBE named, so they are not sent again.
func (l *Ledger) Connect(named []Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range named {
		if r := l.tasks[u.Task]; r != nil {
			r.mark(u.UUID)
		}
	}
	l.retryNow()
	l.online = true
	l.work.Broadcast()
}

// Disconnect has updates wait until the agent hears us again.
func (l *Ledger) Disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.online = false
	l.changed.Broadcast()
}

// Acknowledge forgets an update, and its task with the last one.
func (l *Ledger) Acknowledge(id string, uuid []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[id]
	if r == nil {
		return
	}
	i := slices.IndexFunc(r.updates, func(u Update) bool { return string(u.UUID[:]) == string(uuid) })
	if i < 0 {
		return
	}
	u := r.updates[i]
	if u.Delivered != nil {
		close(u.Delivered) // the agent has it, though its answer to the call was lost
	}
	l.heard = true
	r.assignment = nil
	r.updates = slices.Delete(r.updates, i, i+1)
	r.forgive()
	l.queue(id, r)
	if u.State.Terminal() {
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

// WasHeard reports whether the scheduler has acknowledged an update of this executor, so that it has written down that
// the executor runs.
func (l *Ledger) WasHeard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

// Backlog is how many updates of a task are not acknowledged.
func (l *Ledger) Backlog(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.tasks[id]; r != nil {
		return len(r.updates)
	}
	return 0
}

// Connected reports whether the agent hears us.
func (l *Ledger) Connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.online
}

// Flush sends the remaining updates at once, and waits until all are acknowledged, the agent is away, or ctx ends.
func (l *Ledger) Flush(ctx context.Context) {
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

// Close makes every take return false.
func (l *Ledger) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, r := range l.tasks {
		r.forgive()
	}
	l.work.Broadcast()
}
