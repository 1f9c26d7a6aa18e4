package platform

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openMesos creates the clients of a Mesos cluster. executor is the URL from which its agents fetch the executor.
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
