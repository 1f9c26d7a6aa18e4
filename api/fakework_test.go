package api_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

func (b *fakeScheduler) TriggerWith(
	_ context.Context, scope explain.Scope, job, key string, own jobs.Overrides,
) (string, error) {
	return order(b, scope, explain.Reader.SeesJob, job, func() (string, error) {
		v, err := find(b.jobs, "job", job)
		if err != nil {
			return "", err
		}
		if v.Disabled {
			return "", refuse(problem.Conflict, "job_disabled", "job %q is disabled", job)
		}
		if bad := own.Check(v.Config); len(bad) > 0 {
			return "", &problem.Error{Kind: problem.Invalid, Code: "invalid",
				Message: "this request changed nothing: " + bad.Error(), Violations: bad}
		}
		b.own = append(b.own, own)
		if key == "" {
			return "exec-" + job, nil
		}
		if b.keys[key] == "" {
			b.keys[key] = fmt.Sprintf("exec-%s-%d", job, len(b.keys))
		}
		return b.keys[key], nil
	})
}

func (b *fakeScheduler) TriggerAgain(
	ctx context.Context, scope explain.Scope, id, key string, withEnv bool,
) (string, error) {
	var v views.ExecutionView
	err := b.Read(ctx, scope, func(r explain.Reader) (err error) {
		v, err = r.Execution(id)
		return err
	})
	if err != nil {
		return "", err
	}
	if b.ownEnv && !withEnv {
		return "", refuse(problem.Forbidden, "not_allowed", "execution %q had variables of its own", id)
	}
	return b.TriggerWith(ctx, scope, v.JobName, key, jobs.Overrides{})
}

func (b fakeCore) Explain(job string) (views.Explanation, error) {
	if b.explain != nil {
		return b.explain(b.ctx, job)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := find(b.jobs, "job", job)
	return views.Explanation{JobName: job, State: "ON_TRIGGER"}, err
}

func (b *fakeScheduler) Execution(id string) (views.ExecutionView, error) {
	if job := b.live[id]; job != "" {
		return views.ExecutionView{ExecutionID: id, JobName: job, Source: executions.Triggered,
			State: executions.Waiting}, nil
	}
	if id == "live" {
		return views.ExecutionView{ExecutionID: id, JobName: "my_job", Source: executions.Triggered,
			State: executions.Waiting}, nil
	}
	if id != "exec-1" {
		return views.ExecutionView{}, refuse(problem.NotFound, "execution_not_found", "there is no execution %q", id)
	}
	status := 3
	return views.ExecutionView{ExecutionID: id, JobName: "my_job", FireTime: noon, Source: executions.NormalTrigger,
		State: executions.Failed, Why: views.Why{Reason: "shard 0 failed"},
		Shards: []views.ShardView{{State: executions.Failed, Attempt: 1,
			Agent: "a1", TaskID: "t1", StartTime: &noon, CompleteTime: &noon, ExitStatus: &status,
			FailureCause: "boom", PackageSHA256: "0e1b"}}}, nil
}

func (b *fakeScheduler) Executions(f views.ExecutionFilter) ([]views.ExecutionSummary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := find(b.jobs, "job", f.Job); err != nil && f.MustExist {
		return nil, err
	}
	b.filters = append(b.filters, f)
	if f.Job == "never_ran" {
		return nil, nil
	}
	if b.lists != nil {
		return b.lists[:min(len(b.lists), f.Limit)], nil
	}
	if f.May != nil && !f.May("my_job") {
		return nil, nil
	}
	return []views.ExecutionSummary{{ExecutionID: "exec-1", JobName: "my_job", FireTime: noon,
		Source: executions.NormalTrigger, State: executions.Failed,
		Why: views.Why{Reason: "shard 0 failed"}, StartTime: &noon, CompleteTime: &noon,
		Shards: map[executions.State]int{executions.Failed: 1}}}, nil
}

func (b *fakeScheduler) Cells(string, []string) map[string][]search.Cell {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.cells)
}

func (b *fakeScheduler) Audits(q search.Audits) []event.Audit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return matching(b.audits, q)
}

// matching returns the rows that match a query.
func matching(rows []event.Audit, q search.Audits) []event.Audit {
	return q.Page(slices.DeleteFunc(slices.Clone(rows), func(a event.Audit) bool { return !q.Matches(&a) }))
}

func (b *fakeScheduler) RunningTasks() []views.TaskView {
	return []views.TaskView{{TaskID: "my_job@-@2@-@READY@-@S0@-@u", JobName: "my_job", Item: 2, Type: "READY",
		Agent:       "S0",
		ExecutionID: "exec-1", State: executions.Running, Progress: &executions.Progress{Fraction: 0.4,
			Message: "4000 of 10000 rows", At: noon}}}
}

