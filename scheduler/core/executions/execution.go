package executions

import (
	"container/list"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Settings are the settings that an execution runs with: copied at its first launch, and kept to its end (rule F7).
// Set.ReplaceSettings replaces those of a standing execution.
type Settings struct {
	App app.Config  `json:"app"`
	Job jobs.Config `json:"job"`
}

// Execution is one run of a job. Before its first launch it has neither settings nor shards. Its own methods change no
// more than caches; only Set, which owns it, changes the rest.
type Execution struct {
	rec    record
	shards []Shard
	// endedAt is when it ended, in the time of the term.
	endedAt time.Time

	stored       bool
	dirty        bool
	dirtyChunks  map[int]bool
	unplaced     Unplaced
	launchable   bool // in Set.launchable
	launchKey    LaunchKey
	prepared     *Prepared // what all its tasks share
	described    Described
	shardsOpen   int // shards that are not terminal
	storedChunks int
	// settingsEncoded are the settings as stored; they never change.
	settingsEncoded []byte
	// ring and element locate an ended execution in the history.
	ring    *ring
	element *list.Element
	// outdated lists, in order, the items of a daemon's shards that may run with other settings than the present ones.
	outdated []int
	// The last recorded reason for which it waits, the time of that record, and the number of such records.
	waitRecorded   reason.Reason
	waitRecordedAt time.Time
	waitsRecorded  int
}

// record is the stored header of an execution, beside its shards (rule T5).
type record struct {
	ID     string    `json:"id"`
	Job    string    `json:"job"`
	Fire   time.Time `json:"fire"`
	Source Source    `json:"source"`
	// CreatedAt is when it began to wait. The execution that has waited longest gets the reservation (rule L2).
	CreatedAt time.Time `json:"made"`
	Settings  *Settings `json:"settings,omitempty"`
	// Overrides are the settings of the run that replace its job's, and OverridesOf the app that the job belonged to
	// when they were given.
	Overrides   *jobs.Overrides `json:"overrides,omitempty"`
	OverridesOf string          `json:"overridesOf,omitempty"`
	// OverridesTo is a fingerprint of the address to which secret parameters in Overrides were to be sent, "" for none
	// (SecretsTo).
	OverridesTo string `json:"overridesTo,omitempty"`
	// Chunks is the number of entries beside the header that store the shards, 0 if they are in the header.
	Chunks int `json:"chunks,omitempty"`
	// Kill is the reason why all that is left of it is to be killed, none while no kill is wanted (rule K1).
	Kill reason.Reason `json:"killReason,omitzero"`
	// Dropped is set when it was a waiting fire that was dropped for later fires (rule F5).
	Dropped bool `json:"dropped,omitempty"`
	// EndNumber is its place in the order of ends, 0 while it is open.
	EndNumber int64 `json:"ended,omitempty"`
	// LastEndNumber is its former place in that order, if it was opened again. No other end gets that number.
	LastEndNumber int64 `json:"lastEnded,omitempty"`
	// EndedAt is when it ended, LaunchedAt when it was first launched, both by the wall clock.
	EndedAt    time.Time `json:"endedAt,omitzero"`
	LaunchedAt time.Time `json:"launchedAt,omitzero"`
	// Reopened counts how often it had ended and was opened again, because an attempt was taken back.
	Reopened int `json:"reopened,omitempty"`
	// Begun is when the first process began among the attempts that were or will be followed by another one.
	Begun time.Time `json:"begun,omitzero"`
}

// Daemon reports whether this is the standing execution of a daemon job. Its shards end only to be replaced, and its
// settings are always the newest (rule X8).
func (e *Execution) Daemon() bool { return e.rec.Source == DaemonSource }

// Reruns reports whether a lost shard is run again (rule E2). The execution must have been launched.
func (e *Execution) Reruns() bool { return e.Daemon() || e.rec.Settings.Job.Failover }

// Needs returns the resources that the present attempt of a shard is allotted. The execution must have been launched.
func (e *Execution) Needs(s *Shard) resources.Amount {
	if e.Daemon() {
		return s.rec.Need
	}
	return e.rec.Settings.Job.Resources()
}

// Launched reports whether the execution was launched: it has settings and shards.
func (e *Execution) Launched() bool { return e.rec.Settings != nil }

// Waiting returns the number of shards that wait for an attempt, including those in a backoff.
func (e *Execution) Waiting() (n int) {
	for i := range e.shards {
		if e.shards[i].rec.State == Waiting {
			n++
		}
	}
	return n
}

// SettingsOf applies the run's overrides to its job's settings.
func (e *Execution) SettingsOf(cfg jobs.Config) jobs.Config {
	if e.rec.Overrides == nil {
		return cfg
	}
	return e.rec.Overrides.Apply(cfg)
}

// chunks returns the number of entries beside the header that store its shards (rule T5).
func (e *Execution) chunks() int {
	if len(e.shards) <= store.InlineShards {
		return 0
	}
	return (len(e.shards) + store.ChunkShards - 1) / store.ChunkShards
}

// State returns the state of the execution that users see.
func (e *Execution) State() State {
	if e.ring != nil {
		return e.ring.state // final, and known without iterating over the shards
	}
	if !e.Launched() {
		if !e.rec.Kill.IsZero() {
			return Killed
		}
		return Waiting
	}
	if e.shardsOpen > 0 {
		return Running
	}
	worst := Finished
	for i := range e.shards {
		switch e.shards[i].rec.State {
		case Killed:
			worst = Killed
		case Finished:
		default:
			return Failed
		}
	}
	return worst
}

// Reason is why an ended execution is not FINISHED, none if it is.
func (e *Execution) Reason() reason.Reason {
	if !e.Launched() {
		return e.rec.Kill
	}
	var first *Shard
	bad, killed := 0, 0
	for i := range e.shards {
		s := &e.shards[i]
		if s.rec.State == Killed {
			killed++
		}
		if s.rec.State.Terminal() && s.rec.State != Finished && s.rec.State != Killed {
			bad++
			if first == nil {
				first = s
			}
		}
	}
	switch {
	case e.State() == Finished:
		return reason.Reason{} // a kill may have been requested nevertheless
	case bad == 0:
		return e.killedReason()
	}
	return reason.ShardsFailed(bad+killed, killed, len(e.shards), first.rec.Item, first.rec.Cause)
}

// Unplaced is the result of the last match for an execution that it left partly unplaced. The zero value means that no
// match has tried the execution since something changed for it.
type Unplaced struct {
	Matched bool
	// Never is set if no agent, even empty, can hold one shard of it.
	Never bool
	// Reserved is set if agents that are reserved for another execution were left out.
	Reserved bool
	Why      reason.Reason
}

// killedReason returns why an execution without failed shards is KILLED: the reason of its own kill or, without one,
// the number of its killed shards with the first cause; none if no shard was killed.
func (e *Execution) killedReason() reason.Reason {
	var first *Shard
	killed, forced := 0, 0
	for i := range e.shards {
		s := &e.shards[i]
		if s.rec.State != Killed {
			continue
		}
		byForce := s.rec.Cause.Is(reason.ByForce)
		if first == nil || byForce && forced == 0 {
			first = s
		}
		if killed++; byForce {
			forced++
		}
	}
	switch {
	case !e.rec.Kill.IsZero() && forced > 0:
		return e.rec.Kill.Saying(reason.ShardsForced(forced, len(e.shards)))
	case !e.rec.Kill.IsZero():
		return e.rec.Kill
	case killed == 0:
		return reason.Reason{}
	}
	return reason.ShardsKilled(killed, len(e.shards), first.rec.Item, first.rec.Cause)
}

// Begin returns when the first known process of the execution began, by the clock of its agent; zero if none is known.
func (e *Execution) Begin() time.Time {
	first := e.rec.Begun
	for i := range e.shards {
		if at := e.shards[i].rec.Start; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// Complete returns when the last process of an ended execution ended or, if it had none, when the execution ended; by
// the wall clock.
func (e *Execution) Complete() (last time.Time) {
	for i := range e.shards {
		if s := &e.shards[i]; !s.rec.Start.IsZero() && s.rec.Complete.After(last) {
			last = s.rec.Complete
		}
	}
	if last.IsZero() {
		return e.rec.EndedAt
	}
	return last
}

// GoesOn reports whether the execution is to go on, see the function GoesOn.
func (e *Execution) GoesOn() bool { return GoesOn(e.rec.Kill) }

// GoesOn reports whether a run with that kill reason is to go on, at the latest under the next server (rule O4).
func GoesOn(kill reason.Reason) bool { return kill.IsZero() || kill.Is(reason.ServerStopped) }

// IsBusyUntil reports whether the execution needs an executor at or before then, in the time of the term: a shard of
// it runs, or its backoff ends by then (rule E6). The running shards of a standing execution do not count, because it
// needs other executors only for its waiting shards.
func (e *Execution) IsBusyUntil(then time.Time) bool {
	return slices.ContainsFunc(e.shards, func(s Shard) bool {
		return s.Live() && !e.Daemon() || s.rec.State == Waiting && !s.rec.NotBefore.After(then)
	})
}

// Timeout returns how long a task of the execution may run, 0 for no limit (rule K4). It is 0 for a daemon, whose
// tasks have no end; its executor limits the single runs. The execution must have been launched.
func (e *Execution) Timeout() time.Duration {
	if job := &e.rec.Settings.Job; job.JobExecutionType != jobs.Daemon {
		return time.Duration(job.TimeoutSeconds) * time.Second
	}
	return 0
}

// OverridesMoved reports whether the run's overrides would reach another app or address than they were given for. A
// user who may change or trigger the job may not be allowed to know them.
func (e *Execution) OverridesMoved(now *jobs.Config) bool {
	return now.AppName != e.rec.OverridesOf || SecretsTo(e.rec.Overrides, now) != e.rec.OverridesTo
}

// SecretsTo returns a fingerprint of the address to which a run of an HTTP job sends the secrets among its own
// parameters; "" if there are none.
func SecretsTo(own *jobs.Overrides, job *jobs.Config) string {
	address := job.Prop(jobs.PropHTTPURL) + "\n" + job.Prop(jobs.PropHTTPURI)
	if address == "\n" || !own.HasSecretParameters() {
		return ""
	}
	return store.Fingerprint(address)
}

// NumShards is the number of shards: 0 before the first launch.
func (e *Execution) NumShards() int { return len(e.shards) }

// Shard returns the shard with that item, which must be in 0 to NumShards-1.
func (e *Execution) Shard(item int) *Shard { return &e.shards[item] }

// Ref returns the TaskRef of the shard with that item.
func (e *Execution) Ref(item int) TaskRef { return TaskRef{e, item} }
