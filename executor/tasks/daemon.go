package tasks

import (
	"cmp"
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // time zones must not depend on the machine

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/daemon"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// runDaemon runs the task as a daemon's shard until the task is killed, and returns the function that reports its end.
// It returns an error if the shard can't be started or the supervisor is lost.
func (t *task) runDaemon(spec wire.Task) (report func(), err error) {
	s := &shard{task: t, spec: spec, began: time.Now(), events: make(chan func()), closed: make(chan struct{})}
	zone, err := time.LoadLocation(spec.Daemon.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone %q of job %s: %w", spec.Daemon.TimeZone, spec.JobName, err)
	}
	schedule, err := cron.Parse(spec.Daemon.Cron, zone)
	if err != nil {
		return nil, fmt.Errorf("cron %q of job %s: %w", spec.Daemon.Cron, spec.JobName, err)
	}
	if s.runner, err = s.newRunner(); err != nil {
		return nil, err
	}
	s.machine = daemon.New(schedule, *spec.Daemon, t.grace(), s.now())
	t.status.StartTime = s.began.UTC()
	s.update(agent.Running, "the shard waits for its fires", nil)
	defer t.host.reports.remove(t.id)
	err = s.loop()
	close(s.closed)
	s.waiting.Wait()
	interrupted := s.machine.CutOff(s.now(), s.cutOff)
	s.releaseSlot()
	status := s.statusWith(interrupted)
	if err != nil {
		t.status = status // run reports the lost supervisor with this status
		return nil, err
	}
	return func() {
		status.CompleteTime = time.Now().UTC()
		status.Phase, status.Cause, status.Forced = wire.PhaseRun, t.killReason().Error(), s.endedByForce
		t.report(agent.Killed, status.Cause, status)
	}, nil
}

// newRunner returns the shard's runner, which sends requests for an HTTP job and starts processes for any other. It
// returns an error if every run would fail, such as for a missing command.
func (s *shard) newRunner() (runner, error) {
	if s.spec.HTTP != nil {
		return newRequestRunner(s)
	}
	if len(s.spec.Command) == 0 {
		return nil, errNoCommand
	}
	if _, err := launch.ShardContext(s.spec); err != nil {
		return nil, err
	}
	root, searchPath := s.root(s.spec), s.host.Base["PATH"]
	// Without a folder, Find must search the PATH only: no file is below os.DevNull.
	root = cmp.Or(root, s.host.Container.StartFolder(root), os.DevNull)
	if ownPath, ok := s.spec.Env["PATH"]; ok {
		searchPath = ownPath
	}
	if _, _, err := launch.Find(root, s.spec.Command, searchPath, s.host.As); err != nil {
		return nil, err
	}
	return &processRunner{shard: s}, nil
}
