package core

import (
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

// executor is an executor that was started, or is about to be.
type executor struct {
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

	resources.Account     // its live tasks
	pending           int // unanswered ACCEPTs that name it
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

// release takes a task off its account.
func (x *executor) release(need resources.Amount, daemon bool, now time.Time) {
	x.Account.Release(need, daemon)
	x.idleSince = now
}

// executors are all that were started, or are about to be, with the indexes over them. These hold between any two
// calls of its methods:
//
//   - onAgent has, by agent, exactly those of byID, in the order in which they were added;
//   - closing has exactly those with Closing;
//   - changed has the id of every one that differs from what is stored, or is stored and was removed.
type executors struct {
	byID    map[string]*executor
	onAgent map[string][]*executor
	closing map[string]*executor
	changed store.Changed
	// counter is the last number that an executor's id was given. It never goes back (rule X1).
	counter        int64
	counterChanged bool
}

func newExecutors() executors {
	return executors{byID: map[string]*executor{}, onAgent: map[string][]*executor{}, closing: map[string]*executor{}}
}

// restore takes in one that is stored.
func (es *executors) restore(x *executor) {
	es.byID[x.Info.ID] = x
	es.onAgent[x.Agent] = append(es.onAgent[x.Agent], x)
	if x.Closing {
		es.closing[x.Info.ID] = x
	}
}

// get is the executor of that id, or nil.
func (es *executors) get(id string) *executor { return es.byID[id] }

// all are the executors by their ids, in no order.
func (es *executors) all() iter.Seq2[string, *executor] { return maps.All(es.byID) }

// len is how many there are.
func (es *executors) len() int { return len(es.byID) }

// ids are those of all executors, sorted.
func (es *executors) ids() []string { return step.SortedKeys(es.byID) }

func (es *executors) add(x *executor) {
	es.restore(x)
	es.touch(x)
}

// number is one that no executor's id has yet.
func (es *executors) number() int64 {
	es.counter++
	es.counterChanged = true
	return es.counter
}

// touch has one be written.
func (es *executors) touch(x *executor) { es.changed.Add(x.Info.ID) }

// close marks one as closing: SHUTDOWN leaves once that is committed (rule X2).
func (es *executors) close(x *executor, now time.Time) {
	if !x.Closing {
		x.Closing, x.ClosedAt = true, now
		es.closing[x.Info.ID] = x
		es.touch(x)
	}
}

func (es *executors) remove(x *executor) {
	delete(es.byID, x.Info.ID)
	delete(es.closing, x.Info.ID)
	es.onAgent[x.Agent] = slices.DeleteFunc(es.onAgent[x.Agent], func(o *executor) bool { return o == x })
	if len(es.onAgent[x.Agent]) == 0 {
		delete(es.onAgent, x.Agent)
	}
	es.touch(x)
}

// keysOn are the keys of the executors that run on an agent and take tasks; nil if there are none.
func (es *executors) keysOn(agent string) (keys map[string]bool) {
	for _, x := range es.onAgent[agent] {
		if x.Closing {
			continue
		}
		if keys == nil {
			keys = map[string]bool{}
		}
		keys[x.Key] = true
	}
	return keys
}

// takesTasks reports whether an executor of a key is on an agent and takes tasks.
func (es *executors) takesTasks(agent, key string) bool {
	return slices.ContainsFunc(es.onAgent[agent], func(x *executor) bool { return x.Key == key && !x.Closing })
}

// sorted are all of them, by id.
func (es *executors) sorted() []*executor {
	out := make([]*executor, 0, len(es.byID))
	for _, id := range step.SortedKeys(es.byID) {
		out = append(out, es.byID[id])
	}
	return out
}

func (es *executors) write(r *store.Commit) {
	if es.counterChanged {
		r.Raw(store.PathCounter, strconv.AppendInt(nil, es.counter, 10))
		es.counterChanged = false
	}
	store.PutChanged(r, store.PathExecutor, es.byID, &es.changed)
}

// role is a role as records have it.
func role(name string) string {
	if name == "*" {
		return ""
	}
	return name
}

// heard reports whether an executor was heard. Of one without a record nothing is known.
func (es *executors) heard(id string) bool {
	x := es.byID[id]
	return x == nil || x.Heard
}
