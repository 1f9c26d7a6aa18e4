package view

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Reader calls fn with the core between two steps.
type Reader func(ctx context.Context, fn func(*core.Core)) error

// Jobs holds the rows of all jobs of a term. All methods may be called concurrently.
type Jobs struct {
	read Reader

	pendingMu sync.Mutex
	pending   pending
	wake      chan struct{} // receives a value when pending has changes

	refreshing chan struct{} // a lock: the goroutine whose value it holds reads the pending rows
	// apps has the apps, before and after the change, of jobs that were read but not reported to streams yet. Only the
	// goroutine that holds refreshing may use it.
	apps map[string][]string

	mu      sync.Mutex
	rows    map[string]*row
	order   []*row // by name, if sorted
	sorted  bool
	found   []keyed // the memory of selectRows, for reuse
	totals  Totals
	streams map[*Stream]struct{}

	minutes minutes
	facts   atomic.Pointer[facts]
}

// pending has the names that were noted but not read yet.
type pending struct {
	begun bool // false until the first refresh, which reads all jobs
	names
}

// Totals are sums over all rows.
type Totals struct {
	ByState                              map[string]int
	Running                              int // shards
	RunningExecutions, WaitingExecutions int
}

// New makes the Jobs of a term. No row is read yet.
func New(read Reader) *Jobs {
	j := &Jobs{read: read, wake: make(chan struct{}, 1), refreshing: make(chan struct{}, 1), rows: map[string]*row{},
		apps: map[string][]string{}, totals: Totals{ByState: map[string]int{}}, streams: map[*Stream]struct{}{}}
	j.wake <- struct{}{}
	return j
}

// Note records which views a committed decision has changed. It does not wait.
func (j *Jobs) Note(ch step.Changed) {
	j.pendingMu.Lock()
	j.pending.addChanged(&ch)
	j.pendingMu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

const (
	// refreshInterval is the interval between two readings of changed rows.
	refreshInterval = 100 * time.Millisecond
	// maxRowsPerRead is how many rows are read between two steps; that takes less time than a step.
	maxRowsPerRead = 200
)

// Run keeps the rows up to date until ctx ends. Then it ends all streams.
func (j *Jobs) Run(ctx context.Context) {
	defer j.endStreams()
	var sampling sync.WaitGroup
	sampling.Go(func() { j.minutes.sample(ctx, j.read) })
	defer sampling.Wait()
	for {
		select {
		case <-j.wake:
		case <-ctx.Done():
			return
		}
		_ = j.refresh(ctx) // rows that could not be read stay pending, and are tried again
		select {
		case <-time.After(refreshInterval):
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads all pending rows, and reports the changes to the streams.
func (j *Jobs) refresh(ctx context.Context) error {
	select {
	case j.refreshing <- struct{}{}:
		defer func() { <-j.refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	j.pendingMu.Lock()
	changes := j.pending
	j.pending = pending{begun: true}
	j.pendingMu.Unlock()
	if changes.begun && changes.isEmpty() {
		return nil
	}
	if f := j.facts.Load(); f != nil {
		f.stale.Store(true)
	}
	var unread []string
	err := error(nil)
	if changes.begun {
		unread = slices.Collect(maps.Keys(changes.jobs))
	} else {
		err = j.read(ctx, func(c *core.Core) { unread = c.Views().JobNames() })
	}
	for len(unread) > 0 && err == nil {
		part := unread[:min(maxRowsPerRead, len(unread))]
		found := make([]*row, len(part))
		err = j.read(ctx, func(c *core.Core) {
			for i, name := range part {
				if r, ok := c.Views().JobRow(name); ok {
					found[i] = compact(&r)
				}
			}
		})
		if err == nil {
			j.replace(part, found)
			unread = unread[len(part):]
		}
	}
	if err != nil { // all rows stay pending; j.apps has the jobs that were read, for the streams
		j.pendingMu.Lock()
		j.pending.begun = changes.begun
		j.pending.merge(&changes.names)
		j.pendingMu.Unlock()
		select {
		case j.wake <- struct{}{}:
		default:
		}
		return err
	}
	j.notifyStreams(&changes.names)
	j.apps = map[string][]string{} // a new one, because clearing does not shrink a map
	return nil
}

// replace replaces the rows with the given names; nil is for a job that was removed.
func (j *Jobs) replace(names []string, found []*row) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, name := range names {
		old, now := j.rows[name], found[i]
		for _, r := range []*row{old, now} {
			if r != nil && r.config != nil && !slices.Contains(j.apps[name], r.config.AppName) {
				j.apps[name] = append(j.apps[name], r.config.AppName)
			}
		}
		j.totals.add(old, -1)
		j.totals.add(now, 1)
		switch {
		case now == nil && old == nil:
		case now == nil:
			delete(j.rows, name)
			at, _ := slices.BinarySearchFunc(j.inOrder(), name,
				func(r *row, name string) int { return strings.Compare(r.name, name) })
			j.order = slices.Delete(j.order, at, at+1)
		case old == nil:
			j.rows[name] = now
			j.order, j.sorted = append(j.order, now), false
		default:
			*old = *now
		}
	}
}

// inOrder returns the rows sorted by name. j.mu must be held.
func (j *Jobs) inOrder() []*row {
	if !j.sorted {
		slices.SortFunc(j.order, func(a, b *row) int { return strings.Compare(a.name, b.name) })
		j.sorted = true
	}
	return j.order
}

// add adds a row to the sums, or removes it if sign is -1. It ignores nil.
func (t *Totals) add(r *row, sign int) {
	if r == nil {
		return
	}
	state := jobStates[r.state]
	if t.ByState[state] += sign; t.ByState[state] == 0 {
		delete(t.ByState, state)
	}
	t.Running += sign * int(r.running)
	t.RunningExecutions += sign * int(r.runningExecutions)
	t.WaitingExecutions += sign * int(r.waitingExecutions)
}

// Totals returns the sums over the rows in a scope.
func (j *Jobs) Totals(ctx context.Context, scope explain.Scope) (Totals, error) {
	if err := j.refresh(ctx); err != nil {
		return Totals{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if scope.IsAll() {
		t := j.totals
		t.ByState = maps.Clone(t.ByState)
		return t, nil
	}
	t := Totals{ByState: map[string]int{}}
	for _, r := range j.order {
		if r.covered(scope) {
			t.add(r, 1)
		}
	}
	return t, nil
}
