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

// Summary summarizes the cluster. Fields about the whole cluster are nil with a scope of some apps.
type Summary struct {
	// Jobs are the numbers of jobs by state.
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
	// LaunchesPerMinute are the launches of the last full minute. FinishedLastHour and FailedLastHour leave out runs
	// that ended under another leader.
	LaunchesPerMinute *int64 `json:"launchesPerMinute"`
	FinishedLastHour  *int64 `json:"finishedLastHour"`
	FailedLastHour    *int64 `json:"failedLastHour"`
	// FireDelayMillis is the time from a cron's fire to the launch, in the last hour; nil if there was none.
	FireDelayMillis *Percentiles `json:"fireDelayMillis"`
}

// Queue counts executions or shards that could be launched if there were resources for them.
type Queue struct {
	// Kind is READY (executions), FAILOVER, RETRY or DAEMON (shards).
	Kind          string  `json:"kind"`
	Depth         int     `json:"depth"`
	OldestSeconds float64 `json:"oldestSeconds"`
}

// Agents counts the known agents (Total), those that do not answer the master (Unreachable), and those that answer but
// take no tasks now (Closed).
type Agents struct {
	Total       int `json:"total"`
	Unreachable int `json:"unreachable"`
	Closed      int `json:"closed"`
}

// Documents has the size of the documents of all apps and jobs, in bytes, and the largest size of an app together with
// its jobs. A document that would exceed a limit is refused; a limit of 0 means none.
type Documents struct {
	Bytes           int64 `json:"bytes"`
	LimitBytes      int64 `json:"limitBytes"`
	LargestAppBytes int64 `json:"largestAppBytes"`
	AppLimitBytes   int64 `json:"appLimitBytes"`
}

// Amounts has the resources of all agents that were seen (Total), those in use by executors and tasks of this
// scheduler (Used), and the rest, which others may use (Free).
type Amounts struct {
	Total float64 `json:"total"`
	Used  float64 `json:"used"`
	Free  float64 `json:"free"`
}

// Percentiles are the median and the 95th percentile of some values.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Overview is a summary with the problems, the worst first.
type Overview struct {
	Summary  Summary
	Problems []Problem
}

// factsMaxAge is how long the facts that were read from the core are reused, because there may be many readers.
const factsMaxAge = 500 * time.Millisecond

// facts are the facts of the core, and the time at which they were read.
type facts struct {
	views.Facts
	counts views.Counts
	at     time.Time
	stale  atomic.Bool // something has changed since
}

// loadFacts returns the core's facts. It reuses those that were read less than factsMaxAge ago, unless fresh is set
// and something has changed since.
func (j *Jobs) loadFacts(ctx context.Context, now time.Time, fresh bool) (*facts, error) {
	if f := j.facts.Load(); f != nil && now.Sub(f.at).Abs() < factsMaxAge && !(fresh && f.stale.Load()) {
		return f, nil
	}
	f := &facts{at: now}
	if err := j.read(ctx, func(c *core.Core) {
		f.Facts, f.counts = c.Views().Facts(), c.Views().Counts()
	}); err != nil {
		return nil, err
	}
	j.facts.Store(f)
	return f, nil
}

// Summary summarizes the jobs in a scope. It is for streams, of which there may be many. Its data about the whole
// cluster may be factsMaxAge old, because reading them takes longer with more tasks, and the loop waits meanwhile.
func (j *Jobs) Summary(ctx context.Context, scope explain.Scope, now time.Time) (Summary, error) {
	return j.summary(ctx, scope, now, false)
}

// summary returns the summary; see loadFacts for fresh.
func (j *Jobs) summary(ctx context.Context, scope explain.Scope, now time.Time, fresh bool) (Summary, error) {
	t, err := j.Totals(ctx, scope)
	if err != nil {
		return Summary{}, err
	}
	f, err := j.loadFacts(ctx, now, fresh)
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
	r := j.minutes.rates(&f.counts)
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

// Overview returns the summary with the problems.
func (j *Jobs) Overview(ctx context.Context, scope explain.Scope, now time.Time) (Overview, error) {
	s, err := j.summary(ctx, scope, now, true)
	if err != nil {
		return Overview{}, err
	}
	f, err := j.loadFacts(ctx, now, true)
	if err != nil {
		return Overview{}, err
	}
	problems, err := j.problems(ctx, f, scope, now)
	return Overview{Summary: s, Problems: problems}, err
}
