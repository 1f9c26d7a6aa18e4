package platform

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openMesos makes what reaches a cluster of Mesos, whose executors it finds.
func openMesos(c *settings.Config, reach mesos.Options, address string, found *executors.Executors,
	log *slog.Logger) (Platform, error) {
	reach.Logger = log
	driver, err := mesos.New(reach)
	if err != nil {
		return Platform{}, err
	}
	files := mesos.NewFiles(mesos.Options{Credentials: reach.Credentials, TLS: reach.TLS})
	return Platform{
		Driver: driver, Output: files, Artifact: found.File,
		Framework: framework(c, address), ExecutorBinary: found.Address(c.Local.On, c.Scheme()+"://"+address),
		Close: func() error { files.Close(); return nil },
	}, nil
}
