package attempts

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Between status updates executors report how far their tasks have come (wire.Report). These reports may get lost,
// come late or be garbage, so no call and no write depends on them. Their content is only shown to users. It is kept
// in memory only, and is dropped with the attempt, the executor or the agent that it describes.

// Message applies a message of an executor: a heartbeat, or a report of its clock and the progress of its tasks. It
// ignores any other message, and a report that did not come from the agent of its executor.
func (as *Attempts) Message(m cluster.Message) {
	r := m.Report
	switch {
	case m.Heartbeat:
		as.heartbeat(m)
		return
	case r == nil:
		return
	case as.st.Opt.TaskExecutors:
		as.recordProgress(r.Tasks, func(s *executions.Shard) bool { return s.Agent() == m.AgentID })
		return
	}
	x := as.st.Executors.Get(m.ExecutorID)
	if x == nil || x.Agent() != m.AgentID {
		return
	}
	if as.st.Executors.RecordReport(x) {
		as.st.Executions.MarkJobsChanged(func(s *executions.Shard) bool { return s.Executor() == x.ID() })
		as.st.Note(step.Note{Kind: step.NoteExecutorQuiet, Detail: x.ID() + " reports again"})
	}
	if as.st.Agents.RecordClock(x.Agent(), r.Time) {
		as.st.Executions.MarkJobsChanged(func(s *executions.Shard) bool { return s.Agent() == x.Agent() })
	}
	as.recordProgress(r.Tasks, func(s *executions.Shard) bool { return s.Executor() == x.ID() })
}

// recordProgress records the progress of the reported tasks. It leaves out tasks that are not live or do not belong to
// the reporter.
func (as *Attempts) recordProgress(tasks []wire.TaskReport, ofReporter func(*executions.Shard) bool) {
	for i := range tasks {
		t := &tasks[i]
		if ref, ok := as.st.Executions.Task(t.TaskID); ok && ofReporter(ref.Shard()) && ref.Shard().Live() {
			as.st.Executions.SetProgress(ref, as.boundedProgress(t.Progress))
		}
	}
}

// boundedProgress returns the progress that a program reports, within bounds, because programs can report anything. It
// returns nil if the program reports none, or no number.
func (as *Attempts) boundedProgress(p *wire.Progress) *executions.Progress {
	if p == nil || math.IsNaN(p.Fraction) {
		return nil
	}
	v := executions.Progress{Fraction: min(max(p.Fraction, 0), 1), Message: p.Message, Notice: p.Notice, At: p.At.UTC()}
	if len(v.Message) > wire.MaxProgressMessage {
		v.Message = strings.ToValidUTF8(v.Message[:wire.MaxProgressMessage], "")
	}
	if p.At.IsZero() || v.At.Year() < 1 || v.At.Year() > 9998 { // JSON can encode no other year
		v.At = as.st.Wall()
	}
	v.At = v.At.Truncate(time.Millisecond)
	return &v
}

// recordQuiet records, once, that the executor of a daemon's shard has sent no report for too long
// (state.State.QuietFor). The next report ends that.
func (as *Attempts) recordQuiet(e *executions.Execution, s *executions.Shard) {
	quiet := as.st.QuietFor(e, s)
	if quiet == 0 {
		return
	}
	if x := as.st.Executors.Get(s.Executor()); as.st.Executors.MarkQuiet(x) {
		as.st.JobChanged(e.Job())
		as.st.Note(step.Note{Kind: step.NoteExecutorQuiet, Job: e.Job(), Task: s.TaskID(), Problem: true,
			Detail: fmt.Sprintf("%s last reported %s ago, although its agent %s is registered", x.ID(),
				quiet.Round(time.Second), x.Agent())})
	}
}
