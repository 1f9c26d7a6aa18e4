package orphans

import (
	"time"
)

// Orphan is an attempt that was given up and may still run. A Set returns copies; only its methods change the orphans.
type Orphan struct {
	TaskID string `json:"taskId"`
	Job    string `json:"job"`
	Item   int    `json:"item"`
	Agent  string `json:"agent"`
	// Host is the host name of the agent; "" if it is not known or an earlier release stored the orphan.
	Host      string `json:"host,omitempty"`
	Executor  string `json:"executor,omitempty"`
	Execution string `json:"execution"`
	// Attempt is the number of the attempt; 0 for a task of a former framework and for an orphan that an earlier
	// release stored.
	Attempt int       `json:"attempt,omitempty"`
	Since   time.Time `json:"since"`
	// Blocks is set when no later attempt of the shard may start: the orphan was seen alive, or nothing will report
	// its end.
	Blocks bool `json:"blocks,omitempty"`
	// Away is since when an orphan with Blocks is unreachable again: its agent does not answer, or the task stays in
	// STAGING. It is zero for any other orphan. After is how long the orphan then still blocks its shard, 0 for the
	// server's time.
	Away  time.Time     `json:"away,omitzero"`
	After time.Duration `json:"after,omitempty"`
	// Returnable is set while the orphan may be taken back when it is heard again: no later attempt of its shard and
	// no later execution of its job has begun or waits for its end.
	Returnable bool `json:"returnable,omitempty"`
	// Silent is set while only the silence of its executor says that it is unreachable.
	Silent bool `json:"silent,omitempty"`
	// Staged is since when only STAGING was reported of it, zero if another state was reported last. For an attempt
	// that was given up for that reason it is the time of its launch.
	Staged time.Time `json:"staged,omitzero"`
	// Until is the time by which an orphan that the cluster has removed must have ended, because nothing reports its
	// end; zero for any other.
	Until time.Time `json:"until,omitzero"`
	// Framework is the framework id that it ran under. RemovedBy is the master that removed that framework, "" while
	// Framework is the present one (rule T7).
	Framework string `json:"framework"`
	RemovedBy string `json:"removedBy,omitempty"`
	// Grace is the grace of its kills, that of the server if 0.
	Grace time.Duration `json:"grace,omitempty"`

	// Lease is how long the processes of an exclusive attempt may live after the last request for its lease (rule K5);
	// 0 for any other attempt. Waited is how much of that time has passed: each leader adds its part, which it has
	// counted from countsFrom on. Unseen is set if the cluster has reported the end of the attempt and its executor has
	// not. Such an orphan is removed once Waited has reached Lease.
	Lease      time.Duration `json:"lease,omitempty"`
	Waited     time.Duration `json:"waited,omitempty"`
	Unseen     bool          `json:"unseen,omitempty"`
	countsFrom time.Time
	// Unkilled is set if the executor of an exclusive attempt has reported that it could not end all of its processes.
	// Then the orphan stays until an operator states that it has ended.
	Unkilled bool `json:"unkilled,omitempty"`

	// Reported is set when the cluster has reported the task in this session and since its agent last registered. A
	// cluster that keeps kills has then kept the one that was sent for the task. Reported is not stored: a new leader
	// has to ask.
	Reported bool `json:"-"`
}

// IsBlocking reports whether no later attempt of the shard may start. A later one may start only while the present
// master says that the agent is away: before that answer the orphan may be alive on an agent that is back (promise 2).
// An exclusive one must also have lost its lease.
func (o *Orphan) IsBlocking() bool { return o.Blocks || !o.Reported || o.HoldsLease() || o.Unkilled }

// HoldLease records that the processes of an exclusive attempt may live for d after askedAt, when its lease was last
// asked for.
func (o *Orphan) HoldLease(d time.Duration, askedAt time.Time) { o.Lease, o.countsFrom = d, askedAt }

// HoldsLease reports whether an exclusive orphan may live on its lease.
func (o *Orphan) HoldsLease() bool { return o.Waited < o.Lease }

// LeaseEnds returns when the lease of an exclusive orphan is over, with its grace and all margins. It is meaningful
// only while HoldsLease is true.
func (o *Orphan) LeaseEnds() time.Time { return o.countsFrom.Add(o.Lease - o.Waited) }
