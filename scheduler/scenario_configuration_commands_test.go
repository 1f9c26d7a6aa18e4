package scheduler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// planned does a change of configuration, or says why it is refused.
func (s *scene) planned(p plan, err error) error {
	if refused := (*Error)(nil); errors.As(err, &refused) {
		s.say("refused (%s): %s", refused.Code, refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	together := make([]string, len(p.writes))
	for i, w := range p.writes {
		together[i] = "put " + w.Path
		if w.Delete {
			together[i] = "delete " + w.Path
		}
	}
	s.say("COMMIT %s", strings.Join(together, ", "))
	s.apply(p, nil)
	s.report(s.last)
	return nil
}

func changeApp(w *words, a app.Config) app.Config {
	a.CPUCount, a.MemoryMB = w.number("cpus", a.CPUCount), w.number("mem", a.MemoryMB)
	a.AppURL, a.BootstrapScript = w.option("url", a.AppURL), w.option("script", a.BootstrapScript)
	return a
}

func changeJob(w *words, j jobs.Config) jobs.Config {
	j.AppName, j.Cron, j.JobParameter = w.option("app", j.AppName), w.option("cron", j.Cron), w.option("parameter", j.JobParameter)
	j.ShardingTotalCount = int(w.number("shards", float64(j.ShardingTotalCount)))
	j.CPUCount, j.MemoryMB = w.number("cpus", j.CPUCount), w.number("mem", j.MemoryMB)
	j.MaxRetries = int(w.number("retries", float64(j.MaxRetries)))
	j.Failover = w.option("failover", strconv.FormatBool(j.Failover)) == "true"
	j.Misfire = w.option("misfire", strconv.FormatBool(j.Misfire)) == "true"
	return j
}

func (s *scene) cmdApp(w *words) error {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = w.next(), "http://127.0.0.1/p.tar", "bin/start.sh", 0.5, 128
	return s.planned(s.core.planRegisterApp(changeApp(w, a)))
}

func (s *scene) cmdJob(w *words) error {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = w.next(), "my_app", jobs.Transient, 1, 1, 64
	return s.planned(s.core.planRegisterJob(changeJob(w, j)))
}

func (s *scene) cmdChange(w *words) error {
	what, name := w.next(), w.next()
	if what == "app" {
		return s.planned(s.core.planUpdateApp(name, func(a app.Config) (app.Config, error) { return changeApp(w, a), nil }))
	}
	return s.planned(s.core.planUpdateJob(name, func(j jobs.Config) (jobs.Config, error) { return changeJob(w, j), nil }))
}

func (s *scene) cmdDisable(w *words, disabled bool) error {
	what, name := w.next(), w.next()
	if what == "app" {
		return s.planned(s.core.planDisableApp(name, disabled))
	}
	return s.planned(s.core.planDisableJob(name, disabled))
}

func (s *scene) cmdDelete(w *words) error {
	if what := w.next(); what != "app" {
		return fmt.Errorf("%q can't be deleted", what)
	}
	name := w.next()
	withJobs := len(w.list) > 0 && w.next() == "with-jobs"
	return s.planned(s.core.planDeleteApp(name, withJobs))
}
