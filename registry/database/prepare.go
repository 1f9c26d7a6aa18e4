package database

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/migrations"
	"github.com/elasticjob-go/elasticjob/registry"
)

// versionTable is the table of the migrations that were applied.
const versionTable = "REGISTRY_VERSION"

// minPacket is the smallest sufficient max_allowed_packet, in bytes: for the largest value, each byte of which may
// take two bytes in a statement, and one batch.
const minPacket = 4 << 20

// prepareTimeout is the timeout for creating the tables. It includes the wait for another process that creates them.
const prepareTimeout = time.Minute

// prepare checks that the database is usable, and creates its tables or migrates those of an earlier release. It does
// not create tables if this server remembers a registry.
func (s *store) prepare(ctx context.Context, remembered position) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	current, required, err := s.versions(ctx)
	switch {
	case err != nil:
		return s.explain("read the version of the registry", err)
	case current > required:
		return fmt.Errorf("%w: the registry in the database %s is newer than this program: its version is %d, this program's %d: use a later release",
			registry.ErrUnusable, s.name, current, required)
	case current == required:
	case remembered.Lineage != "" && current == 0:
		return fmt.Errorf("the database %s has no registry, though this server has used one there: bring the database back, or restore a backup (scheduler restore); "+
			"to start with an empty registry, without apps and jobs, remove %s and start the server again",
			s.name, s.Seen)
	default:
		goose, err := s.provider()
		if err == nil {
			_, err = goose.Up(ctx)
		}
		if err != nil {
			return s.explain("create the tables of the registry", err)
		}
		// The idle connections are closed, because MySQL checks the permissions for the new tables only when a
		// connection is opened.
		s.db.SetMaxIdleConns(0)
		s.db.SetMaxIdleConns(maxConnections)
	}
	var lineage string
	err = s.db.GetContext(ctx, &lineage, "SELECT lineage FROM REGISTRY_FENCE WHERE id = 1")
	if err == nil && lineage == "" {
		_, err = s.db.ExecContext(ctx, "UPDATE REGISTRY_FENCE SET lineage = ? WHERE id = 1 AND lineage = ''",
			uuid.NewString())
	}
	return s.explain("prepare the registry", err)
}

// checkServer returns an error if a setting of the database makes the registry unusable. If commits are not synced to
// the disk, it only logs a warning, once.
func (s *store) checkServer(ctx context.Context) error {
	var server struct {
		Packet   int64 `db:"packet"`
		ReadOnly bool  `db:"read_only"`
		Flush    int   `db:"flush"`
		Log      bool  `db:"log_bin"`
		Sync     int   `db:"sync_binlog"`
	}
	err := s.db.GetContext(ctx, &server,
		"SELECT @@max_allowed_packet AS packet, "+readOnlyNow+
			" AS read_only, @@innodb_flush_log_at_trx_commit AS flush, @@log_bin AS log_bin, @@sync_binlog AS sync_binlog")
	switch {
	case err != nil:
		return s.explain("read the settings", err)
	case server.Packet < minPacket:
		return fmt.Errorf("%w: max_allowed_packet of the database %s is %d: set it to %d or more",
			registry.ErrUnusable, s.name, server.Packet, minPacket)
	case server.ReadOnly:
		return s.explain("prepare the registry", errReadOnly)
	case server.Flush != 1, server.Log && server.Sync != 1:
		s.syncWarning.Do(func() {
			s.Logger.Warn("database does not sync each commit to its disk: the last decisions may be lost if its machine fails; set innodb_flush_log_at_trx_commit and, with log_bin, sync_binlog to 1",
				"database", s.name, "innodb_flush_log_at_trx_commit", server.Flush, "log_bin", server.Log,
				"sync_binlog", server.Sync)
		})
	}
	return nil
}

// versions returns the version of the tables, which is 0 without tables, and the version that this program requires.
func (s *store) versions(ctx context.Context) (current, required int64, err error) {
	provider, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	sources := provider.ListSources()
	required = sources[len(sources)-1].Version
	var tables int
	if err = s.db.GetContext(ctx, &tables, mysql.HasTable, versionTable); err == nil && tables > 0 {
		err = s.db.GetContext(ctx, &current, "SELECT COALESCE(MAX(version_id), 0) FROM "+versionTable)
	}
	return current, required, err
}

// provider returns the provider of the registry's migrations.
func (s *store) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations.Files, "registry")
	if err != nil {
		return nil, err
	}
	lock := &mysql.MigrationLock{Name: "elasticjob-registry", Table: versionTable, Timeout: prepareTimeout / 2,
		DB: s.db.DB}
	return goose.NewProvider(goose.DialectMySQL, s.db.DB, files, goose.WithTableName(versionTable),
		goose.WithSessionLocker(lock), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}
