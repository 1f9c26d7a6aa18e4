package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// planned commits a planned change of configuration, and reports the commit and its consequences. If the change was
// refused, it reports the reason.
func (s *scene) planned(p *config.Planned, err error) error {
	if refused := (*problem.Error)(nil); errors.As(err, &refused) {
		s.say("refused (%s): %s", refused.Code, refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	writes := make([]string, len(p.Writes))
	for i, w := range p.Writes {
		writes[i] = "put " + w.Path
		if w.Delete {
			writes[i] = "delete " + w.Path
		}
	}
	s.say("COMMIT %s", strings.Join(writes, ", "))
	s.reportAudits(s.commit(p))
	s.report(s.last)
	return nil
}

// changeApp returns an app with the changes that the options of a command name.
func changeApp(w *scenario.Words, a app.Config) app.Config {
	a.CPUCount, a.MemoryMB = w.Number("cpus", a.CPUCount), w.Number("mem", a.MemoryMB)
	a.AppURL, a.BootstrapScript = w.Option("url", a.AppURL), w.Option("script", a.BootstrapScript)
	return a
}

// changeJob returns a job with the changes that the options of a command name.
func changeJob(w *scenario.Words, j jobs.Config) jobs.Config {
	j.AppName, j.Cron, j.JobParameter = w.Option("app", j.AppName), w.Option("cron", j.Cron),
		w.Option("parameter", j.JobParameter)
	j.ShardingTotalCount = int(w.Number("shards", float64(j.ShardingTotalCount)))
	j.CPUCount, j.MemoryMB = w.Number("cpus", j.CPUCount), w.Number("mem", j.MemoryMB)
	j.MaxRetries = int(w.Number("retries", float64(j.MaxRetries)))
	j.JobErrorHandlerType = w.Option("handler", j.JobErrorHandlerType)
	if j.JobErrorHandlerType == jobs.HandlerWebhook {
		j.Props = document.Texts{jobs.PropWebhookURL: {Value: "https://h/x?key=hunter2"}}
	}
	j.TimeoutSeconds = int(w.Number("timeout", float64(j.TimeoutSeconds)))
	j.RetryBackoffSeconds = int(w.Number("backoff", float64(j.RetryBackoffSeconds)))
	j.UnreachableSeconds = int(w.Number("unreachable", float64(j.UnreachableSeconds)))
	j.KillGraceSeconds = int(w.Number("grace", float64(j.KillGraceSeconds)))
	j.Failover = w.Option("failover", strconv.FormatBool(j.Failover)) == "true"
	j.Misfire = w.Option("misfire", strconv.FormatBool(j.Misfire)) == "true"
	j.JobExecutionType = w.Option("type", j.JobExecutionType)
	return j
}

func (s *scene) cmdApp(w *scenario.Words) error {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = w.Next(), "http://127.0.0.1/p.tar",
		"bin/start.sh", 0.5, 128
	return s.planned(s.core.planRegisterApp(changeApp(w, a)))
}

func (s *scene) cmdJob(w *scenario.Words) error {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = w.Next(), "my_app",
		jobs.Transient, 1, 1, 64
	return s.planned(s.core.planRegisterJob(changeJob(w, j)))
}

func (s *scene) cmdChange(w *scenario.Words) error {
	what, name := w.Next(), w.Next()
	if what == "app" {
		return s.planned(s.core.planUpdateApp(name,
			func(a app.Config) (app.Config, error) { return changeApp(w, a), nil }))
	}
	return s.planned(s.core.planUpdateJob(name,
		func(j jobs.Config) (jobs.Config, error) { return changeJob(w, j), nil }))
}

func (s *scene) cmdDisable(w *scenario.Words, disabled bool) error {
	what, name := w.Next(), w.Next()
	if what == "app" {
		return s.planned(s.core.planDisableApp(name, disabled))
	}
	return s.planned(s.core.planDisableJob(name, disabled))
}

func (s *scene) cmdDelete(w *scenario.Words) error {
	if what := w.Next(); what != "app" {
		return fmt.Errorf("%q can't be deleted", what)
	}
	name := w.Next()
	withJobs := len(w.List) > 0 && w.Next() == "with-jobs"
	return s.planned(s.core.planDeleteApp(name, withJobs))
}
