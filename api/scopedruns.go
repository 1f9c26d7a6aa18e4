package api

import (
	"context"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

func (s scoped) Explain(ctx context.Context, job string) (core.Explanation, error) {
	return ofJob(ctx, s, job, func() (core.Explanation, error) { return s.all.Explain(ctx, job) })
}

// Execution is one of a job of the caller's apps.
func (s scoped) Execution(ctx context.Context, id string) (core.ExecutionView, error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return core.ExecutionView{}, err
	}
	v, err := s.all.Execution(ctx, id)
	if free {
		return v, err
	}
	if err == nil {
		_, err = s.job(ctx, g, v.JobName)
	}
	if err != nil {
		return core.ExecutionView{}, orHidden(err, "execution", id)
	}
	return v, nil
}

// Executions of all jobs are read on until there are as many as asked for of the caller's apps.
func (s scoped) Executions(ctx context.Context, f core.ExecutionFilter) ([]core.ExecutionSummary, error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	if free {
		return s.all.Executions(ctx, f)
	}
	if f.Job != "" {
		if _, err := s.job(ctx, g, f.Job); err != nil {
			if !f.Known && refusal(err).Kind == core.NotFound {
				return nil, nil
			}
			return nil, err
		}
	}
	names, err := s.covered(ctx, g)
	if err != nil {
		return nil, err
	}
	var own []core.ExecutionSummary
	asked := f.Limit
	for f.Limit = max(asked, mostExecutions); ; {
		page, err := s.all.Executions(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if names[e.JobName] && len(own) < asked {
				own = append(own, e)
			}
		}
		if len(page) < f.Limit || len(own) == asked {
			return own, nil
		}
		f.Before, f.BeforeID = page[len(page)-1].FireTime, page[len(page)-1].ExecutionID
	}
}

func (s scoped) Cells(ctx context.Context, job string, ids []string) (map[string][]search.Cell, error) {
	return ofJob(ctx, s, job, func() (map[string][]search.Cell, error) { return s.all.Cells(ctx, job, ids) })
}

func (s scoped) RunningTasks(ctx context.Context) ([]core.TaskView, error) {
	return onlyJobs(ctx, s, s.all.RunningTasks, func(v core.TaskView) string { return v.JobName })
}

func (s scoped) ReadyJobs(ctx context.Context) ([]core.ReadyView, error) {
	return onlyJobs(ctx, s, s.all.ReadyJobs, func(v core.ReadyView) string { return v.JobName })
}

func (s scoped) FailoverShards(ctx context.Context) ([]core.FailoverView, error) {
	return onlyJobs(ctx, s, s.all.FailoverShards, func(v core.FailoverView) string { return v.JobName })
}

func (s scoped) ForgetTask(ctx context.Context, id string) error {
	_, err := ofTask(ctx, s, id, func() (struct{}, error) { return struct{}{}, s.all.ForgetTask(ctx, id) })
	return err
}

func (s scoped) KillTask(ctx context.Context, id string) error {
	_, err := ofTask(ctx, s, id, func() (struct{}, error) { return struct{}{}, s.all.KillTask(ctx, id) })
	return err
}

func (s scoped) KillExecution(ctx context.Context, id string) error {
	if _, free, err := s.grant(ctx); err != nil || !free {
		if _, err := s.Execution(ctx, id); err != nil {
			return err
		}
	}
	return s.all.KillExecution(ctx, id)
}

func (s scoped) TriggerAgain(ctx context.Context, id, idempotencyKey string, withEnv bool) (string, error) {
	if _, free, err := s.grant(ctx); err != nil || !free {
		if _, err := s.Execution(ctx, id); err != nil {
			return "", err
		}
	}
	return s.all.TriggerAgain(ctx, id, idempotencyKey, withEnv)
}

func (s scoped) LogPlace(ctx context.Context, id string) (core.LogPlace, error) {
	return ofTask(ctx, s, id, func() (core.LogPlace, error) { return s.all.LogPlace(ctx, id) })
}
