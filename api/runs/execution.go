package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// maxMoments is the maximum number of events in the answer about an execution.
const maxMoments = 1000

// executionAnswer is one execution with its events.
type executionAnswer struct {
	views.ExecutionView
	// Life lists the events of the execution, in the order of time. It is missing without a history.
	Life []search.Moment `json:"life,omitempty"`
	// LifeNote says what is missing in Life, and why.
	LifeNote string `json:"lifeNote,omitempty"`
}

// execution answers with one execution: from the scheduler's memory, or from the history if the scheduler has
// forgotten the execution.
func (h *Handlers) execution(ctx context.Context, id string) (any, error) {
	var waiting []views.WaitingView
	v, err := caller.Read(ctx, h.Scheduler, func(r explain.Reader) (views.ExecutionView, error) {
		v, err := r.Execution(id)
		if err == nil && h.History != nil && !ended(v.State) {
			x, _ := r.Explain(v.JobName) // a removed job has no waiting shards
			waiting = x.Waiting
		}
		return v, err
	})
	v.Shards = answer.OrEmpty(v.Shards)
	if h.History == nil || err != nil && failure.Refusal(err).Kind != problem.NotFound {
		return executionAnswer{ExecutionView: v}, err
	}
	readCtx, cancel := context.WithTimeout(ctx, history.ReadTimeout)
	defer cancel()
	if err != nil {
		stored, found, readErr := h.History.Execution(readCtx, id)
		if readErr != nil {
			return nil, history.Unreadable(readErr)
		}
		if !found && caller.Of(ctx).IsRestricted() { // the reason could reveal jobs of others
			return nil, err
		}
		if !found {
			return nil, h.notFoundReason(readCtx, id, err)
		}
		accessErr := caller.MaySee(ctx, h.Scheduler, stored.Job)
		if failure.Refusal(accessErr).Kind == problem.NotFound {
			return nil, explain.Hidden("execution", id)
		} else if accessErr != nil {
			return nil, accessErr
		}
		v = storedExecution(stored)
	}
	a := executionAnswer{ExecutionView: v}
	life, more, err := h.History.Life(readCtx, id, maxMoments)
	switch {
	case err != nil:
		a.LifeNote = history.Unreadable(err).Error()
		return a, nil
	case more:
		a.LifeNote = fmt.Sprintf("these are its first %d events: GET /api/job/events/statusTraces?executionId=… has all states of its tasks", maxMoments)
	}
	addNotes(a.Shards, life)
	a.Life = append(life, h.waitingMoments(id, waiting, life)...)
	return a, nil
}

// notFoundReason returns the error for an execution that does not exist. If its fire was dropped or missed, the error
// says why; otherwise it is notFound.
func (h *Handlers) notFoundReason(ctx context.Context, id string, notFound error) error {
	life, _, err := h.History.Life(ctx, id, 1)
	if err != nil {
		return history.Unreadable(err)
	}
	if len(life) == 0 {
		return notFound
	}
	return failure.NotFound("execution_not_found",
		"execution %s does not exist, because its fire was %s: %s", failure.Quoted(id),
		strings.ToLower(life[0].Kind), life[0].Message)
}

// ended reports whether an execution in this state has ended.
func ended(state executions.State) bool {
	return state == executions.Finished || state == executions.Failed || state == executions.Killed
}

// waitingMoments returns the reasons for which an execution or its shards wait now, as one event for each reason, to
// follow the events in life. ofJob are all waits of the job.
func (h *Handlers) waitingMoments(id string, ofJob []views.WaitingView, life []search.Moment) (now []search.Moment) {
	index := map[string]int{}  // by reason, in now
	shards := map[string]int{} // the number of waiting shards by reason
	for _, w := range ofJob {
		if w.ExecutionID != id {
			continue
		}
		if shards[w.Reason]++; shards[w.Reason] > 1 {
			now[index[w.Reason]].Item = nil
			continue
		}
		index[w.Reason] = len(now)
		m := search.Moment{Kind: "WAITING", Item: &w.Item, Message: w.Reason, MessageCode: w.ReasonCode,
			MessageArgs: w.ReasonArgs}
		m.Time.Time = h.Now().UTC().Truncate(time.Millisecond)
		if len(life) > 0 {
			m.After(life[len(life)-1].Time.Time)
		}
		now = append(now, m)
	}
	for reason, n := range shards {
		if n > 1 {
			now[index[reason]].Message = fmt.Sprintf("%d shards: %s", n, reason)
		}
	}
	return now
}

// storedExecution converts an execution of the history into the scheduler's view of an execution.
func storedExecution(e search.Execution) views.ExecutionView {
	v := views.ExecutionView{ExecutionID: e.ID, JobName: e.Job, FireTime: e.Fire.Time,
		Source: executions.Source(e.Source), State: executions.State(e.State),
		Why: storedReason(e), Shards: []views.ShardView{}}
	for _, r := range e.Shards {
		shard := views.ShardView{Item: r.ShardingItem, State: executions.State(orZero(r.State)),
			Attempt: orZero(r.Attempt), Agent: orZero(r.Agent), TaskID: r.TaskID,
			StartTime: orNil(r.StartTime), CompleteTime: orNil(r.CompleteTime), ExitStatus: r.ExitStatus}
		if !r.Success {
			shard.FailureCause, shard.FailureCode, shard.FailureArgs = orZero(r.FailureCause), r.FailureCode,
				r.FailureArgs
		}
		v.Shards = append(v.Shards, shard)
	}
	return v
}

// addNotes sets the missing notes of finished shards. The history keeps such a note only with the last event of the
// shard's task.
func addNotes(shards []views.ShardView, life []search.Moment) {
	finished := map[string]search.Moment{}
	for _, m := range life {
		if m.Kind == "TASK_FINISHED" {
			finished[m.TaskID] = m
		}
	}
	for i := range shards {
		if s := &shards[i]; s.State == executions.Finished && s.Note == "" {
			m := finished[s.TaskID]
			s.Note, s.NoteCode, s.NoteArgs = m.Message, m.MessageCode, m.MessageArgs
		}
	}
}

func storedReason(e search.Execution) views.Why {
	return views.Why{Reason: orZero(e.Reason), ReasonCode: e.ReasonCode, ReasonArgs: e.ReasonArgs}
}

func orZero[V any](pointer *V) (v V) {
	if pointer != nil {
		v = *pointer
	}
	return v
}
