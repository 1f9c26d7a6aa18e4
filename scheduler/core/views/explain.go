package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// Explain describes what a job is doing and why, or returns a *problem.Error if there is no such job.
func (vs *Views) Explain(name string) (Explanation, error) {
	j := vs.st.Config.Job(name)
	if j != nil && vs.st.Config.IsFaulty(j) {
		x := Explanation{
			JobName: name, State: "FAULTY", NextFires: []time.Time{}, Waiting: []WaitingView{},
			Running: []RunningView{},
		}
		x.Note(vs.st.Config.InactiveReason(j))
		for _, e := range vs.st.Executions.Queue(j.Name()) {
			vs.explainExecution(&x, j, e)
		}
		return x, nil
	}
	if j == nil || j.Config() == nil {
		return Explanation{}, problem.NoJob(name)
	}
	x := Explanation{JobName: name, NextFires: []time.Time{}, Waiting: []WaitingView{}, Running: []RunningView{}}
	x.Note(vs.notesOf(j)...)
	if until := vs.fires.BehindUntil(); !until.IsZero() {
		x.Note(reason.ClockBehind(until))
	}
	if before, after := vs.fires.Leapt(); !after.IsZero() {
		x.Note(reason.ClockLeapt(before, after))
	}
	if until := vs.fires.MadeUntil(); !until.IsZero() {
		x.Note(reason.FiresMadeAhead(until))
	}
	if vs.st.Config.Paused(j) {
		x.Note(vs.st.Config.InactiveReason(j))
	}
	if j.Schedule() != nil {
		x.TimeZone = jobs.ZoneName(j.Schedule().Zone())
	}
	if j.Schedule() != nil && vs.st.Config.Inactive(j) == config.Active {
		at := vs.st.Wall()
		if made := vs.fires.MadeUpTo(); made.After(at) {
			at = made
		}
		for range 5 {
			if at = vs.fires.NextAfter(j, at); at.IsZero() {
				break
			}
			x.NextFires = append(x.NextFires, at)
		}
	}
	for _, e := range vs.st.Executions.Queue(j.Name()) {
		vs.explainExecution(&x, j, e)
	}
	x.Note(vs.clockNotes(x.Running)...)
	vs.explainPast(&x, j)
	vs.explainDaemon(&x, j)
	if len(x.Running) > 0 && !vs.st.Subscription.Open() {
		x.Note(reason.ShownAsLastKnown(vs.st.Subscription.Reason()))
	}
	onAgent := 0
	for _, e := range vs.st.Executions.Queue(j.Name()) {
		onAgent += countOnAgent(e)
	}
	x.State = vs.jobState(j, len(x.Running)-onAgent, len(x.Waiting)+onAgent, len(x.NextFires) > 0)
	return x, nil
}

// explainExecution adds the shards of an open execution to the explanation of its job.
func (vs *Views) explainExecution(x *Explanation, j *config.Job, e *executions.Execution) {
	if !e.Launched() {
		why, shards := vs.WaitReason(j, e), 1
		if j.Config() != nil { // otherwise the number of shards is not known
			shards = j.Config().ShardingTotalCount
		}
		for item := range min(shards, maxItemsExplained) {
			x.Waiting = append(x.Waiting,
				WaitingView{ExecutionID: e.ID(), Item: item,
					Since: vs.st.Shown(e.CreatedAt()).Truncate(time.Millisecond),
					Why:   WhyOf(why)})
		}
		return
	}
	for i := range e.NumShards() {
		s := e.Shard(i)
		switch {
		case s.State() == executions.Waiting:
			x.Waiting = append(x.Waiting,
				WaitingView{ExecutionID: e.ID(), Item: s.Item(),
					Since: vs.st.Shown(s.WaitSince()).Truncate(time.Millisecond),
					Why:   WhyOf(vs.ShardWaitReason(e, s))})
		case s.Live():
			x.Running = append(x.Running,
				RunningView{ExecutionID: e.ID(), Item: s.Item(), TaskID: s.TaskID(), State: s.State(),
					Agent: s.Agent(), Since: vs.st.Shown(s.Launched()).Truncate(time.Millisecond),
					OptionalWhy: OptionalWhy(WhyOf(vs.liveReason(s))), Progress: s.ShownProgress()})
			if why := vs.runningNote(s).Or(vs.st.QuietNote(e, s)); !why.IsZero() {
				x.Note(reason.OfItem(s.Item(), why))
			}
		case s.State() != executions.Finished:
			x.Ended = append(x.Ended, EndedView{
				ExecutionID: e.ID(), Item: s.Item(), TaskID: s.TaskID(), State: s.State(), Agent: s.Agent(),
				Why: WhyOf(s.Cause())})
		}
	}
}

// countOnAgent returns the number of launched shards of an execution that wait on their agents.
func countOnAgent(e *executions.Execution) (n int) {
	if !e.Launched() {
		return 0
	}
	for i := range e.NumShards() {
		if s := e.Shard(i); s.Live() && s.WaitsOnAgent() {
			n++
		}
	}
	return n
}

// maxItemsExplained bounds how many shards of one waiting execution are listed.
const maxItemsExplained = 1000

// liveReason returns the reason why the task of a live shard has not begun, or is not given up; the zero Reason for
// none. An exclusive task without a lease is not given up although its agent does not answer (rule K5). The executor
// of a task with a lease may not have asked for it. The agent reports any other reason why a task has not begun.
func (vs *Views) liveReason(s *executions.Shard) reason.Reason {
	switch {
	case s.Unleased() && !s.Unreachable().IsZero():
		return reason.ExclusiveUnreachable(s.TaskID(), s.Agent(), vs.st.Shown(s.Unreachable()))
	case s.WaitText() == "" && vs.st.Leases.IsOverdue(s.TaskID()):
		return reason.LeaseNotAsked(s.TaskID(), s.Agent(), vs.st.Shown(s.Launched()))
	}
	return reason.FromText(s.WaitText())
}

// runningNote returns a note about the task of a live shard: its kill is wanted, its agent does not answer, or the
// cause of its end is awaited. It returns the zero Reason for any other task.
func (vs *Views) runningNote(s *executions.Shard) reason.Reason {
	switch {
	case s.TimedOut():
		return reason.TimeoutKillRequested(vs.st.Shown(s.KillSince()))
	case s.Drain():
		return reason.EndsWithRun(s.Kill())
	case !s.KillSince().IsZero():
		return reason.KillRequested(vs.st.Shown(s.KillSince()))
	case !s.Unreachable().IsZero():
		return reason.AgentSilent(s.Agent(), vs.st.Shown(s.Unreachable()))
	case !s.EndUnclear().IsZero():
		return reason.CauseMissing(string(s.EndState()))
	}
	return reason.Reason{}
}
