package core

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/wire"
)

// Between status updates executors say how far their tasks have come, and show that they live (wire.Report). These reports
// may get lost, come late or be garbage, so they decide nothing: no call and no write depends on them. What they say is for people,
// is kept in memory only, and goes with the attempt, the executor or the agent that it is about.

// reported takes what an executor reports of itself. Messages of others than our executors are ignored.
func (c *Core) reported(m cluster.Message) {
	r := m.Report
	if r == nil {
		return
	}
	if c.Opt.TaskExecutors {
		c.learnProgress(r.Tasks, func(s *executions.Shard) bool { return s.Agent() == m.AgentID })
		return
	}
	x := c.executors.Get(m.ExecutorID)
	if x == nil || x.Agent() != m.AgentID {
		return
	}
	if c.executors.HeardReport(x) {
		c.seeRunning(func(s *executions.Shard) bool { return s.Executor() == x.ID() })
		c.Note(step.Note{Kind: step.NoteExecutorQuiet, Detail: x.ID() + " is heard again"})
	}
	if c.agents.ClockReported(x.Agent(), r.Time) {
		c.seeRunning(func(s *executions.Shard) bool { return s.Agent() == x.Agent() })
	}
	c.learnProgress(r.Tasks, func(s *executions.Shard) bool { return s.Executor() == x.ID() })
}

// learnProgress takes the progress of those of the tasks that are the reporter's.
func (c *Core) learnProgress(tasks []wire.TaskReport, own func(*executions.Shard) bool) {
	for i := range tasks {
		t := &tasks[i]
		if ref, ok := c.executions.Task(t.TaskID); ok && own(ref.Shard()) && ref.Shard().Live() {
			c.executions.Progressed(ref, c.progress(t.Progress))
		}
	}
}

// progress is what a program says of its progress, within bounds, or nil: it can be anything.
func (c *Core) progress(p *wire.Progress) *executions.Progress {
	if p == nil || math.IsNaN(p.Fraction) {
		return nil
	}
	v := executions.Progress{Fraction: min(max(p.Fraction, 0), 1), Message: p.Message, At: p.At.UTC()}
	if len(v.Message) > wire.MaxProgressMessage {
		v.Message = strings.ToValidUTF8(v.Message[:wire.MaxProgressMessage], "")
	}
	if p.At.IsZero() || v.At.Year() < 1 || v.At.Year() > 9998 { // JSON holds no other year
		v.At = c.Wall()
	}
	v.At = v.At.Truncate(time.Millisecond)
	return &v
}

// clockNotes say of the agents of what runs which clocks are off. Some may be none.
func (c *Core) clockNotes(running []RunningView) (notes []reason.Reason) {
	seen := map[string]bool{}
	for i := range running {
		if id := running[i].Agent; !seen[id] {
			seen[id] = true
			notes = append(notes, c.agents.ClockNote(id))
		}
	}
	return notes
}

// quietAfter is after how long without a word an executor with a daemon's shard is called quiet: it should report every
// wire.ReportEvery.
const quietAfter = time.Minute

// quietFor is for how long nothing has come from the executor of a daemon's shard, nor anything else that would explain it; 0
// while that is less than quietAfter.
func (c *Core) quietFor(e *executions.Execution, s *executions.Shard) time.Duration {
	x, a := c.executors.Get(s.Executor()), c.agents.Get(s.Agent())
	if x == nil || a == nil || !a.Registered() || !c.subscription.Open() || s.State() != executions.Running || !s.Unreachable().IsZero() || e.Settings().Job.JobExecutionType != jobs.Daemon {
		return 0
	}
	since := slices.MaxFunc([]time.Time{x.ReportedAt(), x.LastUpdate(), a.RegisteredAt(), s.Launched()}, time.Time.Compare)
	if quiet := c.Now().Sub(since); quiet >= quietAfter {
		return quiet
	}
	return 0
}

func (c *Core) quietNote(e *executions.Execution, s *executions.Shard) reason.Reason {
	if quiet := c.quietFor(e, s); quiet > 0 {
		return reason.ExecutorQuiet(quiet.Round(time.Second), s.Agent())
	}
	return reason.Reason{}
}

// noteQuiet notes, once, that the executor of a daemon's shard has become quiet. Its next report ends that.
func (c *Core) noteQuiet(e *executions.Execution, s *executions.Shard) {
	quiet := c.quietFor(e, s)
	if quiet == 0 {
		return
	}
	if x := c.executors.Get(s.Executor()); c.executors.BecameQuiet(x) {
		c.SeeJob(e.Job())
		c.Note(step.Note{Kind: step.NoteExecutorQuiet, Job: e.Job(), Task: s.TaskID(), Problem: true,
			Detail: fmt.Sprintf("%s was last heard %s ago, though its agent %s is registered", x.ID(), quiet.Round(time.Second), x.Agent())})
	}
}
