package core

import (
	"slices"
	"strings"
	"time"
)

// ExecutionSummary is one run of a job in a list: ExecutionView without its shards.
type ExecutionSummary struct {
	ExecutionID string    `json:"executionId"`
	JobName     string    `json:"jobName"`
	FireTime    time.Time `json:"fireTime"`
	Source      Source    `json:"source"`
	State       State     `json:"state"`
	// Reason says what a run that waits is waiting for, and why one that ended is not FINISHED.
	Reason string `json:"reason"`
	// StartTime is when its first process began, CompleteTime when its last shard had ended.
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	// Shards are how many of its shards are in which state; none before they are launched.
	Shards map[State]int `json:"shards"`
}

// ExecutionFilter says which executions a list is to have. The zero value is for all.
type ExecutionFilter struct {
	Job string
	// Known refuses a job of which nothing is known.
	Known bool
	// States, if any, are those that the executions may be in.
	States []State
	// Since leaves out what was fired before.
	Since time.Time
	// Limit is how many are listed at most: the newest by fire time. 0 is for none.
	Limit int
}

// Executions lists runs that live or are kept, the newest fire first.
func (c *Core) Executions(f ExecutionFilter) ([]ExecutionSummary, error) {
	if f.Known && c.config.jobs[f.Job] == nil && c.executions.ended.jobs[f.Job] == nil {
		return nil, jobNotFound(f.Job)
	}
	var picked []*execution
	newestFirst := func(a, b *execution) int {
		if d := b.Fire.Compare(a.Fire); d != 0 {
			return d
		}
		return strings.Compare(b.ID, a.ID)
	}
	cut := func() {
		slices.SortFunc(picked, newestFirst)
		picked = picked[:min(len(picked), f.Limit)]
	}
	look := func(e *execution) {
		if f.Job != "" && e.Job != f.Job || e.Fire.Before(f.Since) || len(f.States) > 0 && !slices.Contains(f.States, e.state()) {
			return
		}
		if picked = append(picked, e); len(picked) >= 2*f.Limit+100 {
			cut() // there may be 100,000, of which few are wanted
		}
	}
	c.eachExecution(f.Job, look)
	cut()
	list := make([]ExecutionSummary, len(picked))
	for i, e := range picked {
		list[i] = c.summary(e)
	}
	return list, nil
}

// eachExecution looks at all executions that live or are kept, of one job if it is named.
func (c *Core) eachExecution(job string, look func(*execution)) {
	if job == "" {
		for _, e := range c.executions.open {
			look(e)
		}
		for e := range c.executions.ended.all() {
			look(e)
		}
		return
	}
	if j := c.config.jobs[job]; j != nil {
		for _, e := range j.queue {
			look(e)
		}
	}
	if of := c.executions.ended.jobs[job]; of != nil {
		for i := range of.rings {
			for _, e := range of.rings[i].list {
				look(e)
			}
		}
	}
}

func (c *Core) summary(e *execution) ExecutionSummary {
	v := ExecutionSummary{ExecutionID: e.ID, JobName: e.Job, FireTime: e.Fire.UTC(), Source: e.Source, State: e.state(), Shards: map[State]int{}}
	if v.State.terminal() {
		v.Reason = e.reason()
		t := e.complete().UTC().Truncate(time.Millisecond)
		v.CompleteTime = &t
	} else if j := c.config.jobs[e.Job]; j != nil && !e.launched() {
		v.Reason = c.waitReason(j, e)
	}
	if at := e.begin(); !at.IsZero() {
		t := at.UTC().Truncate(time.Millisecond)
		v.StartTime = &t
	}
	for i := range e.Shards {
		v.Shards[e.Shards[i].State]++
	}
	return v
}

// begin is when the first process of an execution began that is known, or zero.
func (e *execution) begin() (first time.Time) {
	for i := range e.Shards {
		if at := e.Shards[i].Start; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// complete is when the last process of an execution that ended had ended, or, if it had none, when it ended.
func (e *execution) complete() (last time.Time) {
	for i := range e.Shards {
		if s := &e.Shards[i]; !s.Start.IsZero() && s.Complete.After(last) {
			last = s.Complete
		}
	}
	if last.IsZero() {
		return e.EndedAt
	}
	return last
}

// FiresView are fires of a job that became no run.
type FiresView struct {
	Count int64 `json:"count"`
	// Last is when it last happened, Reason what was the matter.
	Last   time.Time `json:"last"`
	Reason string    `json:"reason"`
}

func firesView(count int64, last time.Time, why string) *FiresView {
	if count == 0 {
		return nil
	}
	return &FiresView{Count: count, Last: last.UTC().Truncate(time.Millisecond), Reason: why}
}

// explainPast says what came of a job's runs so far.
func (c *Core) explainPast(x *Explanation, j *jobState) {
	pick := func(among ...result) *ExecutionSummary {
		e := c.executions.ended.lastOf(j.name, among...)
		if e == nil {
			return nil
		}
		v := c.summary(e)
		return &v
	}
	x.LastRun = pick(resultFinished, resultFailed, resultKilled)
	x.LastSuccess = pick(resultFinished)
	f := &j.stored.Fires
	x.DroppedFires = firesView(f.Dropped, f.LastDropped, f.DroppedWhy)
	x.MissedFires = firesView(f.Missed, f.LastMissed, f.MissedWhy)
}
