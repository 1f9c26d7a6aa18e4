package database

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite"

	"github.com/elasticjob-go/elasticjob/migrations"
)

// eachDatabase runs a test on a new database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, db *DB)) {
	for _, kind := range []string{"mysql", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, openTemporary(t, kind))
		})
	}
}

func openTemporary(t *testing.T, kind string) *DB {
	dsn := filepath.Join(t.TempDir(), "history.db")
	if kind == "mysql" {
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '_'
		}, t.Name())
		root := sqlx.MustOpen("mysql", "root@unix(/tmp/reads-maria/s)/")
		root.MustExec("DROP DATABASE IF EXISTS " + name)
		root.MustExec("CREATE DATABASE " + name)
		t.Cleanup(func() { root.MustExec("DROP DATABASE " + name); root.Close() })
		dsn = fmt.Sprintf("root@unix(/tmp/reads-maria/s)/%s?multiStatements=true&parseTime=false&interpolateParams=true", name)
	}
	db := sqlx.MustOpen(kind, dsn)
	t.Cleanup(func() { db.Close() })
	files, err := fs.Glob(migrations.Files, kind+"/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := migrations.Files.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(string(text)); err != nil {
			t.Fatal(f, err)
		}
	}
	return &DB{db}
}
