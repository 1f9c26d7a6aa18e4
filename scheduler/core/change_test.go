package core

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestT4AnUpdateOfADocumentThatHasChangedIsRefused: what was merged into an older document would undo what came between.
func TestT4AnUpdateOfADocumentThatHasChangedIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	a, err := s.core.App("my_app")
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.core.Job("my_job")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]Change{
		"app": UpdateApp{Config: a.Config, Version: a.Version - 1},
		"job": UpdateJob{Config: j.Config, Version: j.Version - 1},
	} {
		d := s.step(ChangeRequested{Token: 7, Change: change})
		if len(d.Change) > 0 || len(d.Replies) != 1 || d.Replies[0].Token != 7 || d.Replies[0].Err == nil || d.Replies[0].Err.Code != StaleVersion {
			t.Errorf("%s: %+v, %+v", name, d.Change, d.Replies)
		}
	}
}

// TestT4AChangeIsSeenOnlyAfterItsCommit, and then answered with what it has made.
func TestT4AChangeIsSeenOnlyAfterItsCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "my_job", "my_app", jobs.Transient, 1, 1, 64
	d := s.step(ChangeRequested{Token: 7, Change: RegisterJob{j}})
	if _, err := s.core.Job("my_job"); err == nil || len(d.Change) == 0 || len(d.Replies) > 0 {
		t.Fatalf("before the commit: %v, %+v, %+v", err, d.Change, d.Replies)
	}
	if d = s.step(ChangeCommitted{Token: 6}); len(d.Replies) > 0 {
		t.Fatalf("another request's commit is answered: %+v", d.Replies)
	}
	d = s.step(ChangeCommitted{Token: 7})
	if len(d.Replies) != 1 || d.Replies[0].Err != nil || d.Replies[0].Job.Config.JobName != "my_job" {
		t.Errorf("%+v", d.Replies)
	}
	if d = s.step(ChangeCommitted{Token: 7}); len(d.Replies) > 0 {
		t.Errorf("answered twice: %+v", d.Replies)
	}
}

// committed is a change of configuration that was asked for and is committed.
func (s *stage) committed(p planned) planned {
	s.t.Helper()
	s.core.audit.plan(&p, s.core.config.auditOf(s.actor, p.events...))
	for _, w := range p.writes {
		if w.Delete {
			delete(s.stored, w.Path)
		} else {
			s.stored[w.Path] = w.Value
		}
	}
	s.core.config.planned, s.core.config.plannedToken = &p, 1
	s.step(ChangeCommitted{Token: 1})
	s.last.Replies = nil
	return p
}

// What other tests plan they apply themselves (stage.apply), or look at.

func (c *Core) planRegisterApp(cfg app.Config) (planned, error) {
	return RegisterApp{cfg}.plan(&c.config)
}
func (c *Core) planRegisterJob(cfg jobs.Config) (planned, error) {
	return RegisterJob{cfg}.plan(&c.config)
}
func (c *Core) planDisableApp(name string, off bool) (planned, error) {
	return DisableApp{name, off}.plan(&c.config)
}
func (c *Core) planDisableJob(name string, off bool) (planned, error) {
	return DisableJob{name, off}.plan(&c.config)
}
func (c *Core) planShutDownJob(name string) (planned, error) {
	return ShutDownJob{name}.plan(&c.config)
}
func (c *Core) planDeleteApp(name string, jobs bool) (planned, error) {
	return DeleteApp{name, jobs}.plan(&c.config)
}
func (c *Core) planDeregisterJob(name string) (planned, error) {
	return DeregisterJob{name}.plan(&c.config)
}

func (c *Core) planUpdateApp(name string, change func(app.Config) (app.Config, error)) (planned, error) {
	v, err := c.App(name)
	if err != nil {
		return planned{}, err
	}
	cfg, err := change(v.Config)
	if err != nil {
		return planned{}, err
	}
	return UpdateApp{cfg, v.Version}.plan(&c.config)
}

func (c *Core) planUpdateJob(name string, change func(jobs.Config) (jobs.Config, error)) (planned, error) {
	v, err := c.Job(name)
	if err != nil {
		return UpdateJob{Config: jobs.Config{JobName: name}}.plan(&c.config)
	}
	cfg, err := change(v.Config)
	if err != nil {
		return planned{}, err
	}
	return UpdateJob{cfg, v.Version}.plan(&c.config)
}
