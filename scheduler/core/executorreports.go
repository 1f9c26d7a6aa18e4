package core

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
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
		c.learnProgress(r.Tasks, func(s *shard) bool { return s.Agent == m.AgentID })
		return
	}
	x := c.executors.byID[m.ExecutorID]
	if x == nil || x.Agent != m.AgentID {
		return
	}
	x.reportedAt = c.Now()
	if x.quiet {
		x.quiet = false
		c.seeRunning(func(s *shard) bool { return s.Executor == x.Info.ID })
		c.Note(step.Note{Kind: step.NoteExecutorQuiet, Detail: x.Info.ID + " is heard again"})
	}
	if a := c.agents.byID[x.Agent]; a != nil && !r.Time.IsZero() {
		a.clock.hear(c.Now(), r.Time)
		c.noteClock(a)
	}
	c.learnProgress(r.Tasks, func(s *shard) bool { return s.Executor == x.Info.ID })
}

// learnProgress takes the progress of those of the tasks that are the reporter's.
func (c *Core) learnProgress(tasks []wire.TaskReport, own func(*shard) bool) {
	for i := range tasks {
		t := &tasks[i]
		if ref, ok := c.executions.tasks[t.TaskID]; ok && own(ref.shard()) && ref.shard().live() {
			s, now := ref.shard(), c.progress(t.Progress)
			if was := s.progress; (was == nil) != (now == nil) || now != nil && *was != *now {
				s.progress = now
				c.SeeExecution(ref.exec.ID, ref.exec.Job)
			}
		}
	}
}

// progress is what a program says of its progress, within bounds, or nil: it can be anything.
func (c *Core) progress(p *wire.Progress) *ProgressView {
	if p == nil || math.IsNaN(p.Fraction) {
		return nil
	}
	v := ProgressView{Fraction: min(max(p.Fraction, 0), 1), Message: p.Message, At: p.At.UTC()}
	if len(v.Message) > wire.MaxProgressMessage {
		v.Message = strings.ToValidUTF8(v.Message[:wire.MaxProgressMessage], "")
	}
	if p.At.IsZero() || v.At.Year() < 1 || v.At.Year() > 9998 { // JSON holds no other year
		v.At = c.Wall()
	}
	v.At = v.At.Truncate(time.Millisecond)
	return &v
}

// shownProgress is the progress of a shard's task while that is on the cluster.
func (s *shard) shownProgress() *ProgressView {
	if !s.live() {
		return nil
	}
	return s.progress
}

// remoteClock is what reports tell of the clock of an agent. A report that took long to arrive looks like one of a clock that is
// behind; none can look like one of a clock further ahead than it is. So the newest of the last clockSamples, that is the one which was
// the quickest on its way, is the nearest to the truth: if it is ahead, so is the clock, and the clock is taken
// for behind only when all of them are.
type remoteClock struct {
	samples []clockSample // the oldest first
	// off is how far it was noted to be ahead, or behind if negative; 0 while it is right. It is what people see, and follows what is
	// heard by steps of clockOff: each of them changes all explanations of what runs there.
	off time.Duration
}

// clockSample is the quickest of the reports that came close together: when a leader wakes up they all come at once, and all late.
type clockSample struct {
	at    time.Time
	ahead time.Duration // of the time of the term
}

const (
	clockSamples = 6
	sampleEvery  = wire.ReportEvery / 2
	// clockOff is how far a clock may be off.
	clockOff = time.Second
	// clockOffMost is what is taken for garbage, and for no clock.
	clockOffMost = 100 * 365 * 24 * time.Hour
)

// hear takes the time by the agent's clock of a report that arrives now.
func (r *remoteClock) hear(now, its time.Time) {
	ahead := its.Sub(now)
	if ahead.Abs() > clockOffMost {
		return
	}
	if n := len(r.samples); n > 0 && now.Sub(r.samples[n-1].at) < sampleEvery {
		r.samples[n-1].ahead = max(r.samples[n-1].ahead, ahead)
		return
	}
	r.samples = append(r.samples, clockSample{now, ahead})
	r.samples = r.samples[max(len(r.samples)-clockSamples, 0):]
}

