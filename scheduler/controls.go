package scheduler

import (
	"context"

	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// SetJobPaused pauses a job or ends its pause (rule F10).
func (s *Scheduler) SetJobPaused(
	ctx context.Context, scope explain.Scope, name string, paused bool,
) (views.JobView, error) {
	reply, err := s.request(ctx, scope, explain.Reader.SeesJob, name,
		operator.PauseRequested{Job: name, Paused: paused, Actor: actorOf(ctx)})
	if err == nil {
		s.opt.Logger.Info("job "+pauseText(paused), "job", name)
	}
	return reply.Job, err
}

func pauseText(paused bool) string {
	if paused {
		return "paused"
	}
	return "resumed"
}

// ShutDownJob disables a job once its launched executions have ended (rule F11).
func (s *Scheduler) ShutDownJob(ctx context.Context, scope explain.Scope, name string) (views.JobView, error) {
	return s.changeJob(ctx, scope, explain.Reader.SeesJob, name, "job shut down",
		config.SetJobDisabled{Name: name, Disabled: true, Shutdown: true})
}
