package database

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var server mariadb.Shared

func TestMain(m *testing.M) { goleak.VerifyTestMain(server.Main(m)) }

// noon is the time that tests count from.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func options() Options {
	return Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return noon }}
}

func mysqlOf(t testing.TB, dsn string) *DB {
	t.Helper()
	return closed(t)(OpenMySQL(dsn, options()))
}

func sqliteOf(t testing.TB, path string) *DB {
	t.Helper()
	return closed(t)(OpenSQLite(path, options()))
}

// closed returns a function that takes the results of an open function: it fails the test if there is an error, and
// closes the database at the end of the test.
func closed(t testing.TB) func(*DB, error) *DB {
	t.Helper()
	return func(d *DB, err error) *DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
}

// eachDatabase runs a test on an empty database of each kind. The test may call open several times.
func eachDatabase(t *testing.T, test func(t *testing.T, open func() *DB)) {
	t.Helper()
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		dsn := server.Server(t).Database(t)
		test(t, func() *DB { return mysqlOf(t, dsn) })
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a ?#%&'b.db") // a path may contain any characters
		test(t, func() *DB { return sqliteOf(t, path) })
	})
}

// eachMigrated runs a test on a migrated database of each kind.
func eachMigrated(t *testing.T, test func(t *testing.T, d *DB)) {
	t.Helper()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		d := open()
		migrate(t, d)
		test(t, d)
	})
}

func migrate(t testing.TB, d *DB) {
	t.Helper()
	if _, _, err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// write writes rows as one batch and fails if any is lost.
func write(t testing.TB, d *DB, rows event.Rows) {
	t.Helper()
	if lost, err := d.Write(t.Context(), []event.Batch{{Term: 1, Number: 1, Rows: rows}}); err != nil || lost > 0 {
		t.Fatalf("write: %d rows lost, %v", lost, err)
	}
}

// rowsFrom returns the rows of a query, each as a map from columns to texts, numbers or nil.
func rowsFrom(t testing.TB, d *DB, query string, args ...any) (found []map[string]any) {
	t.Helper()
	rows, err := d.db.QueryxContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		row := map[string]any{}
		if err := rows.MapScan(row); err != nil {
			t.Fatal(err)
		}
		for name, value := range row {
			if text, ok := value.([]byte); ok {
				row[name] = string(text)
			}
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func countOf(t testing.TB, d *DB, table string) (n int) {
	t.Helper()
	if err := d.db.GetContext(t.Context(), &n, "SELECT COUNT(*) FROM "+table); err != nil {
		t.Fatal(err)
	}
	return n
}
