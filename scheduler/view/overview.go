package view

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Summary is the cluster at a glance. What is about the whole of it is nil for who sees some apps only.
type Summary struct {
	// Jobs are how many are in which state.
	Jobs              map[string]int `json:"jobs"`
	Apps              int            `json:"apps"`
	RunningShards     int            `json:"runningShards"`
	RunningExecutions int            `json:"runningExecutions"`
	WaitingExecutions int            `json:"waitingExecutions"`
	Queues            []Queue        `json:"queues" nullable:"true"`
	Subscribed        *bool          `json:"subscribed"`
	Agents            *Agents        `json:"agents"`
	CPUs              *Amounts       `json:"cpus"`
	MemoryMB          *Amounts       `json:"memoryMB"`
	Documents         *Documents     `json:"documents"`
	// LaunchesPerMinute are those of the last full minute; what ended in the last hour did so under this leader.
	LaunchesPerMinute *int64 `json:"launchesPerMinute"`
	FinishedLastHour  *int64 `json:"finishedLastHour"`
	FailedLastHour    *int64 `json:"failedLastHour"`
	// FireDelayMillis is from a cron's moment to the launch, in the last hour; nil when there was none.
	FireDelayMillis *Percentiles `json:"fireDelayMillis"`
}

// Queue is what could be launched if there were resources for it.
type Queue struct {
	// Kind is READY (executions), FAILOVER, RETRY or DAEMON (shards).
	Kind          string  `json:"kind"`
	Depth         int     `json:"depth"`
	OldestSeconds float64 `json:"oldestSeconds"`
}

// Agents are how many are known, how many of them do not answer the master, and how many answer and take no tasks now.
type Agents struct {
	Total       int `json:"total"`
	Unreachable int `json:"unreachable"`
	Closed      int `json:"closed"`
}

// Documents are how many bytes the documents of all apps and jobs have, and those of the app that has the most with
// its jobs. What would go beyond a limit is refused; a limit of 0 is none.
type Documents struct {
	Bytes           int64 `json:"bytes"`
	LimitBytes      int64 `json:"limitBytes"`
	LargestAppBytes int64 `json:"largestAppBytes"`
	AppLimitBytes   int64 `json:"appLimitBytes"`
}

// Amounts are what was seen of all agents, what executors and tasks of this scheduler have of it, and the rest, which
// others may use.
type Amounts struct {
	Total float64 `json:"total"`
	Used  float64 `json:"used"`
	Free  float64 `json:"free"`
}

// Percentiles are below what the half, and 95 of 100, of some values are.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Overview is a summary, and what is wrong, the worst first.
type Overview struct {
	Summary  Summary
	Problems []Problem
}

// factsFor is for how long what was read of the core for an overview holds: many may watch.
const factsFor = 500 * time.Millisecond

// facts are what the core says, and when it said it.
type facts struct {
	views.Facts
	counts views.Counts
	at     time.Time
	old    atomic.Bool // something was named as changed since
}

// look reads the core's facts, unless that was done a moment ago; those that are old hold only for who does not want
// them fresh.
func (j *Jobs) look(ctx context.Context, now time.Time, fresh bool) (*facts, error) {
	if f := j.facts.Load(); f != nil && now.Sub(f.at).Abs() < factsFor && !(fresh && f.old.Load()) {
		return f, nil
	}
	f := &facts{at: now}
	if err := j.read(ctx, func(c *core.Core) {
		f.Facts, f.counts = c.Views().Facts(),
			c.Views().Counts()
	}); err != nil {
		return nil, err
	}
	j.facts.Store(f)
	return f, nil
}

// Summary sums up what is in a scope. It is for streams, of which there may be many: what it says of the whole cluster
// may be half a second old, since reading that takes the longer the more tasks run, and the loop waits meanwhile.
func (j *Jobs) Summary(ctx context.Context, scope explain.Scope, now time.Time) (Summary, error) {
	return j.summary(ctx, scope, now, false)
}

func (j *Jobs) summary(ctx context.Context, scope explain.Scope, now time.Time, fresh bool) (Summary, error) {
	t, err := j.Totals(ctx, scope)
	if err != nil {
		return Summary{}, err
	}
	f, err := j.look(ctx, now, fresh)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Jobs: t.ByState, RunningShards: t.Running, RunningExecutions: t.RunningExecutions,
		WaitingExecutions: t.WaitingExecutions}
	for _, name := range f.Apps {
		if scope.Covers(name) {
			s.Apps++
		}
	}
	if !scope.IsAll() {
		return s, nil
	}
	r := j.minutes.upTo(&f.counts)
	s.Queues = []Queue{queueOf("READY", &f.Ready), queueOf("FAILOVER", &f.Failover), queueOf("RETRY", &f.Retry),
		queueOf("DAEMON", &f.Daemon)}
	s.Subscribed = &f.Subscribed
	s.Agents = &Agents{Total: f.Agents.Total, Unreachable: f.Agents.Unreachable, Closed: f.Agents.Closed}
	d := f.Facts.Documents
	s.Documents = &Documents{Bytes: d.Bytes, LimitBytes: d.Limit, LargestAppBytes: d.LargestApp,
		AppLimitBytes: d.PerAppLimit}
	amounts := func(part func(resources.Amount) int64) *Amounts {
		total, used := part(f.Agents.Capacity), part(f.Agents.Used)
		return &Amounts{Total: float64(total) / 1000, Used: float64(used) / 1000,
			Free: float64(max(total-used, 0)) / 1000}
	}
	s.CPUs = amounts(func(a resources.Amount) int64 { return a.CPUMilli })
	s.MemoryMB = amounts(func(a resources.Amount) int64 { return a.MemMilli })
	s.LaunchesPerMinute, s.FinishedLastHour, s.FailedLastHour, s.FireDelayMillis = &r.perMinute, &r.finished,
		&r.failed, r.delay
	return s, nil
}

func queueOf(kind string, q *stats.Queue) Queue {
	return Queue{Kind: kind, Depth: q.Depth, OldestSeconds: q.Oldest.Seconds()}
}

// Overview is the summary with what is wrong.
func (j *Jobs) Overview(ctx context.Context, scope explain.Scope, now time.Time) (Overview, error) {
	s, err := j.summary(ctx, scope, now, true)
	if err != nil {
		return Overview{}, err
	}
	f, err := j.look(ctx, now, true)
	if err != nil {
		return Overview{}, err
	}
	problems, err := j.problems(ctx, f, scope, now)
	return Overview{Summary: s, Problems: problems}, err
}
