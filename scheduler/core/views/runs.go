package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// ExecutionFilter selects the executions of a list. Job, States and Since select all if they are empty.
type ExecutionFilter struct {
	Job string
	// May, if not nil, reports whether the caller may see the executions of a job.
	May func(job string) bool
	// MustExist makes the list fail with NotFound for a Job that has neither a document nor a kept run.
	MustExist bool
	// States, if any, are the states to select.
	States []executions.State
	// Since leaves out executions with an earlier fire time.
	Since time.Time
	// Before and BeforeID, unless they are zero, are the fire time and the id of the last execution on the previous
	// page: the list begins with the execution after it.
	Before   time.Time
	BeforeID string
	// Limit bounds the list to the newest executions by fire time. It must be set: 0 selects none.
	Limit int
}

// Executions returns the selected executions that are open or kept, the newest fire first, or a *problem.Error.
func (vs *Views) Executions(f ExecutionFilter) ([]ExecutionSummary, error) {
	if f.MustExist && vs.st.Config.Job(f.Job) == nil && !vs.st.Executions.AnyEnded(f.Job) {
		return nil, problem.NoJob(f.Job)
	}
	var picked []*executions.Execution
	newestFirst := func(a, b *executions.Execution) int {
		if d := b.Fire().Compare(a.Fire()); d != 0 {
			return d
		}
		return strings.Compare(b.ID(), a.ID())
	}
	keepNewest := func() {
		slices.SortFunc(picked, newestFirst)
		picked = picked[:min(len(picked), f.Limit)]
	}
	visit := func(e *executions.Execution) {
		if f.Job != "" && e.Job() != f.Job || e.Fire().Before(f.Since) ||
			len(f.States) > 0 && !slices.Contains(f.States, e.State()) || !f.isAfterPage(e) {
			return
		}
		if f.May != nil && !f.May(e.Job()) {
			return
		}
		if picked = append(picked, e); len(picked) >= 2*f.Limit+100 {
			keepNewest() // there may be 100,000, and few are requested
		}
	}
	vs.eachExecution(f.Job, visit)
	keepNewest()
	list := make([]ExecutionSummary, len(picked))
	for i, e := range picked {
		list[i] = vs.summary(e)
	}
	return list, nil
}

// isAfterPage reports whether an execution comes after the page that ends with Before and BeforeID, in the order of
// the list, which has the newest first.
func (f *ExecutionFilter) isAfterPage(e *executions.Execution) bool {
	return f.Before.IsZero() || e.Fire().Before(f.Before) || e.Fire().Equal(f.Before) && e.ID() < f.BeforeID
}

// eachExecution calls visit with all executions that are open or kept, or only with those of a job unless job is "".
func (vs *Views) eachExecution(job string, visit func(*executions.Execution)) {
	if job != "" {
		for e := range vs.st.Executions.Of(job) {
			visit(e)
		}
		return
	}
	for e := range vs.st.Executions.AllOpen() {
		visit(e)
	}
	for e := range vs.st.Executions.AllEnded() {
		visit(e)
	}
}

// summary returns the view of an execution in a list.
func (vs *Views) summary(e *executions.Execution) ExecutionSummary {
	v := ExecutionSummary{ExecutionID: e.ID(), JobName: e.Job(), FireTime: e.Fire().UTC(), Source: e.Source(),
		State: e.State(), Shards: map[executions.State]int{}}
	if v.State.Terminal() {
		v.Why = WhyOf(e.Reason())
		t := e.Complete().UTC().Truncate(time.Millisecond)
		v.CompleteTime = &t
	} else if j := vs.st.Config.Job(e.Job()); j != nil && !e.Launched() {
		v.Why = WhyOf(vs.WaitReason(j, e))
	}
	if at := e.LaunchedAt(); !at.IsZero() {
		t := at.UTC().Truncate(time.Millisecond)
		v.LaunchTime = &t
	}
	if at := e.Begin(); !at.IsZero() {
		t := at.UTC().Truncate(time.Millisecond)
		v.StartTime = &t
	}
	for i := range e.NumShards() {
		v.Shards[e.Shard(i).State()]++
	}
	return v
}

// firesView returns the view of counted fires; nil if there were none.
func firesView(count int64, last time.Time, why reason.Reason) *FiresView {
	if count == 0 {
		return nil
	}
	return &FiresView{Count: count, Last: last.UTC().Truncate(time.Millisecond), Why: WhyOf(why)}
}

// explainPast explains the results of a job's runs so far.
func (vs *Views) explainPast(x *Explanation, j *config.Job) {
	pick := func(among ...executions.Result) (*executions.Execution, *ExecutionSummary) {
		e := vs.st.Executions.LastEnded(j.Name(), among...)
		if e == nil {
			return nil, nil
		}
		return e, new(vs.summary(e))
	}
	last, summary := pick(executions.ResultFinished, executions.ResultFailed, executions.ResultKilled)
	x.LastRun = summary
	_, x.LastSuccess = pick(executions.ResultFinished)
	if last != nil {
		noted := 0
		for i := range last.NumShards() {
			if s := last.Shard(i); s.State() == executions.Finished {
				noted = vs.noteFinished(x, i, last.Fire(), s.Cause(), noted)
			}
		}
	}
	f := j.Stored().Fires
	x.DroppedFires = firesView(f.Dropped, f.LastDropped, f.DroppedWhy)
	x.MissedFires = firesView(f.Missed, f.LastMissed, f.MissedWhy)
}

// keptText describes which ended executions are kept.
func (vs *Views) keptText() string {
	return fmt.Sprintf(
		"of each job the last %d that finished, %d that failed and %d that were killed, and %d of all jobs",
		executions.RingSizes[executions.ResultFinished], executions.RingSizes[executions.ResultFailed],
		executions.RingSizes[executions.ResultKilled], vs.st.Opt.MaxEnded)
}
