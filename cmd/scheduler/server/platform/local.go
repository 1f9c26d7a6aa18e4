package platform

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/guard"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/logging"
)

// openLocal starts the cluster of this machine, and creates a Mesos driver for it, because this cluster has the API of
// Mesos.
func openLocal(
	ctx context.Context, c *settings.Config, address string, found *executors.Executors, held guard.Files,
	log *slog.Logger,
) (Platform, error) {
	var hidden *guard.Hidden
	if c.Local.HideData && os.Geteuid() != 0 {
		var err error
		if hidden, err = guard.Hide(ctx, guard.HideOptions{DataDir: c.DataDir, Files: held,
			Programs: guard.Programs(c.Jobs.ExecutorDir), Executor: found.Own(), Logger: log}); err != nil {
			return Platform{}, err
		}
	}
	options := local.Options{
		DataDir: filepath.Join(c.DataDir, "cluster"), CPUs: c.Local.CPUs, MemoryMB: c.Local.MemoryMB,
		GiveUpExecutors: c.Local.GiveUpExecutors, Logger: logging.Quieter(log),
	}
	if hidden != nil {
		options.ExecutorEnvironment, options.IsolateExecutor = hidden.Environment(), hidden.Start
	}
	machine, err := local.Start(ctx, options)
	if err != nil {
		return Platform{}, errors.Join(err, hidden.Close())
	}
	closeMachine := func() error {
		return errors.Join(lifecycle.Within(5*time.Second, machine.Close), hidden.Close())
	}
	credentials := machine.Credentials()
	mesosOptions := mesos.Options{Masters: []string{machine.MasterURL()},
		Credentials: &mesos.Credentials{User: credentials.Principal, Secret: credentials.Secret}}
	p, err := openMesos(c, mesosOptions, address, found.FileURL(), log)
	if err != nil {
		return Platform{}, errors.Join(err, closeMachine())
	}
	closeClients := p.Close
	p.Framework.Principal = credentials.Principal
	p.Machine, p.Close = machine, func() error { return errors.Join(closeClients(), closeMachine()) }
	return p, nil
}
