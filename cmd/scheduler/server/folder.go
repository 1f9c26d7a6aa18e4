package server

import (
	"log/slog"
	"os"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/datafolder"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/guard"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/store"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openFolder opens the data folder and protects it from jobs. It returns a copy of the settings in which the folder's
// path has no links, and in which the user of the jobs is set. It also returns the secret files that flags name,
// opened.
func openFolder(c *settings.Config, log *slog.Logger) (_ *settings.Config, files guard.Files, err error) {
	if !c.Elected() {
		// This comes before the folder is created, because a new folder would be in the way of a user who moves the
		// old one back.
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
		names := guard.Names{Secrets: c.SecretFiles(), ExecutorDir: c.Jobs.ExecutorDir, RunAs: changed.Jobs.RunAs,
			UID: os.Geteuid(), Logger: log}
		if err := names.Check(); err != nil {
			return nil, nil, err
		}
	}
	files, err = guard.Hold(c.SecretFiles())
	return &changed, files, err
}
