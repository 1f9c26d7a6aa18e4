// Package executors holds the executors that this scheduler has started on agents, or is about to start: their
// records, and what their updates and reports show.
//
// Only the methods of Set change an executor. The package sends SHUTDOWN when ShutDown is called. It does not decide
// which executors are started or closed, nor which tasks run on them; packages placement, retire and attempts do.
package executors

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Set holds all executors that were started, or are about to be, with the indexes over them. These hold between any
// two calls of its methods:
//
//   - onAgent has, by agent, exactly those of byID, in the order in which they were added;
//   - closing has exactly those with Closing;
//   - changed has the id of every one that differs from what is stored, or is stored and was removed.
type Set struct {
	shared  *step.Shared
	byID    map[string]*Executor
	onAgent map[string][]*Executor
	closing map[string]*Executor
	changed store.Changed
	// counter is the last number that was used in an executor's id. It never goes back (rule X1).
	counter        int64
	counterChanged bool
}

// New returns a Set without executors.
func New(s *step.Shared) *Set {
	return &Set{shared: s, byID: map[string]*Executor{}, onAgent: map[string][]*Executor{},
		closing: map[string]*Executor{}}
}

// Restore adds a stored executor while a term is loaded. It fails if value cannot be decoded.
func (es *Set) Restore(value []byte) error {
	x := Executor{idleSince: es.shared.Now(), ran: true}
	if err := json.Unmarshal(value, &x.rec); err != nil {
		return err
	}
	es.shared.Clamp(0, &x.rec.ClosedAt)
	es.index(&x)
	return nil
}

// RestoreCounter sets the stored counter of executor ids (see NextNumber).
func (es *Set) RestoreCounter(value []byte) (err error) {
	es.counter, err = strconv.ParseInt(string(value), 10, 64)
	return err
}

// Start adds an executor that the next ACCEPT starts; info is its ExecutorInfo. Its role is that of this scheduler.
func (es *Set) Start(app, key, agent string, info cluster.Executor) *Executor {
	x := &Executor{addedAt: es.shared.Now(),
		rec: record{App: app, Key: key, Agent: agent, Role: role(es.shared.Opt.Role), Info: info}}
	es.index(x)
	es.markChanged(x)
	return x
}

// RecordAccept records that the ACCEPT with number seq names an executor.
func (es *Set) RecordAccept(x *Executor, seq int64) {
	x.pending++
	x.confirmed, x.sentWith = false, seq
}

// RecordAnswer records that an ACCEPT that named an executor was answered.
func (es *Set) RecordAnswer(x *Executor) {
	x.pending--
	x.confirmed = false
}

// BeginSession voids what the last session reported. No ACCEPT of the new session names an executor yet, and those of
// the last one are voided, so the offers of the new session name each executor that runs (rule X3).
func (es *Set) BeginSession() {
	for _, x := range es.byID {
		x.pending, x.confirmed = 0, true
		es.RepeatShutdown(x)
	}
}

// RepeatShutdown makes a SHUTDOWN due at once, because earlier ones were lost or there is no time to wait for an
// answer.
func (es *Set) RepeatShutdown(x *Executor) { x.shutdownSent, x.shutdownTry = time.Time{}, 0 }

// ShutdownIsDue reports whether the backoff since the last SHUTDOWN has passed, so that it may be sent, or sent again.
func (es *Set) ShutdownIsDue(x *Executor) bool {
	return step.ResendDue(es.shared.Now(), x.shutdownSent, es.shared.Opt.MinResendInterval,
		es.shared.Opt.MaxResendInterval, x.shutdownTry)
}

// ShutDown sends SHUTDOWN to an executor and schedules a step to repeat it. The executor must be closing.
func (es *Set) ShutDown(x *Executor) {
	x.shutdownSent = es.shared.Now()
	x.shutdownTry++
	es.shared.Call(step.CallShutdown{ExecutorID: x.rec.Info.ID, AgentID: x.rec.Agent})
	es.shared.WakeToResend(x.shutdownTry)
}

// RecordUpdate records an update of an executor's task that must be acknowledged. fromExecutor says that the executor
// itself sent it.
func (es *Set) RecordUpdate(x *Executor, fromExecutor bool) {
	x.lastUpdate, x.ran, x.unanswered = es.shared.Now(), true, 0
	if !fromExecutor {
		return
	}
	x.heardAt = es.shared.Now()
	x.unresponsive = false // a lost SHUTDOWN is repeated only when the executor's tasks have ended (rules K3, X2)
	if !x.rec.Heard {
		x.rec.Heard = true
		es.markChanged(x)
	}
}

