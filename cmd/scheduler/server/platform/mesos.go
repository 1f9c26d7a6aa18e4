package platform

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openMesos creates the clients of a Mesos cluster, without connecting. executorURL is the URL from which agents fetch
// the executor.
func openMesos(
	c *settings.Config, o mesos.Options, address, executorURL string, log *slog.Logger,
) (Platform, error) {
	o.Logger = log
	driver, err := mesos.New(o)
	if err != nil {
		return Platform{}, err
	}
	files := mesos.NewFiles(mesos.Options{Credentials: o.Credentials, TLS: o.TLS})
	return Platform{
		Driver: driver, Output: files, Framework: framework(c, address), ExecutorBinary: executorURL,
		Close: func() error { files.Close(); return nil },
	}, nil
}
