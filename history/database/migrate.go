package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
	"github.com/elasticjob-go/elasticjob/migrations"
)

// versionTable is the table of the applied migrations. It does not have goose's default name, because other programs
// that use goose may share the database.
const versionTable = "HISTORY_VERSION"

// ErrNewer is wrapped by the error about a database that a later release has migrated.
var ErrNewer = errors.New("the history's database is newer than this program")

// Migrate brings the schema to the version that this program needs, and returns the versions before and after. If
// several processes migrate at once, one does it and the others wait. An interrupted step is repeated. A newer
// database is refused with ErrNewer and stays unchanged.
func (d *DB) Migrate(ctx context.Context) (from, to int64, err error) {
	from, required, err := d.Versions(ctx)
	if err != nil || from == required {
		return from, from, err
	}
	p, err := d.provider()
	if err != nil {
		return from, from, err
	}
	if _, err := p.Up(ctx); err != nil {
		d.reconnect()
		return from, from, fmt.Errorf("migrate the history's database from version %d to %d: %w", from, required, err)
	}
	return from, required, nil
}

// Versions returns the schema version of the database, which is 0 without a schema, and the version that this program
// requires. It changes nothing. For a newer database it returns both versions and ErrNewer.
func (d *DB) Versions(ctx context.Context) (current, required int64, err error) {
	p, err := d.provider()
	if err != nil {
		return 0, 0, err
	}
	sources := p.ListSources()
	required = sources[len(sources)-1].Version
	var tables, versions []int64
	if err = d.ask(ctx, &tables, d.dialect.hasTable, versionTable); err == nil && tables[0] > 0 {
		if err = d.ask(ctx, &versions, "SELECT COALESCE(MAX(version_id), 0) FROM "+versionTable); err == nil {
			current = versions[0]
		}
	}
	switch {
	case err != nil:
		return 0, required, fmt.Errorf("read the version of the history's database: %w%s", err, netproblem.Advice(err))
	case current > required:
		return current, required, fmt.Errorf(
			"%w: its version is %d, this program's %d: use a later release, or another database", ErrNewer, current,
			required)
	}
	return current, required, nil
}

func (d *DB) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations.Files, d.dialect.folder)
	if err == nil {
		var p *goose.Provider
		if p, err = goose.NewProvider(d.dialect.goose, d.db.DB, files, goose.WithTableName(versionTable),
			goose.WithSessionLocker(d.dialect.lock(d.db.DB)), goose.WithDisableGlobalRegistry(true),
			goose.WithLogger(goose.NopLogger())); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("read the migrations of %s: %w", d.dialect.folder, err)
}