// Confirm records that the cluster has reported a task of an executor's last ACCEPT after that was answered (rule X3).
func (es *Set) Confirm(x *Executor) { x.confirmed = true }

// MarkEnded records that an agent has reported the end of an executor with a task of its last ACCEPT.
func (es *Set) MarkEnded(x *Executor) { x.ended = true }

// RecordSandbox records the sandbox of an executor's newest run, as the executor reports it.
func (es *Set) RecordSandbox(x *Executor, path string) {
	if x.rec.Sandbox != path {
		x.rec.Sandbox = path
		es.markChanged(x)
	}
}

// Release takes a task off an executor's account. If it was the last one, the executor's idle time begins now.
func (es *Set) Release(x *Executor, need resources.Amount, daemon bool) {
	x.tasks.Release(need, daemon)
	x.idleSince = es.shared.Now()
}

// Allot puts a task on an executor's account. Each call is followed by one of Release with the same need and daemon.
func (es *Set) Allot(x *Executor, need resources.Amount, daemon bool) {
	if x.tasks.Tasks() == 0 {
		x.busySince = es.shared.Now()
	}
	x.tasks.Allot(need, daemon)
}

// ScheduleIdleCheck records when the idle time of an executor is checked next; zero for never.
func (es *Set) ScheduleIdleCheck(x *Executor, at time.Time) { x.idleCheckAt = at }

// CountUnansweredKill records that a sweep found an executor with an unanswered kill of a task with that grace, and
// returns whether the executor is unresponsive by now (rule K3). sweep identifies the sweep. Sweeps are counted, not
// time, because this process may have stood still meanwhile.
func (es *Set) CountUnansweredKill(x *Executor, sweep time.Time, grace time.Duration) (unresponsive bool) {
	if !x.sweptAt.Equal(sweep) {
		x.sweptAt = sweep
		if x.unanswered++; x.unanswered == 1 {
			x.unansweredGrace = 0
		}
	}
	// Its tasks may have different graces. The longest grace since the executor was last heard is at least the grace
	// of the oldest unanswered kill.
	x.unansweredGrace = max(x.unansweredGrace, grace)
	x.unresponsive = time.Duration(x.unanswered)*step.SweepInterval > x.unansweredGrace+es.shared.Opt.KillAnswer
	return x.unresponsive
}

// RecordReport records that a report of an executor has arrived, and returns whether it was quiet before.
func (es *Set) RecordReport(x *Executor) (wasQuiet bool) {
	x.reportedAt, wasQuiet, x.quiet = es.shared.Now(), x.quiet, false
	return wasQuiet
}

// RecordHeartbeat records that a heartbeat of an executor has arrived.
func (es *Set) RecordHeartbeat(x *Executor) {
	x.heartbeatAt, x.heardAt = es.shared.Now(), es.shared.Now()
	if !x.rec.Beats {
		x.rec.Beats = true
		es.markChanged(x)
	}
}

// MarkSilent records since when an executor has sent neither heartbeats nor updates; zero if it is heard again.
func (es *Set) MarkSilent(x *Executor, since time.Time) { x.silentSince = since }

// MarkQuiet records that no report of an executor has arrived for too long, and returns whether that was not recorded
// before.
func (es *Set) MarkQuiet(x *Executor) (changed bool) {
	changed, x.quiet = !x.quiet, true
	return changed
}

// index adds an executor to the indexes.
func (es *Set) index(x *Executor) {
	es.byID[x.rec.Info.ID] = x
	es.onAgent[x.rec.Agent] = append(es.onAgent[x.rec.Agent], x)
	if x.rec.Closing {
		es.closing[x.rec.Info.ID] = x
	}
}

// Get returns the executor with that id, or nil.
func (es *Set) Get(id string) *Executor { return es.byID[id] }

// All iterates over the executors by id, in no order.
func (es *Set) All() iter.Seq2[string, *Executor] { return maps.All(es.byID) }

// Len is the number of executors, closing ones included.
func (es *Set) Len() int { return len(es.byID) }

// IDs lists the ids of all executors, sorted.
func (es *Set) IDs() []string { return step.SortedKeys(es.byID) }

