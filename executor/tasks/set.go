// Package tasks has the tasks of an executor, each from its launch to its last update. A Set launches them and kills
// them; begin.go takes a task from its description to what runs it: a process (transient.go), a request (httptask.go),
// or as a daemon's shard (daemon.go), whose runs are the one or the other (processrunner.go, requestrunner.go).
//
// A task reports by the ledger of package agent, and without what it was given as a secret (conceal.go). What is said
// between updates, progress and health, may get lost (reports.go). A daemon's shards share the turns of their job
// (turns.go), and are woken to the microsecond (alarm.go) by a clock that somebody may set (clockwatch.go).
package tasks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
)

// Set has the tasks of an executor that have not ended.
type Set struct {
	host *host

	mu     sync.Mutex
	tasks  map[string]*task
	closed bool // no more tasks
	number int
	work   sync.WaitGroup // tasks
}

// New is an empty set.
func New(o Options) *Set { return &Set{host: newHost(o), tasks: map[string]*task{}} }

// Launch begins a task, unless its id is known (rule X5).
func (s *Set) Launch(a agent.Assignment) {
	if !s.host.Ledger.Add(a) {
		s.host.Log.Warn("launch of a known task ignored", "task", a.ID)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	t := newTask(s.host, a, s.number)
	if s.closed {
		t.report(agent.Killed, "the executor is shutting down", t.status)
		return
	}
	s.tasks[a.ID] = t
	s.work.Go(func() {
		t.run()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tasks, a.ID)
	})
}

// Kill ends a task, with its own grace unless the agent names another.
func (s *Set) Kill(id string, grace *time.Duration) {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil {
		s.host.Log.Info("kill of an unknown task ignored", "task", id)
		return
	}
	wait := t.grace()
	if grace != nil {
		wait = *grace
	}
	// The scheduler alone knows why.
	t.kill(wait, "killed")
}

// KillAll ends every task, with its own grace but no more than most, and lets no more begin.
func (s *Set) KillAll(most time.Duration, why string) {
	s.mu.Lock()
	s.closed = true
	tasks := slices.Collect(maps.Values(s.tasks))
	s.mu.Unlock()
	for _, t := range tasks {
		t.kill(min(t.grace(), most), why)
	}
}

// Wait returns when no task is left. It is called after KillAll.
func (s *Set) Wait() {
	s.work.Wait()
	s.host.alarm.wait()
}

// Serve does what tasks need beside them, until ctx ends: it looks at the wall clock, and sends what they say between
// their updates.
func (s *Set) Serve(ctx context.Context, to agent.API) {
	var all sync.WaitGroup
	all.Go(func() { s.host.clock.watch(ctx) })
	all.Go(func() { s.host.reports.send(ctx, to, s.host.Ledger, s.host.Log) })
	all.Wait()
}
