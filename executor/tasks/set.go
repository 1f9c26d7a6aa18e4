// Package tasks runs the tasks of an executor, each from its launch to its last update. A Set launches and kills the
// tasks. A task decodes its description (begin.go) and is then executed as a process (transient.go), as an HTTP request
// (httptask.go), or as a daemon's shard (daemon.go), whose runs are processes (processrunner.go) or requests
// (requestrunner.go).
//
// A task sends its updates through the ledger of package agent, without its secrets (redact.go). Between updates it
// reports progress and health; these reports may get lost (reports.go). The shards of a daemon share the concurrency
// limit of their job (slots.go). A timer wakes the shards with a precision of tens of microseconds (precisetimer.go),
// and a watch notifies them when the wall clock was set (clockwatch.go).
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
	closed bool           // Launch begins no more tasks
	number int            // of the last task
	work   sync.WaitGroup // goroutines of tasks
}

// New returns an empty set.
func New(o Options) *Set { return &Set{host: newHost(o), tasks: map[string]*task{}} }

// Launch begins a task. It ignores a task whose id it knows already (rule X5). After KillAll it does not begin the task
// and reports it as killed.
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

// Kill ends a task with this grace, or with the task's own grace if grace is nil. A grace that exceeds the task's own
// drains a daemon's shard first (task.kill). Kill ignores an unknown id.
func (s *Set) Kill(id string, grace *time.Duration) {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil {
		s.host.Log.Info("kill of an unknown task ignored", "task", id)
		return
	}
	killGrace := t.grace()
	if grace != nil {
		killGrace = *grace
	}
	// The reason is general: only the scheduler knows why it kills the task.
	t.kill(killGrace, wire.CauseKilled)
}

// KillAll ends every task with the task's own grace, but at most maxGrace, and lets no more tasks begin. The reason is
// reported as the cause.
func (s *Set) KillAll(maxGrace time.Duration, reason string) {
	s.mu.Lock()
	s.closed = true
	tasks := slices.Collect(maps.Values(s.tasks))
	s.mu.Unlock()
	for _, t := range tasks {
		t.kill(min(t.grace(), maxGrace), reason)
	}
}

// Wait returns when all tasks have ended. Call it after KillAll.
func (s *Set) Wait() {
	s.work.Wait()
	s.host.preciseTimer.wait()
}

// Serve watches the wall clock, renews the leases of exclusive tasks, and sends the reports of progress and health,
// until ctx ends.
func (s *Set) Serve(ctx context.Context, to agent.API) {
	var services sync.WaitGroup
	services.Go(func() { s.host.clock.watch(ctx) })
	services.Go(func() { s.host.Leases.Serve(ctx) })
	services.Go(func() { s.host.reports.send(ctx, to, s.host.Ledger, s.host.Log) })
	services.Wait()
}
