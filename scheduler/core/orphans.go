package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// orphan is an abandoned attempt that may still run (rule E5).
type orphan struct {
	TaskID    string    `json:"taskId"`
	Job       string    `json:"job"`
	Item      int       `json:"item"`
	Agent     string    `json:"agent"`
	Execution string    `json:"execution"`
	Since     time.Time `json:"since"`
	// Blocks is set when no later attempt of the shard may start until it has ended.
	Blocks bool `json:"blocks,omitempty"`
	// Alive is set while it blocks only because it was seen alive, although its
	// job has failover.
	Alive bool `json:"alive,omitempty"`
	// Away is since when the agent of one seen alive is away again, if it is, or it counts as if it were because the
	// task gets no further than STAGING.
	Away time.Time `json:"away,omitzero"`
	// Staged is since when nothing but STAGING was reported of it, zero if anything else was reported last. One that
	// was given up for that has it since its launch.
	Staged time.Time `json:"staged,omitzero"`
	// Until is when it has ended at the latest, of one that the cluster has removed: what is still ending of it nobody reports.
	Until time.Time `json:"until,omitzero"`
	// Framework is the id that it ran under; RemovedBy is the master that
	// removed it, "" while it is the present one (rule T7).
	Framework string `json:"framework"`
	RemovedBy string `json:"removedBy,omitempty"`
	// Grace is what its kills name, the server's if 0.
	Grace time.Duration `json:"grace,omitempty"`

	// known is set when the cluster has reported it since this session began and since its agent registered last, and
	// keeps its kill where it keeps kills (killsKept).
	known bool
}

// blocks reports whether no later attempt of the shard may start. One of a job with failover lets it start only while
// the present master says that its agent is away: before that answer it may be alive on an agent that is back (promise
// 2).
func (o *orphan) blocks() bool { return o.Blocks || !o.known }

// orphans are all of them, with the indexes over them. These hold between any two calls of its methods:
//
//   - blocking has, by job and task id, exactly those that block;
//   - former, unless it is nil, has by agent the id of every one that ran under another framework id than the present;
//   - changed has the id of every one that differs from what is stored, or is stored and was removed.
type orphans struct {
	byID     map[string]*orphan
	blocking map[string]map[string]*orphan
	former   map[string][]string
	changed  store.Changed
}

func newOrphans() orphans {
	return orphans{byID: map[string]*orphan{}, blocking: map[string]map[string]*orphan{}}
}

// restore takes in one that is stored.
func (os *orphans) restore(o *orphan) {
	os.byID[o.TaskID], os.former = o, nil
	os.index(o)
}

func (os *orphans) add(o *orphan) {
	os.restore(o)
	os.changed.Add(o.TaskID)
}

func (os *orphans) remove(o *orphan) {
	delete(os.byID, o.TaskID)
	os.unindex(o)
	os.changed.Add(o.TaskID)
}

// change lets fn change one, and keeps the indexes true.
func (os *orphans) change(o *orphan, fn func(*orphan)) {
	os.unindex(o)
	fn(o)
	os.index(o)
	os.changed.Add(o.TaskID)
}

// setKnown notes whether the cluster has reported one. That is not stored: a new leader has to ask.
func (os *orphans) setKnown(o *orphan, known bool) {
	os.unindex(o)
	o.known = known
	os.index(o)
}

func (os *orphans) index(o *orphan) {
	if !o.blocks() {
		return
	}
	of := os.blocking[o.Job]
	if of == nil {
		of = map[string]*orphan{}
		os.blocking[o.Job] = of
	}
	of[o.TaskID] = o
}

func (os *orphans) unindex(o *orphan) {
	delete(os.blocking[o.Job], o.TaskID)
	if len(os.blocking[o.Job]) == 0 {
		delete(os.blocking, o.Job)
	}
}

// sorted are all of them, by task id.
func (os *orphans) sorted() []*orphan {
	out := make([]*orphan, 0, len(os.byID))
	for _, id := range sortedKeys(os.byID) {
		out = append(out, os.byID[id])
	}
	return out
}

// of is one that blocks a shard, or nil.
func (os *orphans) of(job string, item int) *orphan {
	return os.first(job, func(o *orphan) bool { return o.Item == item })
}

// among is one that blocks one of the first shards of a job, or nil.
func (os *orphans) among(job string, shards int) *orphan {
	return os.first(job, func(o *orphan) bool { return o.Item < shards })
}

func (os *orphans) first(job string, match func(*orphan) bool) (first *orphan) {
	for _, o := range os.blocking[job] {
		if match(o) && (first == nil || o.TaskID < first.TaskID) {
			first = o
		}
	}
	return first
}

// formerOn are those on an agent that ran under another framework id than the present one, by task id.
func (os *orphans) formerOn(agent, present string) (out []*orphan) {
	if os.former == nil {
		os.former = map[string][]string{}
		for _, o := range os.sorted() {
			if o.Framework != present {
				os.former[o.Agent] = append(os.former[o.Agent], o.TaskID)
			}
		}
	}
	for _, id := range os.former[agent] {
		if o := os.byID[id]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// frameworkChanged forgets what was indexed by the present framework id.
func (os *orphans) frameworkChanged() { os.former = nil }

func (os *orphans) write(r *store.Commit) { store.PutChanged(r, pathOrphan, os.byID, &os.changed) }