// drift is how far the clock is ahead of one that is wall when the term's is now; negative when it is behind, 0 while it is right
// or too little is known. One that was off must come nearer than that to be right again.
func (r *remoteClock) drift(now, wall time.Time) time.Duration {
	if len(r.samples) == 0 {
		return 0
	}
	newest := slices.MaxFunc(r.samples, func(a, b clockSample) int { return cmp.Compare(a.ahead, b.ahead) })
	ahead, limit := newest.ahead-wall.Sub(now), clockOff
	if r.off != 0 {
		limit /= 2
	}
	if ahead > limit || ahead < -limit && len(r.samples) == clockSamples {
		return ahead
	}
	return 0
}

// noteClock notes that an agent's clock is off, or right again.
func (c *Core) noteClock(a *agent) {
	was, drift := a.clock.off, a.clock.drift(c.Now(), c.Wall())
	turned := cmp.Compare(drift, 0) != cmp.Compare(was, 0)
	if !turned && (drift-was).Abs() < clockOff {
		return
	}
	a.clock.off = drift
	c.SeeCluster()
	c.seeRunning(func(s *shard) bool { return s.Agent == a.id })
	switch {
	case turned && drift == 0:
		c.Note(step.Note{Kind: step.NoteAgentClock, Detail: fmt.Sprintf("the clock of agent %s is right again", a.id)})
	case turned:
		c.Note(step.Note{Kind: step.NoteAgentClock, Detail: c.clockNote(a.id).String(), Problem: true})
	}
}

// clockNote says that the clock of an agent is off, or nothing.
func (c *Core) clockNote(agentID string) reason.Reason {
	a := c.agents.byID[agentID]
	if a == nil || a.clock.off == 0 {
		return reason.Reason{}
	}
	return reason.ClockOff(reason.Agent{ID: a.id, Host: a.host}, a.clock.off.Round(100*time.Millisecond))
}

// clockNotes say of the agents of what runs which clocks are off. Some may be none.
func (c *Core) clockNotes(running []RunningView) (notes []reason.Reason) {
	seen := map[string]bool{}
	for i := range running {
		if id := running[i].Agent; !seen[id] {
			seen[id] = true
			notes = append(notes, c.clockNote(id))
		}
	}
	return notes
}

// quietAfter is after how long without a word an executor with a daemon's shard is called quiet: it should report every
// wire.ReportEvery.
const quietAfter = time.Minute

// quietFor is for how long nothing has come from the executor of a daemon's shard, nor anything else that would explain it; 0
// while that is less than quietAfter.
func (c *Core) quietFor(e *execution, s *shard) time.Duration {
	x, a := c.executors.byID[s.Executor], c.agents.byID[s.Agent]
	if x == nil || a == nil || !a.registered || !c.subscription.open || s.State != Running || !s.Unreachable.IsZero() || e.Settings.Job.JobExecutionType != jobs.Daemon {
		return 0
	}
	since := slices.MaxFunc([]time.Time{x.reportedAt, x.lastUpdate, a.registeredAt, s.Launched}, time.Time.Compare)
	if quiet := c.Now().Sub(since); quiet >= quietAfter {
		return quiet
	}
	return 0
}

func (c *Core) quietNote(e *execution, s *shard) reason.Reason {
	if quiet := c.quietFor(e, s); quiet > 0 {
		return reason.ExecutorQuiet(quiet.Round(time.Second), s.Agent)
	}
	return reason.Reason{}
}

// noteQuiet notes, once, that the executor of a daemon's shard has become quiet. Its next report ends that.
func (c *Core) noteQuiet(e *execution, s *shard) {
	quiet := c.quietFor(e, s)
	if quiet == 0 {
		return
	}
	if x := c.executors.byID[s.Executor]; !x.quiet {
		x.quiet = true
		c.SeeJob(e.Job)
		c.Note(step.Note{Kind: step.NoteExecutorQuiet, Job: e.Job, Task: s.TaskID, Problem: true,
			Detail: fmt.Sprintf("%s was last heard %s ago, though its agent %s is registered", x.Info.ID, quiet.Round(time.Second), x.Agent)})
	}
}
