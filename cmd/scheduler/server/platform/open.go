package platform

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/guard"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// Open opens the cluster in the settings. It starts the cluster of --local, and does not connect to any other cluster.
// address is the host:port under which others reach this server. held are the files that jobs on this machine must not
// see.
func Open(
	ctx context.Context, c *settings.Config, address string, held guard.Files, log *slog.Logger,
) (Platform, error) {
	if c.Kubernetes.On {
		return openKubernetes(c, address, log)
	}
	found, err := executors.Find(c.Jobs.ExecutorDir, filepath.Join(c.DataDir, "artifacts"))
	if err != nil {
		return Platform{}, err
	}
	var p Platform
	if c.Local.On {
		p, err = openLocal(ctx, c, address, found, held, log)
	} else {
		p, err = openMesos(c, c.Mesos.Options(), address, found.URL(c.Scheme()+"://"+address), log)
	}
	p.Artifact = found.File
	return p, err
}