// NextNumber returns a number for the id of a new executor, which is never returned again (rule X1).
func (es *Set) NextNumber() int64 {
	es.counter++
	es.counterChanged = true
	return es.counter
}

// HasStarted reports whether any leader has ever started an executor.
func (es *Set) HasStarted() bool { return es.counter > 0 }

// markChanged marks an executor to be written.
func (es *Set) markChanged(x *Executor) { es.changed.Add(x.rec.Info.ID) }

// Close marks an executor as closing: it gets no more tasks, and SHUTDOWN is sent once that is committed (rule X2).
// This cannot be undone.
func (es *Set) Close(x *Executor) {
	if !x.rec.Closing {
		x.rec.Closing, x.rec.ClosedAt = true, es.shared.Now()
		es.closing[x.rec.Info.ID] = x
		es.markChanged(x)
	}
}

// Remove forgets an executor that has ended. If it still runs, the next offer of its agent names it, and it is shut
// down (rule X3).
func (es *Set) Remove(x *Executor) {
	es.shared.NeedChanged()
	es.shared.RequestMatch()
	delete(es.byID, x.rec.Info.ID)
	delete(es.closing, x.rec.Info.ID)
	es.onAgent[x.rec.Agent] = slices.DeleteFunc(es.onAgent[x.rec.Agent], func(o *Executor) bool { return o == x })
	if len(es.onAgent[x.rec.Agent]) == 0 {
		delete(es.onAgent, x.rec.Agent)
	}
	es.markChanged(x)
}

// KeysOn is the set of keys of the executors on an agent that take tasks; nil if there are none.
func (es *Set) KeysOn(agent string, takes func(*Executor) bool) (keys map[string]bool) {
	for _, x := range es.onAgent[agent] {
		if !takes(x) {
			continue
		}
		if keys == nil {
			keys = map[string]bool{}
		}
		keys[x.rec.Key] = true
	}
	return keys
}

// Sorted lists all executors, sorted by id.
func (es *Set) Sorted() []*Executor { return step.SortedValues(es.byID) }

// Write adds the changed executors and the counter to the commit, and deletes the records of removed executors.
func (es *Set) Write(r *store.Commit) {
	if es.counterChanged {
		r.Raw(store.PathCounter, strconv.AppendInt(nil, es.counter, 10))
		es.counterChanged = false
	}
	for _, id := range es.changed.Take() {
		if x := es.byID[id]; x != nil {
			r.Put(store.Under(store.PathExecutor, id), &x.rec)
		} else {
			r.Remove(store.Under(store.PathExecutor, id))
		}
	}
}

// role returns the name of a role as records store it: "" for the default role.
func role(name string) string {
	if name == "*" {
		return ""
	}
	return name
}

// Heard reports whether an update that the executor itself sent was committed before. It is true for an unknown
// executor, because an update of it may have been committed before its record was removed.
func (es *Set) Heard(id string) bool {
	x := es.byID[id]
	return x == nil || x.rec.Heard
}

// On lists the executors on an agent, in the order in which they were added. The slice must not be changed.
func (es *Set) On(agent string) []*Executor { return es.onAgent[agent] }

// NumClosing is the number of closing executors.
func (es *Set) NumClosing() int { return len(es.closing) }

// Closing lists the closing executors, sorted by id.
func (es *Set) Closing() []*Executor { return step.SortedValues(es.closing) }

// Contradiction describes an invariant of Set that does not hold, "" if all hold. Tests call it after each step.
func (es *Set) Contradiction() string {
	for agent, of := range es.onAgent {
		for _, x := range of {
			if x.rec.Agent != agent || es.byID[x.rec.Info.ID] != x ||
				(es.closing[x.rec.Info.ID] == x) != x.rec.Closing {
				return "an executor is misfiled " + x.rec.Info.ID
			}
		}
	}
	return ""
}

// Counter returns the last number that was used in the id of an executor. It never goes back (rule X1).
func (es *Set) Counter() int64 { return es.counter }

// Usable reports whether a stored executor may get tasks. The master refuses tasks for an executor that was started
// with another role (rule X1). An executor that was started as another user would run them as that user.
func (es *Set) Usable(x *Executor) bool {
	return x.rec.Role == role(es.shared.Opt.Role) &&
		(x.rec.Info.Version <= 1 || x.rec.Info.User == es.shared.Opt.ExecutorUser)
}
