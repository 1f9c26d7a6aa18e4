package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// SetJobPaused pauses a job or ends its pause (rule F10).
func (s *Scheduler) SetJobPaused(ctx context.Context, name string, paused bool) (core.JobView, error) {
	reply, err := s.ask(ctx, func(token uint64) core.Request {
		return core.PauseRequested{Token: token, Job: name, Paused: paused, Actor: actorOf(ctx)}
	})
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

// ShutDownJob disables a job once what was launched of it has ended (rule F11).
func (s *Scheduler) ShutDownJob(ctx context.Context, name string) (core.JobView, error) {
	return s.changeJob(ctx, "job shut down", core.ShutDownJob{Name: name})
}

// LongestKillGrace is the longest time between SIGTERM and SIGKILL that any task on the cluster has, and at least the server's.
func (s *Scheduler) LongestKillGrace(ctx context.Context) (time.Duration, error) {
	return read(ctx, s, func(c *core.Core) (time.Duration, error) { return c.LongestKillGrace(), nil })
}
