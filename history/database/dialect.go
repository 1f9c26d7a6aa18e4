package database

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	driver "github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// dialect contains the differences between the kinds of databases.
type dialect struct {
	folder string // of the migrations
	goose  goose.Dialect
	// lock returns the lock that serializes migrations.
	lock func(*sql.DB) lock.SessionLocker
	// hasTable is the query that counts the tables with a name.
	hasTable string
	// onConflict returns the end of an INSERT. It says what happens to rows that exist already.
	onConflict func(table) string
	// refused reports whether an error says that the database refuses a row for its content, so that a retry can't
	// succeed.
	refused func(error) bool
}

var mysqlDialect = dialect{
	folder: "mysql", goose: goose.DialectMySQL,
	lock: func(db *sql.DB) lock.SessionLocker {
		return &mysql.MigrationLock{Name: "elasticjob-history", Table: versionTable, Timeout: lockTimeout, DB: db}
	},
	hasTable: mysql.HasTable,
	onConflict: func(t table) string {
		if t.version == "" {
			return " ON DUPLICATE KEY UPDATE " + t.key + " = " + t.key
		}
		// The assignments run from left to right, so the version comes last. Both MySQL and MariaDB know VALUES();
		// only MySQL knows its successor.
		var sets []string
		set := func(name string) {
			sets = append(sets, fmt.Sprintf("%s = IF(VALUES(%s) > %s, VALUES(%s), %s)", name, t.version, t.version,
				name, name))
		}
		for _, c := range t.columns {
			if c.name != t.key && c.name != t.version {
				set(c.name)
			}
		}
		set(t.version)
		return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
	},
	refused: func(err error) bool {
		var refusal *driver.MySQLError
		if !errors.As(err, &refusal) {
			return false
		}
		switch class := string(refusal.SQLState[:2]); {
		case class == "22", class == "23": // data exceptions, violated constraints
			return true
		default:
			// Truncated and invalid text: MySQL reports both with the class HY.
			return slices.Contains([]uint16{1265, 1366}, refusal.Number)
		}
	},
}

// sqliteDialect is the dialect for an SQLite file.
func sqliteDialect(path string) dialect {
	return dialect{
		folder: "sqlite", goose: goose.DialectSQLite3,
		lock:     func(*sql.DB) lock.SessionLocker { return &fileLock{path: path + ".migrate", timeout: lockTimeout} },
		hasTable: "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
		onConflict: func(t table) string {
			if t.version == "" {
				return " ON CONFLICT (" + t.key + ") DO NOTHING"
			}
			var sets []string
			for _, c := range t.columns {
				if c.name != t.key {
					sets = append(sets, fmt.Sprintf("%s = excluded.%s", c.name, c.name))
				}
			}
			return fmt.Sprintf(" ON CONFLICT (%s) DO UPDATE SET %s WHERE excluded.%s > %s.%s", t.key,
				strings.Join(sets, ", "), t.version, t.name, t.version)
		},
		refused: func(err error) bool {
			var refusal *sqlite.Error
			return errors.As(err, &refusal) &&
				slices.Contains([]int{lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_TOOBIG},
					refusal.Code()&0xff)
		},
	}
}
