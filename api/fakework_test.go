package api_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
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
			return "", refuse(core.Conflict, "job_disabled", "job %q is disabled", job)
		}
		if bad := own.Check(v.Config); len(bad) > 0 {
			return "", &core.Error{Kind: core.Invalid, Code: "invalid", Message: "this request changed nothing: " + bad.Error(), Violations: bad}
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
	var v core.ExecutionView
	err := b.Read(ctx, scope, func(r explain.Reader) (err error) {
		v, err = r.Execution(id)
		return err
	})
	if err != nil {
		return "", err
	}
	if b.ownEnv && !withEnv {
		return "", refuse(core.Forbidden, "not_allowed", "execution %q had variables of its own", id)
	}
	return b.TriggerWith(ctx, scope, v.JobName, key, jobs.Overrides{})
}

func (b fakeCore) Explain(job string) (core.Explanation, error) {
	if b.explain != nil {
		return b.explain(b.ctx, job)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := find(b.jobs, "job", job)
	return core.Explanation{JobName: job, State: "ON_TRIGGER"}, err
}

func (b *fakeScheduler) Execution(id string) (core.ExecutionView, error) {
	if job := b.live[id]; job != "" {
		return core.ExecutionView{ExecutionID: id, JobName: job, Source: core.Triggered, State: core.Waiting}, nil
	}
	if id == "live" {
		return core.ExecutionView{ExecutionID: id, JobName: "my_job", Source: core.Triggered, State: core.Waiting}, nil
	}
	if id != "exec-1" {
		return core.ExecutionView{}, refuse(core.NotFound, "execution_not_found", "there is no execution %q", id)
	}
	status := 3
	return core.ExecutionView{ExecutionID: id, JobName: "my_job", FireTime: noon, Source: core.NormalTrigger,
		State: core.Failed, Why: core.Why{Reason: "shard 0 failed"}, Shards: []core.ShardView{{State: core.Failed, Attempt: 1,
			Agent: "a1", TaskID: "t1", StartTime: &noon, CompleteTime: &noon, ExitStatus: &status, FailureCause: "boom", PackageSHA256: "0e1b"}}}, nil
}

func (b *fakeScheduler) Executions(f core.ExecutionFilter) ([]core.ExecutionSummary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := find(b.jobs, "job", f.Job); err != nil && f.Known {
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
	return []core.ExecutionSummary{{ExecutionID: "exec-1", JobName: "my_job", FireTime: noon, Source: core.NormalTrigger, State: core.Failed,
		Why: core.Why{Reason: "shard 0 failed"}, StartTime: &noon, CompleteTime: &noon, Shards: map[core.State]int{core.Failed: 1}}}, nil
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

// matching are the rows that a question is about.
func matching(rows []event.Audit, q search.Audits) []event.Audit {
	return q.Page(slices.DeleteFunc(slices.Clone(rows), func(a event.Audit) bool { return !q.Matches(&a) }))
}

func (b *fakeScheduler) RunningTasks() []core.TaskView {
	return []core.TaskView{{TaskID: "my_job@-@2@-@READY@-@S0@-@u", JobName: "my_job", Item: 2, Type: "READY", Agent: "S0",
		ExecutionID: "exec-1", State: core.Running, Progress: &core.ProgressView{Fraction: 0.4, Message: "4000 of 10000 rows", At: noon}}}
}

func (b *fakeScheduler) ReadyJobs() []core.ReadyView {
	return []core.ReadyView{{JobName: "my_job", Times: 2}}
}

func (b *fakeScheduler) FailoverShards() []core.FailoverView {
	return []core.FailoverView{{JobName: "my_job", Item: 1, OriginalTaskID: "old"}}
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
			return 0, refuse(core.Conflict, "task_ended", "task %q has ended as FINISHED", id)
		}
		b.killed = append(b.killed, "task "+id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) KillExecution(_ context.Context, scope explain.Scope, id string) error {
	_, err := order(b, scope, explain.Reader.SeesExecution, id, func() (int, error) {
		if id == "none" {
			return 0, refuse(core.NotFound, "execution_not_found", "there is no execution %q", id)
		}
		b.killed = append(b.killed, "execution "+id)
		return 0, nil
	})
	return err
}

func (b *fakeScheduler) LongestKillGrace() time.Duration { return 0 }

func (b *fakeScheduler) LogPlace(id string) (core.LogPlace, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	place, err := find(b.places, "task", id)
	if err != nil && id == b.queued {
		err = refuse(core.Unavailable, "no_output_yet", "task %q has no output yet", id)
	}
	return place, err
}

func (b *fakeScheduler) place(id string, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[id] = core.LogPlace{AgentURL: "http://agent:5051", Dir: "/sandbox/tasks/1", Live: live}
}

func (b *fakeScheduler) Reconcile(_ context.Context, scope explain.Scope, _ bool) error {
	if err := scope.RequireAll(); err != nil {
		return err
	}
	if b.gap > 0 {
		return &core.Error{Kind: core.TooSoon, Code: "too_soon", Message: "asked a moment ago", RetryAfter: b.gap}
	}
	return nil
}

// FaultyDocuments finds none, unless a test says so.
func (b *fakeScheduler) FaultyDocuments() []core.FaultyView { return b.faulty }

func (b *fakeScheduler) Sandboxes(app string) ([]core.SandboxView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := find(b.apps, "app", app)
	if err != nil {
		return nil, err
	}
	return []core.SandboxView{{Hostname: "h1", Path: "/slaves/S1/runs/latest"}}, nil
}
