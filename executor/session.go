package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/lease"
	"github.com/elasticjob-go/elasticjob/executor/tasks"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Errors of [Run]. In each case all tasks were stopped at once.
var (
	// ErrUnknown means that the agent refused this executor, because it does not know it (rule X6).
	ErrUnknown = errors.New("the agent doesn't know this executor; its tasks were stopped")
	// ErrAway means that the agent was unreachable for longer than the recovery timeout. Without checkpoint, any loss
	// of the agent has this error (rule X6).
	ErrAway = errors.New("no contact with the agent; all tasks were stopped")
	// ErrSupervisorEnded means that the supervisor process ended.
	ErrSupervisorEnded = errors.New("the supervisor process ended; its tasks were stopped")
)

// session is an executor's conversation with its agent.
type session struct {
	config Config
	log    *slog.Logger
	agent  agent.API
	ledger *agent.Ledger
	tasks  *tasks.Set
	leases *lease.Holder
}

// listen keeps the executor subscribed. At SHUTDOWN it closes shutdown. It returns when the tasks must be stopped at
// once (rule X6), or when ctx ends.
func (s *session) listen(ctx context.Context, shutdown chan struct{}) error {
	retryInterval := min(max(s.config.BackoffMax/4, 10*time.Millisecond), 500*time.Millisecond) // rule X5
	lastSeen := time.Now()
	closeShutdown := sync.OnceFunc(func() { close(shutdown) })
	for wasSubscribed := false; ; {
		unacknowledged, updates := s.ledger.Unacknowledged()
		stream, err := s.agent.Subscribe(ctx, unacknowledged, updates)
		if err == nil {
			s.log.Info("executor subscribed", "unacknowledged_tasks", len(unacknowledged), "unacknowledged_updates",
				len(updates))
			s.ledger.Connect(updates)
			err = s.readEvents(stream, closeShutdown)
			s.ledger.Disconnect()
			lastSeen, wasSubscribed = time.Now(), true
			if ctx.Err() == nil {
				s.log.Warn("agent disconnected", "error", err)
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, agent.ErrUnknown):
			s.log.Error("executor refused by the agent: all tasks stopped", "error", err)
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		case !s.config.Checkpoint && wasSubscribed,
			!s.config.Checkpoint && time.Since(lastSeen) > agent.AnswerTimeout,
			time.Since(lastSeen) > s.config.Recovery:
			s.log.Error("agent unreachable: all tasks stopped", "error", err, "for",
				time.Since(lastSeen).Round(time.Millisecond))
			return fmt.Errorf("%w: %w", ErrAway, err)
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
		}
	}
}

// readEvents handles events until the stream ends. The end of Subscribe's context ends the stream, too.
func (s *session) readEvents(stream agent.Events, onShutdown func()) error {
	defer stream.Close()
	for {
		e, err := stream.Next()
		if err != nil {
			return err
		}
		s.handleEvent(e, onShutdown)
	}
}

// handleEvent carries out an event. It ignores events of other types, such as heartbeats.
func (s *session) handleEvent(e *executor.Event, onShutdown func()) {
	switch {
	case e.Type == executor.Event_LAUNCH && e.Launch != nil:
		t := e.Launch.Task
		s.tasks.Launch(agent.Assignment{ID: t.TaskID.Value, Data: t.Data, Raw: t})
	case e.Type == executor.Event_KILL && e.Kill != nil:
		var grace *time.Duration
		if period := e.Kill.GetKillPolicy().GetGracePeriod(); period != nil {
			d := time.Duration(period.Nanoseconds)
			grace = &d
		}
		s.tasks.Kill(e.Kill.TaskID.Value, grace)
	case e.Type == executor.Event_ACKNOWLEDGED && e.Acknowledged != nil:
		s.ledger.Acknowledge(e.Acknowledged.TaskID.Value, e.Acknowledged.UUID)
	case e.Type == executor.Event_MESSAGE && e.Message != nil:
		s.leases.Receive(e.Message.Data)
	case e.Type == executor.Event_SHUTDOWN:
		onShutdown()
	case e.Type == executor.Event_ERROR && e.Error != nil:
		s.log.Error("agent reported an error", "error", e.Error.Message)
	}
}

// send delivers updates, one after the other, until the ledger is closed.
func (s *session) send(ctx context.Context) {
	for {
		u, ok := s.ledger.Take()
		if !ok {
			return
		}
		err := s.agent.Update(ctx, u)
		if s.ledger.SendDone(u, err) && ctx.Err() == nil {
			s.log.Warn("update not accepted, retrying", "task", u.Task, "error", err)
		}
	}
}

// reportReserve bounds the part of the shutdown grace that is reserved for sending the last updates, after all tasks
// have ended.
const reportReserve = 3 * time.Second

// ShutdownGrace returns the shutdown grace to request from an agent, so that tasks get taskGrace at SHUTDOWN. A
// taskGrace of 0 means the default grace, as in wire.Task.
func ShutdownGrace(taskGrace time.Duration) time.Duration {
	if taskGrace <= 0 {
		taskGrace = wire.DefaultKillGrace
	}
	return taskGrace + reportReserve + reportReserve/2
}

// splitGrace divides the shutdown grace: tasks get SIGKILL after taskGrace, and the executor ends after end.
func splitGrace(shutdownGrace time.Duration) (end, taskGrace time.Duration) {
	end = shutdownGrace - min(shutdownGrace/10, reportReserve/2)
	return end, end - min(end/4, reportReserve)
}

// drain kills all tasks with their grace, and sends the last updates in the rest of the shutdown grace.
func (s *session) drain() {
	end, maxTaskGrace := splitGrace(s.config.ShutdownGrace)
	deadline := time.Now().Add(end)
	s.tasks.KillAll(maxTaskGrace, "killed because the executor is shut down")
	ended := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(end):
	}
	s.flushWithin(max(time.Until(deadline), 100*time.Millisecond))
}

// flushWithin waits until all updates are acknowledged, at most for limit.
func (s *session) flushWithin(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.ledger.Flush(ctx)
}
