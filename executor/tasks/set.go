// Package tasks runs the tasks of an executor, each from its launch to its last update. A Set launches and kills
// them. begin.go decodes a task's description and begins what executes it: a process (transient.go), an HTTP
// request (httptask.go), or a daemon's shard (daemon.go), whose runs are processes (processrunner.go) or requests
// (requestrunner.go).
//
// A task reports through the ledger of package agent, with its secrets removed (redact.go). Progress and health, which
// are sent between updates, may get lost (reports.go). The shards of a daemon share the concurrency limit of their job
// (slots.go). A timer wakes them with a precision of microseconds (precisetimer.go), and a watch notifies them when
// the wall clock was set (clockwatch.go).
package tasks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Set holds the tasks of an executor that have not ended. Its methods may be called by any goroutine.
type Set struct {
	host *host

	mu     sync.Mutex
	tasks  map[string]*task
	closed bool // Launch begins no more tasks
	number int
	work   sync.WaitGroup // goroutines of tasks
}

// New returns an empty set.
func New(o Options) *Set { return &Set{host: newHost(o), tasks: map[string]*task{}} }

// Launch begins a task. It ignores a task whose id is known already (rule X5). After KillAll it reports the task as
// killed.
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

// Kill ends a task, with the agent's grace, or with the task's own if grace is nil. It ignores an id that is not
// known.
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
	// Only the scheduler knows the reason of the kill.
	t.kill(wait, wire.CauseKilled)
}

// KillAll ends every task, with its own grace but at most maxGrace, and lets no more tasks begin. why is reported as
// the cause.
func (s *Set) KillAll(maxGrace time.Duration, why string) {
	s.mu.Lock()
	s.closed = true
	tasks := slices.Collect(maps.Values(s.tasks))
	s.mu.Unlock()
	for _, t := range tasks {
		t.kill(min(t.grace(), maxGrace), why)
	}
}

// Wait returns when no task is left. Call it after KillAll.
func (s *Set) Wait() {
	s.work.Wait()
	s.host.preciseTimer.wait()
}

// Serve watches the wall clock and sends the reports of progress and health, until ctx ends.
func (s *Set) Serve(ctx context.Context, to agent.API) {
	var all sync.WaitGroup
	all.Go(func() { s.host.clock.watch(ctx) })
	all.Go(func() { s.host.reports.send(ctx, to, s.host.Ledger, s.host.Log) })
	all.Wait()
}
