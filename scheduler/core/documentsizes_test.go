package core

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// sized returns a job with a description of the given number of bytes.
func sized(name, appName string, bytes int) jobs.Config {
	c := jobs.Default()
	c.JobName, c.AppName, c.JobExecutionType, c.ShardingTotalCount, c.CPUCount, c.MemoryMB = name, appName,
		jobs.Transient, 1, 1, 64
	c.Description = strings.Repeat("x", bytes)
	return c
}

// TestDocumentsAreBounded checks that a document is refused if all documents, or all of its app, would exceed their
// limit. If the limits become smaller, the stored documents stay, and can be made smaller, disabled and removed.
func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.DocumentsLimit, s.opt.DocumentsPerAppLimit = 19_000, 12_000
	s.restart()
	s.app()
	s.app(func(c *app.Config) { c.AppName = "other" })
	expectRefused := func(change config.Change, want ...string) {
		t.Helper()
		_, err := s.core.config.Plan(change)
		e, _ := err.(*problem.Error)
		if e == nil || e.Kind != problem.Conflict || e.Code != "documents_full" {
			t.Errorf("want documents_full, got %v", err)
			return
		}
		for _, part := range want {
			if !strings.Contains(e.Message, part) {
				t.Errorf("%q is not in: %s", part, e.Message)
			}
		}
	}
	accept := func(change config.Change) {
		t.Helper()
		s.apply(s.core.config.Plan(change))
	}
	perApp, all := "--documents-per-app-limit (12000 bytes)", "--documents-limit (19000 bytes)"
	accept(config.RegisterJob{Config: sized("a", "my_app", 8000)})
	expectRefused(config.RegisterJob{Config: sized("b", "my_app", 8000)}, `app "my_app"`, perApp)
	accept(config.RegisterJob{Config: sized("c", "other", 8000)})
	expectRefused(config.RegisterJob{Config: sized("d", "other", 8000)}, `app "other"`, perApp, all)
	expectRefused(config.UpdateJob{Config: sized("a", "my_app", 11_000), Version: 0}, all)
	expectRefused(config.UpdateJob{Config: sized("a", "other", 8000), Version: 0}, `app "other"`,
		perApp) // its size stays, but its app is full
	expectRefused(config.RegisterApp{Config: app.Config{AppName: "third", BootstrapScript: strings.Repeat("x", 5000)}}, all)
	if _, err := s.core.views.CheckJob(config.RegisterJob{Config: sized("d", "other", 8000)}); err == nil {
		t.Error("the check accepts a job that registration refuses")
	}

	s.opt.DocumentsLimit, s.opt.DocumentsPerAppLimit = 10_000, 5000
	s.restart()
	var sum int64
	for _, path := range []string{"/config/app/my_app", "/config/app/other", "/config/job/a", "/config/job/c"} {
		sum += int64(len(s.stored[path]))
	}
	if got := s.core.views.Facts().Documents; got.Bytes != sum || got.Limit != 10_000 || got.PerAppLimit != 5000 ||
		got.LargestApp < 8000 {
		t.Errorf("the overview shows %+v, want %d bytes", got, sum)
	}
	expectRefused(config.UpdateJob{Config: sized("a", "my_app", 8001), Version: 0})
	accept(config.UpdateJob{Config: sized("a", "my_app", 7000), Version: 0})
	accept(config.SetJobDisabled{Name: "c", Disabled: true})
	s.edit("/config/job/c", string(store.Encode(sized("c", "other", 9000))), 1) // externally
	accept(config.DeregisterJob{Name: "a"})
	accept(config.DeleteApp{Name: "other", WithJobs: true})
	accept(config.RegisterJob{Config: sized("a", "my_app", 4000)})
}
