package server

import (
	"log/slog"
	"os"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/datafolder"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/guard"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/store"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openFolder opens the data folder and protects it from jobs. It returns the settings with the folder's path without
// links and with the user that jobs run as, and the secret files that flags name, held open.
func openFolder(c *settings.Config, log *slog.Logger) (found *settings.Config, files guard.Files, err error) {
	if !c.Elected() {
		// Checked before the folder is created, because that would be in the way of moving the old folder back.
		if err := store.CheckNew(c.DataDir); err != nil {
			return nil, nil, err
		}
	}
	changed := *c
	if changed.Jobs.RunAs, err = datafolder.Open(datafolder.Options{
		Dir: c.DataDir, Local: c.Local.On, RunAs: c.Jobs.RunAs, Logger: log}); err != nil {
		return nil, nil, err
	}
	if changed.DataDir, err = guard.DataFolder(c.DataDir, c.Local.On, log); err != nil {
		return nil, nil, err
	}
	if c.Local.On {
		if err := (guard.Names{Secrets: c.SecretFiles(), ExecutorDir: c.Jobs.ExecutorDir, RunAs: changed.Jobs.RunAs,
			UID: os.Geteuid(), Logger: log}).Check(); err != nil {
			return nil, nil, err
		}
	}
	files, err = guard.Hold(c.SecretFiles())
	return &changed, files, err
}
