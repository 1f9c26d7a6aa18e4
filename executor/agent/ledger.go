package agent

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Update is one report of a task's state. The agent acknowledges it by its UUID.
type Update struct {
	Task    string
	UUID    [16]byte
	State   State
	Message string
	Data    []byte
	At      time.Time

	number uint64 // the position in the order of all reports
	sent   bool   // whether the agent has the update
	// Delivered, if not nil, is closed once the agent has received the update.
	Delivered chan struct{}
}

// maxEndedTasks is how many ids of ended tasks are kept. A repeated LAUNCH of these tasks is ignored.
const maxEndedTasks = 10_000

// Ledger holds the executor's tasks and all of their updates that are not acknowledged (rule X5). SUBSCRIBE passes
// them to an agent that has lost them in a restart.
//
// Under mu, these invariants hold:
//   - Updates of one task are sent in the order in which they were reported, one at a time: sending is set until the
//     outcome of a call is known. Otherwise RUNNING could reach the agent after FINISHED.
//   - A task's id is in ready at most once (queued), and only while the task has an unsent update, none of its
//     updates is being sent, and no retry timer runs.
//   - Only an acknowledgement removes an update. A sent update has reached the agent, but perhaps not the
//     scheduler, so it is kept for the next SUBSCRIBE.
//
// While the executor is not subscribed (online is false), updates are queued; Connect releases them.
type Ledger struct {
	mu           sync.Mutex
	work         *sync.Cond // signals that there may be an update to take
	changed      *sync.Cond // signals Flush
	tasks        map[string]*record
	ended        map[string]bool
	order        []string // the ids in ended, the oldest first
	ready        []string // ids of tasks with an update to send
	online       bool
	closed       bool
	number       uint64
	acknowledged bool // whether the scheduler has acknowledged an update
}

type record struct {
	assignment *Assignment // nil once an update of the task is acknowledged
	updates    []Update
	sending    bool
	queued     bool

	// The refusals of the task's next update.
	refusals  int
	lastError string      // the text of the last refusal
	retry     *time.Timer // queues the update again; nil if no timer runs
}

// The interval before a refused update is sent again begins with firstRetryInterval and doubles up to maxRetryInterval.
const (
	firstRetryInterval = 200 * time.Millisecond
	maxRetryInterval   = 10 * time.Second
)

// NewLedger returns an empty ledger. Its updates wait until Connect is called.
func NewLedger() *Ledger {
	l := &Ledger{tasks: map[string]*record{}, ended: map[string]bool{}}
	l.work, l.changed = sync.NewCond(&l.mu), sync.NewCond(&l.mu)
	return l
}

// Add adds a task. It returns false if the ledger has the task, or has had it and the task has ended.
func (l *Ledger) Add(a Assignment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks[a.ID] != nil || l.ended[a.ID] {
		return false
	}
	l.tasks[a.ID] = &record{assignment: &a}
	return true
}

// Report adds an update, which is kept until it is acknowledged. It ignores an update of a task that the ledger does
// not have.
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

// queue makes the task ready if it has an update that can be sent now. The caller holds mu.
func (l *Ledger) queue(id string, r *record) {
	if r.sending || r.queued || r.retry != nil || !slices.ContainsFunc(r.updates, unsent) {
		return
	}
	r.queued = true
	l.ready = append(l.ready, id)
	l.work.Signal()
}

func unsent(u Update) bool { return !u.sent }

// Take waits for an update to send. The caller must pass the outcome to SendDone. Take returns false once the
// ledger is closed.
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
			r.sending = true
			return r.updates[i], true
		}
	}
	return Update{}, false
}

// SendDone records the outcome of sending an update. A nil err means that the agent has the update. After an error the
// update is queued again later. SendDone returns true if the error differs from that of the last attempt, so that the
// caller logs each error once.
func (l *Ledger) SendDone(u Update, err error) (isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tasks[u.Task]
	if r == nil {
		return err != nil
	}
	r.sending = false
	if err == nil {
		r.markSent(u.UUID)
		r.resetRetry()
	} else {
		isNew = r.lastError != err.Error()
		r.lastError = err.Error()
		l.retryLater(u.Task, r)
	}
	l.queue(u.Task, r)
	return isNew
}

// retryLater queues the task's update again after a pause. The caller holds mu.
func (l *Ledger) retryLater(id string, r *record) {
	if l.closed {
		return
	}
	wait := min(firstRetryInterval<<min(r.refusals, 16), maxRetryInterval)
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

// resetRetry resets the record of refusals.
func (r *record) resetRetry() {
	if r.retry != nil {
		r.retry.Stop()
	}
	r.retry, r.refusals, r.lastError = nil, 0, ""
}

// retryNow queues the updates that wait for a retry timer. The caller holds mu.
func (l *Ledger) retryNow() {
	for id, r := range l.tasks {
		r.resetRetry()
		l.queue(id, r)
	}
}

func (r *record) markSent(uuid [16]byte) {
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

// Unacknowledged returns the tasks and updates that a SUBSCRIBE must contain. The updates are in the order in which
// they were reported.
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

// Connect releases the updates to Take. The updates that SUBSCRIBE included are not sent again, because the agent has
// them.
func (l *Ledger) Connect(included []Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range included {
		if r := l.tasks[u.Task]; r != nil {
			r.markSent(u.UUID)
		}
	}
	l.retryNow()
	l.online = true
	l.work.Broadcast()
}

// Disconnect holds updates back until the next Connect.
func (l *Ledger) Disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.online = false
	l.changed.Broadcast()
}

// Acknowledge removes an update, and its task if the update is terminal. It ignores an update that the ledger does not
// have.
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
		close(u.Delivered) // the agent has it, even if its answer to the call was lost
	}
	l.acknowledged = true
	r.assignment = nil
	r.updates = slices.Delete(r.updates, i, i+1)
	r.resetRetry()
	l.queue(id, r)
	if u.State.Terminal() {
		delete(l.tasks, id)
		l.ended[id] = true
		l.order = append(l.order, id)
		if len(l.order) > maxEndedTasks {
			delete(l.ended, l.order[0])
			l.order = l.order[1:]
		}
	}
	l.changed.Broadcast()
}

// Acknowledged reports whether the scheduler has acknowledged an update of this executor, and so has recorded that the
// executor runs.
func (l *Ledger) Acknowledged() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acknowledged
}

// Backlog returns the number of a task's updates that are not acknowledged.
func (l *Ledger) Backlog(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.tasks[id]; r != nil {
		return len(r.updates)
	}
	return 0
}

// Connected reports whether the executor is subscribed.
func (l *Ledger) Connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.online
}

// Flush sends the remaining updates without delay, and waits until all are acknowledged, the agent is disconnected,
// or ctx ends.
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
		unacknowledged := 0
		for _, r := range l.tasks {
			unacknowledged += len(r.updates)
		}
		if unacknowledged == 0 {
			return
		}
		l.changed.Wait()
	}
}

// Close makes every call of Take return false, and stops all retries.
func (l *Ledger) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, r := range l.tasks {
		r.resetRetry()
	}
	l.work.Broadcast()
}
