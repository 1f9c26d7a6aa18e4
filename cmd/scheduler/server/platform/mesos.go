package platform

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openMesos makes what reaches a cluster of Mesos, which fetches executors from a URL.
func openMesos(c *settings.Config, reach mesos.Options, address, executor string, log *slog.Logger) (Platform, error) {
	reach.Logger = log
	driver, err := mesos.New(reach)
	if err != nil {
		return Platform{}, err
	}
	files := mesos.NewFiles(mesos.Options{Credentials: reach.Credentials, TLS: reach.TLS})
	return Platform{
		Driver: driver, Output: files, Framework: framework(c, address), ExecutorBinary: executor,
		Close: func() error { files.Close(); return nil },
	}, nil
}
