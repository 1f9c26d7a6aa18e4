package core

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
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
		c.executions.SeeRunning(func(s *executions.Shard) bool { return s.Executor() == x.ID() })
		c.Note(step.Note{Kind: step.NoteExecutorQuiet, Detail: x.ID() + " is heard again"})
	}
	if c.agents.ClockReported(x.Agent(), r.Time) {
		c.executions.SeeRunning(func(s *executions.Shard) bool { return s.Agent() == x.Agent() })
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

// noteQuiet notes, once, that the executor of a daemon's shard has become quiet. Its next report ends that.
func (c *Core) noteQuiet(e *executions.Execution, s *executions.Shard) {
	quiet := c.st.QuietFor(e, s)
	if quiet == 0 {
		return
	}
	if x := c.executors.Get(s.Executor()); c.executors.BecameQuiet(x) {
		c.SeeJob(e.Job())
		c.Note(step.Note{Kind: step.NoteExecutorQuiet, Job: e.Job(), Task: s.TaskID(), Problem: true,
			Detail: fmt.Sprintf("%s was last heard %s ago, though its agent %s is registered", x.ID(), quiet.Round(time.Second), x.Agent())})
	}
}