func (b *fakeScheduler) ReadyJobs() []views.ReadyView {
	return []views.ReadyView{{JobName: "my_job", Times: 2}}
}

func (b *fakeScheduler) FailoverShards() []views.FailoverView {
	return []views.FailoverView{{JobName: "my_job", Item: 1, OriginalTaskID: "old"}}
}

func (b *fakeScheduler) ForgetTask(_ context.Context, scope explain.Scope, id string) error {
	_, err := order(b, scope, explain.Reader.SeesTask, id, func() (int, error) {
		b.forgot = append(b.forgot, id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) KillTask(_ context.Context, scope explain.Scope, id string) error {
	_, err := order(b, scope, explain.Reader.SeesTask, id, func() (int, error) {
		if id == "over" {
			return 0, refuse(problem.Conflict, "task_ended", "task %q has ended as FINISHED", id)
		}
		b.killed = append(b.killed, "task "+id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) KillExecution(_ context.Context, scope explain.Scope, id string) error {
	_, err := order(b, scope, explain.Reader.SeesExecution, id, func() (int, error) {
		if id == "none" {
			return 0, refuse(problem.NotFound, "execution_not_found", "there is no execution %q", id)
		}
		b.killed = append(b.killed, "execution "+id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) LongestKillGrace() time.Duration { return 0 }

func (b *fakeScheduler) LogPlace(id string) (views.LogPlace, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	place, err := find(b.places, "task", id)
	if err != nil && id == b.queued {
		err = refuse(problem.Unavailable, "no_output_yet", "task %q has no output yet", id)
	}
	return place, err
}

func (b *fakeScheduler) place(id string, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[id] = views.LogPlace{AgentURL: "http://agent:5051", Dir: "/sandbox/tasks/1", Live: live}
}

func (b *fakeScheduler) Reconcile(_ context.Context, scope explain.Scope, _ bool) error {
	if err := scope.RequireAll(); err != nil {
		return err
	}
	if b.gap > 0 {
		return &problem.Error{Kind: problem.TooSoon, Code: "too_soon", Message: "asked a moment ago",
			RetryAfter: b.gap}
	}
	return nil
}

// Cordon knows the machine h.
func (b *fakeScheduler) Cordon(
	_ context.Context, scope explain.Scope, r operator.CordonRequested,
) (views.MachineView, error) {
	v, err := b.Uncordon(context.Background(), scope, r.Machine)
	if err == nil {
		v.Cordon = &views.CordonView{Since: noon, By: "ann", Reason: r.Reason}
		if !r.Until.IsZero() {
			v.Cordon.Until = &r.Until
		}
	}
	return v, err
}

// DrainMachine has a task left.
func (b *fakeScheduler) DrainMachine(
	ctx context.Context, scope explain.Scope, r operator.DrainRequested,
) (views.MachineView, error) {
	v, err := b.Cordon(ctx, scope, r.CordonRequested)
	if err == nil {
		v.Cordon.Drain = &views.DrainView{Since: noon, Deadline: new(noon.Add(r.After)), LeftTotal: 1,
			Left: []views.DrainLeftView{{JobName: "my_job", Why: views.WhyOf(reason.DrainNoRoom("1 CPU", noon))}}}
	}
	return v, err
}

// DeclareDead refuses a machine that was heard, unless it is forced.
func (b *fakeScheduler) DeclareDead(
	_ context.Context, scope explain.Scope, r operator.DeadRequested,
) (views.DeadView, error) {
	if !r.Force {
		return views.DeadView{}, refuse(problem.Conflict, "machine_heard", "machine %q was heard 3s ago", r.Machine)
	}
	v, err := b.Uncordon(context.Background(), scope, r.Machine)
	v.Cordon = &views.CordonView{Since: noon, By: "ann", Reason: r.Reason, Dead: &noon}
	return views.DeadView{MachineView: v, AttemptsOver: 3}, err
}

func (b *fakeScheduler) Uncordon(_ context.Context, scope explain.Scope, machine string) (views.MachineView, error) {
	if err := scope.RequireAll(); err != nil {
		return views.MachineView{}, err
	}
	if machine != "h" {
		return views.MachineView{}, refuse(problem.NotFound, "machine_not_found", "there is no machine %q", machine)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	return views.MachineView{Machine: machine, Agents: []string{"S0", "S1"}}, nil
}

// FaultyDocuments returns none unless the test has set some.
func (b *fakeScheduler) FaultyDocuments() []views.FaultyView { return b.faulty }

func (b *fakeScheduler) Sandboxes(app string) ([]views.SandboxView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := find(b.apps, "app", app)
	if err != nil {
		return nil, err
	}
	return []views.SandboxView{{Hostname: "h1", Path: "/slaves/S1/runs/latest"}}, nil
}
