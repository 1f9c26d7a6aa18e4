package executors

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// record is what is stored of an executor.
type record struct {
	App   string `json:"app"`
	Key   string `json:"kind"`
	Agent string `json:"agent"`
	// Info is what it was started with; kept byte for byte (rule X4).
	Info cluster.Executor `json:"info"`
	// Role is the framework's when it was started, "" for the default.
	Role string `json:"role,omitempty"`
	// Sandbox is the folder of its newest run, as it reported it: an absolute path on its agent's host, "" before that.
	Sandbox string `json:"sandbox,omitempty"`
	// Heard is set when an update of the executor, about any task, was committed. From the acknowledgement on, which
	// follows the commit, it makes processes before it reports their tasks (rule E1).
	Heard bool `json:"heard,omitempty"`
	// Closing is committed before SHUTDOWN is sent; from then on nothing is
	// matched to it (rule X2).
	Closing  bool      `json:"closing,omitempty"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
}

// Executor is an executor that was started, or is about to be. Set owns it, and alone changes it.
type Executor struct {
	rec     record
	tasks   resources.Account // its live tasks
	pending int               // unanswered ACCEPTs that name it
	// sentWith is the last ACCEPT that named it. confirmed: after that was answered the
	// cluster reported a task of it, so the executors that an offer names now are those that run (rule X3).
	sentWith   int64
	confirmed  bool
	lastUpdate time.Time
	madeAt     time.Time // zero of one that an earlier leader started
	// ended: its agent reported that it ended with a task of its last ACCEPT, so nothing can have started it again since. Its
	// record goes when no task of it is live.
	ended      bool
	ran        bool      // it is known to have started, or of an earlier leader
	unanswered int       // sweeps since its last update that found it with a kill to answer
	sweptAt    time.Time // the newest of them
	// unansweredGrace is the longest grace of the kills that those sweeps found.
	unansweredGrace time.Duration
	silent          bool // it has not answered a kill, and is ended with its tasks (rule K3)
	idleSince       time.Time
	lookingAt       time.Time
	shutdownSent    time.Time
	shutdownTry     int
	// reportedAt is when its last report came; quiet: it was noted that none came for too long (executorreports.go).
	reportedAt time.Time
	quiet      bool
}

// executors are all that were started, or are about to be, with the indexes over them. These hold between any two
// calls of its methods:
//
//   - onAgent has, by agent, exactly those of byID, in the order in which they were added;
//   - closing has exactly those with Closing;
//   - changed has the id of every one that differs from what is stored, or is stored and was removed.
type Set struct {
	*step.Shared
	byID    map[string]*Executor
	onAgent map[string][]*Executor
	closing map[string]*Executor
	changed store.Changed
	// counter is the last number that an executor's id was given. It never goes back (rule X1).
	counter        int64
	counterChanged bool
}

func New(s *step.Shared) *Set {
	return &Set{Shared: s, byID: map[string]*Executor{}, onAgent: map[string][]*Executor{}, closing: map[string]*Executor{}}
}

// restoreRecord takes in one that is stored.
func (es *Set) Restore(value []byte) error {
	x := Executor{idleSince: es.Now(), ran: true}
	if err := json.Unmarshal(value, &x.rec); err != nil {
		return err
	}
	es.Clamp(0, &x.rec.ClosedAt)
	es.restore(&x)
	return nil
}

// RestoreCounter takes in the counter that is stored.
func (es *Set) RestoreCounter(value []byte) (err error) {
	es.counter, err = strconv.ParseInt(string(value), 10, 64)
	return err
}

// Start adds an executor that the next ACCEPT starts: info says how, and its Role is that of this scheduler.
func (es *Set) Start(app, key, agent string, info cluster.Executor) *Executor {
	x := &Executor{madeAt: es.Now(), rec: record{App: app, Key: key, Agent: agent, Role: role(es.Opt.Role), Info: info}}
	es.add(x)
	return x
}

// Launching notes that an ACCEPT names an executor.
func (es *Set) Launching(x *Executor, seq int64) {
	x.pending++
	x.confirmed, x.sentWith = false, seq
}

// Answered notes that the answer of an ACCEPT that named an executor has come.
func (es *Set) Answered(x *Executor) {
	x.pending--
	x.confirmed = false
}

// SessionBegan voids what the last session said. No ACCEPT of this one names an executor yet and those before are voided,
// so the offers to come name each that runs (rule X3).
func (es *Set) SessionBegan() {
	for _, x := range es.byID {
		x.pending, x.confirmed = 0, true
		es.RepeatShutdown(x)
	}
}

// RepeatShutdown has a SHUTDOWN that was sent be sent again at once: the last ones were lost, or must not be waited for.
func (es *Set) RepeatShutdown(x *Executor) { x.shutdownSent, x.shutdownTry = time.Time{}, 0 }

// ShutdownIsDue reports whether a SHUTDOWN is to be sent, or sent again.
func (es *Set) ShutdownIsDue(x *Executor) bool {
	return step.ResendDue(es.Now(), x.shutdownSent, es.Opt.ResendFirst, es.Opt.ResendMost, x.shutdownTry)
}

// ShutDown sends SHUTDOWN to an executor.
func (es *Set) ShutDown(x *Executor) {
	x.shutdownSent = es.Now()
	x.shutdownTry++
	es.Call(step.CallEndExecutor{ExecutorID: x.rec.Info.ID, AgentID: x.rec.Agent})
	es.WakeToResend(x.shutdownTry)
}

// Reported notes an update of an executor's task that has an acknowledgement; byItself says that the executor sent it.
func (es *Set) Reported(x *Executor, byItself bool) {
	x.lastUpdate, x.ran, x.unanswered = es.Now(), true, 0
	if !byItself {
		return
	}
	x.silent = false // a SHUTDOWN that was lost is repeated only when its tasks have ended (rules K3, X2)
	if !x.rec.Heard {
		x.rec.Heard = true
		es.touch(x)
	}
}

// Confirm notes that the cluster has reported a task of an executor's last ACCEPT.
func (es *Set) Confirm(x *Executor) { x.confirmed = true }

// Ended notes that its agent has reported that an executor ended with a task of its last ACCEPT.
func (es *Set) Ended(x *Executor) { x.ended = true }

// ReportedSandbox takes where an executor says that its newest run has its files.
func (es *Set) ReportedSandbox(x *Executor, path string) {
	if x.rec.Sandbox != path {
		x.rec.Sandbox = path
		es.touch(x)
	}
}

// Release takes a task off an executor's account.
func (es *Set) Release(x *Executor, need resources.Amount, daemon bool) {
	x.tasks.Release(need, daemon)
	x.idleSince = es.Now()
}

// Allot puts a task on an executor's account.
func (es *Set) Allot(x *Executor, need resources.Amount, daemon bool) {
	x.tasks.Allot(need, daemon)
}

// LookAt notes when an executor is looked at next, if it may have nothing to do then; zero is for never.
func (es *Set) LookAt(x *Executor, at time.Time) { x.lookingAt = at }

// KillUnanswered notes that a sweep found an executor with a kill to answer, of a task with that grace, and reports whether
// it is silent by now (rule K3). Sweeps are counted, since this process may have stood still meanwhile.
func (es *Set) KillUnanswered(x *Executor, sweep time.Time, grace time.Duration) (silent bool) {
	if !x.sweptAt.Equal(sweep) {
		x.sweptAt = sweep
		if x.unanswered++; x.unanswered == 1 {
			x.unansweredGrace = 0
		}
	}
	// Its tasks may have different graces. The longest of those that it was asked for since it was last heard is no shorter
	// than that of the kill which it has had to answer for longest.
	x.unansweredGrace = max(x.unansweredGrace, grace)
	x.silent = time.Duration(x.unanswered)*step.SweepEvery > x.unansweredGrace+es.Opt.KillAnswer
	return x.silent
}

// HeardReport notes that a report of an executor has come, and returns whether it had become quiet before.
func (es *Set) HeardReport(x *Executor) (wasQuiet bool) {
	x.reportedAt, wasQuiet, x.quiet = es.Now(), x.quiet, false
	return wasQuiet
}

// BecameQuiet notes that nothing has come from an executor for too long, and returns whether that is news.
func (es *Set) BecameQuiet(x *Executor) (news bool) {
	news, x.quiet = !x.quiet, true
	return news
}

// restore takes in one with its indexes.
func (es *Set) restore(x *Executor) {
	es.byID[x.rec.Info.ID] = x
	es.onAgent[x.rec.Agent] = append(es.onAgent[x.rec.Agent], x)
	if x.rec.Closing {
		es.closing[x.rec.Info.ID] = x
	}
}

// Get is the executor of that id, or nil.
func (es *Set) Get(id string) *Executor { return es.byID[id] }

// All are the executors by their ids, in no order.
func (es *Set) All() iter.Seq2[string, *Executor] { return maps.All(es.byID) }

// Len is how many there are.
func (es *Set) Len() int { return len(es.byID) }

// IDs are those of all executors, sorted.
func (es *Set) IDs() []string { return step.SortedKeys(es.byID) }

func (es *Set) add(x *Executor) {
	es.restore(x)
	es.touch(x)
}

// Number is one that no executor's id has yet.
func (es *Set) Number() int64 {
	es.counter++
	es.counterChanged = true
	return es.counter
}

// EverStarted reports whether any was started, by whichever leader.
func (es *Set) EverStarted() bool { return es.counter > 0 }

// touch has one be written.
func (es *Set) touch(x *Executor) { es.changed.Add(x.rec.Info.ID) }

// Close marks one as closing: SHUTDOWN leaves once that is committed (rule X2).
func (es *Set) Close(x *Executor) {
	if !x.rec.Closing {
		x.rec.Closing, x.rec.ClosedAt = true, es.Now()
		es.closing[x.rec.Info.ID] = x
		es.touch(x)
	}
}

// Remove forgets an executor that is gone. If it should live on unseen, the next offer of its agent names it, and it is shut
// down (rule X3).
func (es *Set) Remove(x *Executor) {
	es.NeedChanged()
	es.MatchAgain()
	delete(es.byID, x.rec.Info.ID)
	delete(es.closing, x.rec.Info.ID)
	es.onAgent[x.rec.Agent] = slices.DeleteFunc(es.onAgent[x.rec.Agent], func(o *Executor) bool { return o == x })
	if len(es.onAgent[x.rec.Agent]) == 0 {
		delete(es.onAgent, x.rec.Agent)
	}
	es.touch(x)
}

// KeysOn are the keys of the executors that run on an agent and take tasks; nil if there are none.
func (es *Set) KeysOn(agent string) (keys map[string]bool) {
	for _, x := range es.onAgent[agent] {
		if x.rec.Closing {
			continue
		}
		if keys == nil {
			keys = map[string]bool{}
		}
		keys[x.rec.Key] = true
	}
	return keys
}

// TakesTasks reports whether an executor of a key is on an agent and takes tasks.
func (es *Set) TakesTasks(agent, key string) bool {
	return slices.ContainsFunc(es.onAgent[agent], func(x *Executor) bool { return x.rec.Key == key && !x.rec.Closing })
}

// Sorted are all of them, by id.
func (es *Set) Sorted() []*Executor {
	out := make([]*Executor, 0, len(es.byID))
	for _, id := range step.SortedKeys(es.byID) {
		out = append(out, es.byID[id])
	}
	return out
}

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

// Role is a role as records have it.
func role(name string) string {
	if name == "*" {
		return ""
	}
	return name
}

// Heard reports whether an executor was heard. Of one without a record nothing is known.
func (es *Set) Heard(id string) bool {
	x := es.byID[id]
	return x == nil || x.rec.Heard
}

// Uses is what an executor takes with its tasks, as long as it may run.
func (x *Executor) Uses() resources.Amount {
	if x.ended {
		return x.tasks.Used()
	}
	return x.tasks.Used().Plus(x.rec.Info.Resources)
}

// On are the executors on an agent, in the order in which they were started.
func (es *Set) On(agent string) []*Executor { return es.onAgent[agent] }

// isClosing is how many are closing.
func (es *Set) NumClosing() int { return len(es.closing) }

// closingOnes are those that are closing, by id.
func (es *Set) Closing() []*Executor {
	out := make([]*Executor, 0, len(es.closing))
	for _, id := range step.SortedKeys(es.closing) {
		out = append(out, es.closing[id])
	}
	return out
}

// Contradiction says which of the promises of executors does not hold, "" if all do. Tests ask for it after each step.
func (es *Set) Contradiction() string {
	for agent, of := range es.onAgent {
		for _, x := range of {
			if x.rec.Agent != agent || es.byID[x.rec.Info.ID] != x || (es.closing[x.rec.Info.ID] == x) != x.rec.Closing {
				return "an executor is misfiled " + x.rec.Info.ID
			}
		}
	}
	return ""
}

// Pending: unanswered ACCEPTs that name it
func (e *Executor) Pending() int { return e.pending }

// SentWith is the last ACCEPT that named it. confirmed: after that was answered the cluster reported a task of it, so the executors that an offer names now are those that run (rule X3).
func (e *Executor) SentWith() int64 { return e.sentWith }

// Confirmed is the confirmed.
func (e *Executor) Confirmed() bool { return e.confirmed }

// LastUpdate is the lastUpdate.
func (e *Executor) LastUpdate() time.Time { return e.lastUpdate }

// MadeAt: zero of one that an earlier leader started
func (e *Executor) MadeAt() time.Time { return e.madeAt }

// Ended: ended: its agent reported that it ended with a task of its last ACCEPT, so nothing can have started it again since. Its record goes when no task of it is live.
func (e *Executor) Ended() bool { return e.ended }

// Ran: it is known to have started, or of an earlier leader
func (e *Executor) Ran() bool { return e.ran }

// Silent: it has not answered a kill, and is ended with its tasks (rule K3)
func (e *Executor) Silent() bool { return e.silent }

// IdleSince is the idleSince.
func (e *Executor) IdleSince() time.Time { return e.idleSince }

// LookingAt is the lookingAt.
func (e *Executor) LookingAt() time.Time { return e.lookingAt }

// ShutdownTry is the shutdownTry.
func (e *Executor) ShutdownTry() int { return e.shutdownTry }

// ReportedAt is when its last report came; quiet: it was noted that none came for too long (executorreports.go).
func (e *Executor) ReportedAt() time.Time { return e.reportedAt }

// Quiet is the quiet.
func (e *Executor) Quiet() bool { return e.quiet }

// Counter is the last number that an executor's id was given. It never goes back (rule X1).
func (e *Set) Counter() int64 { return e.counter }

// Sandbox is the folder of its newest run, as it reported it: an absolute path on its agent's host, "" before that.
func (e *Executor) Sandbox() string { return e.rec.Sandbox }

// Heard is set when an update of the executor, about any task, was committed. From the acknowledgement on, which follows the commit, it makes processes before it reports their tasks (rule E1).
func (e *Executor) Heard() bool { return e.rec.Heard }

// IsClosing is committed before SHUTDOWN is sent; from then on nothing is matched to it (rule X2).
func (e *Executor) IsClosing() bool { return e.rec.Closing }

// Key is its rec.Key.
func (e *Executor) Key() string { return e.rec.Key }

// Info is what it was started with; kept byte for byte (rule X4).
func (e *Executor) Info() cluster.Executor { return e.rec.Info }

// ClosedAt is its rec.ClosedAt.
func (e *Executor) ClosedAt() time.Time { return e.rec.ClosedAt }

// App is its rec.App.
func (e *Executor) App() string { return e.rec.App }

// Agent is its rec.Agent.
func (e *Executor) Agent() string { return e.rec.Agent }

// ID is that of the executor for the cluster: its app, its agent and a number.
func (e *Executor) ID() string { return e.rec.Info.ID }

// Resources is what it uses itself, beside its tasks.
func (e *Executor) Resources() resources.Amount { return e.rec.Info.Resources }

// Tasks is how many live tasks it has, those of daemons included.
func (e *Executor) Tasks() int { return e.tasks.Tasks() }

// Daemons is how many of them are of daemons.
func (e *Executor) Daemons() int { return e.tasks.Daemons() }

// Used is what its live tasks use together.
func (e *Executor) Used() resources.Amount { return e.tasks.Used() }

// Usable reports whether a stored executor may be given tasks. The master would compare one of another role with one of
// ours, and refuse tasks for it (rule X1); one of another user would run them as that user.
func (es *Set) Usable(x *Executor) bool {
	return x.rec.Role == role(es.Opt.Role) && (x.rec.Info.Version <= 1 || x.rec.Info.User == es.Opt.ExecutorUser)
}

// Stored is what is stored of an executor. Tests compare what two leaders know by it.
func (e *Executor) Stored() []byte { return store.Encode(&e.rec) }
