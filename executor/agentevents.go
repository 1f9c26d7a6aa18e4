package executor

import (
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
)

// launch begins a task, unless its id is known (rule X5).
func (s *session) launch(a agent.Assignment) {
	if !s.ledger.Add(a) {
		s.log.Warn("launch of a known task ignored", "task", a.ID)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	t := newTask(s, a, s.number)
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

// kill ends a task, with its own grace unless the agent names another.
func (s *session) kill(id string, grace *time.Duration) {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil {
		s.log.Info("kill of an unknown task ignored", "task", id)
		return
	}
	wait := t.grace()
	if grace != nil {
		wait = *grace
	}
	// The scheduler alone knows why.
	t.kill(wait, "killed")
}

// obey does what an event asks. Other events than these, such as heartbeats, ask nothing.
func (s *session) obey(e *executor.Event, shutdown func()) {
	switch {
	case e.Type == executor.Event_LAUNCH && e.Launch != nil:
		t := e.Launch.Task
		s.launch(agent.Assignment{ID: t.TaskID.Value, Data: t.Data, Raw: t})
	case e.Type == executor.Event_KILL && e.Kill != nil:
		var grace *time.Duration
		if named := e.Kill.GetKillPolicy().GetGracePeriod(); named != nil {
			d := time.Duration(named.Nanoseconds)
			grace = &d
		}
		s.kill(e.Kill.TaskID.Value, grace)
	case e.Type == executor.Event_ACKNOWLEDGED && e.Acknowledged != nil:
		s.ledger.Acknowledge(e.Acknowledged.TaskID.Value, e.Acknowledged.UUID)
	case e.Type == executor.Event_SHUTDOWN:
		shutdown()
	case e.Type == executor.Event_ERROR && e.Error != nil:
		s.log.Error("error received from the agent", "error", e.Error.Message)
	}
}
