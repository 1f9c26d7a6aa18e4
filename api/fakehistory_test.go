package api_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// fakeHistory records the questions and returns the given answers.
type fakeHistory struct {
	mu         sync.Mutex
	asked      []any
	fails      error
	executions []search.Execution
	life       []search.Moment
	results    []search.TaskResults
	statistics search.JobStatistics
	audits     []event.Audit
	cells      map[string][]search.Cell
	activity   []search.Activity
}

var errDown = errors.New("dial tcp 127.0.0.1:3306: connect: connection refused")

// ask records a question.
func (h *fakeHistory) ask(question any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, question)
	return h.fails
}

func at(t time.Time) search.Time { return search.Time{Time: t} }

func (h *fakeHistory) Runs(_ context.Context, q search.Query) (search.Page[search.Run], error) {
	one, execution, attempt, state, exit, agent, took, cause := 1, "exec-0", 2, "FAILED", 3, "S0", int64(1500), "boom"
	return search.Page[search.Run]{Total: &one,
		Rows: []search.Run{{ID: "u", Hostname: "h", IP: "10.0.0.1", TaskID: "my_job@-@0@-@READY@-@S0@-@u",
			JobName: "my_job",
			Source:  "NORMAL_TRIGGER", StartTime: at(noon), CompleteTime: at(noon.Add(1500 * time.Millisecond)),
			FailureCause: &cause,
			ExecutionID:  &execution, Attempt: &attempt, State: &state, ExitStatus: &exit, Agent: &agent,
			FireTime: at(noon), DurationMillis: &took}}, Next: "next"}, h.ask(q)
}

func (h *fakeHistory) Traces(_ context.Context, q search.Query) (search.Page[search.Trace], error) {
	n := search.MaxCounted
	return search.Page[search.Trace]{Total: &n, TotalIsAtLeast: true,
		Rows: []search.Trace{{ID: "u", JobName: "my_job", TaskID: "t", SlaveID: "S0", Source: "CLOUD_EXECUTOR",
			ExecutionType: "READY", ShardingItems: "[0]", State: "TASK_RUNNING", CreationTime: at(noon)}}}, h.ask(q)
}

func (h *fakeHistory) Executions(_ context.Context, q search.Executions) ([]search.Execution, error) {
	if err := h.ask(q); err != nil {
		return nil, err
	}
	return h.executions, nil
}

func (h *fakeHistory) Execution(_ context.Context, id string) (search.Execution, bool, error) {
	for _, e := range h.executions {
		if e.ID == id {
			return e, true, h.ask(id)
		}
	}
	return search.Execution{}, false, h.ask(id)
}

func (h *fakeHistory) Cells(_ context.Context, ids []string) (map[string][]search.Cell, error) {
	if err := h.ask(ids); err != nil {
		return nil, err
	}
	return h.cells, nil
}

func (h *fakeHistory) Audits(_ context.Context, q search.Audits) ([]event.Audit, error) {
	if err := h.ask(q); err != nil {
		return nil, err
	}
	return matching(h.audits, q), nil
}

func (h *fakeHistory) Life(_ context.Context, id string, most int) ([]search.Moment, bool, error) {
	life, more := search.Life(append([]search.Moment(nil), h.life...), most)
	return life, more, h.ask("life of " + id)
}

func (h *fakeHistory) JobStatistics(_ context.Context, job string, since time.Time) (search.JobStatistics, error) {
	return h.statistics, h.ask([]any{job, since})
}

func (h *fakeHistory) TaskResults(_ context.Context, interval search.Interval, from,
	until time.Time) ([]search.TaskResults, error) {
	return append([]search.TaskResults{}, h.results...), h.ask([]any{interval, from, until})
}

func (h *fakeHistory) TasksRunning(_ context.Context, from time.Time) ([]search.Running, error) {
	return []search.Running{{ID: 4, RunningCount: 7, StatisticsTime: at(noon), CreationTime: at(noon)}}, h.ask(from)
}

func (h *fakeHistory) JobsRunning(_ context.Context, from time.Time) ([]search.Running, error) {
	return []search.Running{}, h.ask(from)
}

func (h *fakeHistory) JobsRegistered(context.Context) ([]search.Registered, error) {
	return []search.Registered{{ID: 1, RegisteredCount: 5, StatisticsTime: at(noon), CreationTime: at(noon)}},
		h.ask(nil)
}
