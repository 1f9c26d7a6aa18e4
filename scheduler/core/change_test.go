package core

import (
	"slices"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
)

// TestT4AnUpdateOfADocumentThatHasChangedIsRefused checks that an update of an older version is refused, because it
// would undo the changes since that version.
func TestT4AnUpdateOfADocumentThatHasChangedIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	a, err := s.core.views.App("my_app")
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.core.views.Job("my_job")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]config.Change{
		"app": config.UpdateApp{Config: a.Config, Version: a.Version - 1},
		"job": config.UpdateJob{Config: j.Config, Version: j.Version - 1},
	} {
		d := s.step(Request{Token: 7, Event: ChangeRequested{Change: change}})
		if len(d.Change) > 0 || len(d.Replies) != 1 || d.Replies[0].Token != 7 || d.Replies[0].Err == nil ||
			d.Replies[0].Err.Code != config.StaleVersion {
			t.Errorf("%s: planned %+v, answered %+v", name, d.Change, d.Replies)
		}
	}
}

// TestT4AChangeIsSeenOnlyAfterItsCommit checks that users see a change only after its commit. The request is answered
// then, and only once.
func TestT4AChangeIsSeenOnlyAfterItsCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "my_job", "my_app",
		jobs.Transient, 1, 1, 64
	d := s.step(Request{Token: 7, Event: ChangeRequested{Change: config.RegisterJob{Config: j}}})
	if _, err := s.core.views.Job("my_job"); err == nil || len(d.Change) == 0 || len(d.Replies) > 0 {
		t.Fatalf("before the commit: %v, %+v, %+v", err, d.Change, d.Replies)
	}
	if d = s.step(ChangeCommitted{Token: 6}); len(d.Replies) > 0 {
		t.Fatalf("another request's commit is answered: %+v", d.Replies)
	}
	d = s.step(ChangeCommitted{Token: 7})
	if len(d.Replies) != 1 || d.Replies[0].Err != nil || d.Replies[0].Job.Config.JobName != "my_job" {
		t.Errorf("after the commit: %+v", d.Replies)
	}
	if d = s.step(ChangeCommitted{Token: 7}); len(d.Replies) > 0 {
		t.Errorf("answered twice: %+v", d.Replies)
	}
}

// commit commits a planned change of configuration, and returns the writes of the commit.
func (s *stage) commit(p *config.Planned) []registry.Write {
	s.t.Helper()
	auditWrites, audit := s.core.audit.Plan(s.core.config.AuditOf(s.actor, p.Events...))
	writes := slices.Concat(p.Writes, auditWrites)
	for _, w := range writes {
		if w.Delete {
			delete(s.stored, w.Path)
		} else {
			s.stored[w.Path] = w.Value
		}
	}
	s.core.pending = &pendingChange{Planned: p, audit: audit, token: 1}
	s.step(ChangeCommitted{Token: 1})
	s.last.Replies = nil
	return writes
}

// The methods below return plans, which tests inspect, or commit with stage.apply.

func (c *Core) planRegisterApp(cfg app.Config) (*config.Planned, error) {
	return c.config.Plan(config.RegisterApp{Config: cfg})
}
func (c *Core) planRegisterJob(cfg jobs.Config) (*config.Planned, error) {
	return c.config.Plan(config.RegisterJob{Config: cfg})
}
func (c *Core) planDisableApp(name string, disabled bool) (*config.Planned, error) {
	return c.config.Plan(config.SetAppDisabled{Name: name, Disabled: disabled})
}
func (c *Core) planDisableJob(name string, disabled bool) (*config.Planned, error) {
	return c.config.Plan(config.SetJobDisabled{Name: name, Disabled: disabled})
}
func (c *Core) planShutDownJob(name string) (*config.Planned, error) {
	return c.config.Plan(config.SetJobDisabled{Name: name, Disabled: true, Shutdown: true})
}
func (c *Core) planDeleteApp(name string, withJobs bool) (*config.Planned, error) {
	return c.config.Plan(config.DeleteApp{Name: name, WithJobs: withJobs})
}
func (c *Core) planDeregisterJob(name string) (*config.Planned, error) {
	return c.config.Plan(config.DeregisterJob{Name: name})
}

func (c *Core) planUpdateApp(name string, change func(app.Config) (app.Config, error)) (*config.Planned, error) {
	v, err := c.views.App(name)
	if err != nil {
		return nil, err
	}
	cfg, err := change(v.Config)
	if err != nil {
		return nil, err
	}
	return c.config.Plan(config.UpdateApp{Config: cfg, Version: v.Version})
}

func (c *Core) planUpdateJob(name string, change func(jobs.Config) (jobs.Config, error)) (*config.Planned, error) {
	v, err := c.views.Job(name)
	if err != nil { // the plan is refused for a job that does not exist
		return c.config.Plan(config.UpdateJob{Config: jobs.Config{JobName: name}})
	}
	cfg, err := change(v.Config)
	if err != nil {
		return nil, err
	}
	return c.config.Plan(config.UpdateJob{Config: cfg, Version: v.Version})
}
