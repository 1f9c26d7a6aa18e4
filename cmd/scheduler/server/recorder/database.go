package recorder

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/history/database"
)

// openDatabase opens the database of the history. It returns nil without an error if there is none. It does not
// connect to a database in SQL, so a database that is down is no error here.
func openDatabase(c *settings.Config, log *slog.Logger) (*database.DB, error) {
	switch {
	case c.History.DSN != "":
		db, err := database.OpenMySQL(string(c.History.DSN), database.Options{Logger: log})
		if err != nil {
			return nil, fmt.Errorf("--db: %w", err)
		}
		return db, nil
	case c.Local.On:
		path := filepath.Join(c.DataDir, "history.db")
		if err := keepPrivate(path); err != nil {
			return nil, err
		}
		return database.OpenSQLite(path, database.Options{Logger: log})
	}
	return nil, nil
}

// keepPrivate creates the file, or changes its mode, so that only its owner can read it: other users may be able to
// pass through the data folder.
func keepPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = errors.Join(file.Chmod(0o600), file.Close())
	}
	if err != nil {
		return fmt.Errorf("restrict the history to this user: %w", err)
	}
	return nil
}
