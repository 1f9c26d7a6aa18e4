package server

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/platform"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// coreOptions converts the settings into the options of the core. zone is the time zone of the crons of jobs without a
// time zone. executorURL is the URL from which agents fetch the executor.
func coreOptions(c *settings.Config, zone *time.Location, executorURL string) step.Options {
	o := step.DefaultOptions()
	o.Release = release.Version()
	o.Zone, o.ExecutorBinary, o.ExecutorIdle, o.KillGrace = zone, executorURL, c.Jobs.ExecutorIdle, c.Jobs.KillGrace
	o.UnreachableAfter, o.Operators = c.Jobs.UnreachableAfter, c.Notify.Operators
	o.ReconcileInterval, o.Role, o.JobMetrics = c.Reconcile, c.Mesos.Role, c.JobMetrics
	o.DocumentsLimit, o.DocumentsPerAppLimit = int64(c.Documents.All), int64(c.Documents.PerApp)
	o.ExecutorShutdown = executor.ShutdownGrace(c.Jobs.KillGrace)
	platform.SetCore(c, &o)
	if c.ZooKeeper.Servers != "" {
		o.Documents = step.YAMLDocuments // the form of ElasticJob-Cloud, so that users can go back to it
	}
	for _, limit := range c.Jobs.ExecutorLimits {
		o.ExecutorCommand = append(o.ExecutorCommand, "--"+limit)
	}
	if c.Jobs.RunAs != "" {
		o.ExecutorCommand = append(o.ExecutorCommand, "--run-as="+c.Jobs.RunAs)
	}
	if c.Jobs.Spread {
		o.Strategy = offers.Spread
	}
	return o
}
