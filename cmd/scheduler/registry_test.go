package main

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

const inSQLFlag = "mysql://root:p%40ss@db.example.com/elasticjob"

func TestWhereTheRegistryInSQLIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := w.file(t, "registry", inSQLFlag+"\n", 0o600)
	for name, test := range map[string]struct {
		args  []string
		env   map[string]string
		notes bool
	}{
		"flag":        {args: []string{"--registry", inSQLFlag}, notes: true},
		"variable":    {env: map[string]string{"ELASTICJOB_REGISTRY": inSQLFlag}},
		"file":        {args: []string{"--registry-file", file}},
		"no password": {args: []string{"--registry", "mysql://root@db.example.com/elasticjob"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if test.env != nil {
				w.env = test.env
			}
			s, err := w.settings(append(test.args, "--mesos", "http://h:5050", "--registry-lease", "20s")...)
			if err != nil {
				t.Fatal(err)
			}
			if o := s.config.registry.options(); !strings.Contains(o.DSN, "db.example.com") ||
				o.Lease != 20*time.Second || !s.config.elected() {
				t.Errorf("lease %v, elected %v", o.Lease, s.config.elected())
			}
			var out strings.Builder
			if err := s.show(&out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "(hidden)@db.example.com/elasticjob") ||
				strings.Contains(out.String(), "ss@") || strings.Contains(s.config.place(), "@") {
				t.Errorf("shown: %s and %s", s.config.place(), out.String())
			}
			if noted := strings.Contains(out.String(), "ELASTICJOB_REGISTRY"); noted != (test.notes ||
				test.env != nil) {
				t.Errorf("that others can read the password is said: %t\n%s", noted, out.String())
			}
		})
	}
}

func TestBadSettingsOfTheRegistryAreRefusedWithoutPassword(t *testing.T) {
	t.Parallel()
	mesos := []string{"--mesos", "http://h:5050"}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--registry", "mysql://root:hush@/x"}, "one host"},
		{[]string{"--registry", "postgres://root:hush@h/x"}, "mysql://user:password@host:3306/database"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--zk", "h:2181"}, "--registry and --zk contradict"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--registry-file", "f"}, "--registry and --registry-file contradict"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--local"}, "--local and --registry contradict"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--registry-lease", "1s"}, "--registry-lease 1s: want 2s to 5m"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--zk-namespace", "n"}, "--zk-namespace has no effect without --zk"},
		{[]string{"--registry-lease", "20s"}, "--registry-lease has no effect without --registry"},
		{[]string{"--registry", ""}, "--registry is empty"},
	} {
		_, err := newWorld(t).settings(append(test.args, mesos...)...)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}

// TestUsersNeedTheServersDatabase: the commands about users make nothing in a database that no scheduler has used,
// such as one whose name was mistyped.
func TestUsersNeedTheServersDatabase(t *testing.T) {
	t.Parallel()
	server := mariadb.Start(t)
	used, other := server.Database(t), server.Database(t)
	r, err := database.Open(database.Options{DSN: used})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Campaign(t.Context(), "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	const password = "a password of many words"
	for _, args := range []string{"user list", "user add ann --role admin", "token add ci --role viewer"} {
		if _, _, err := typed(t, password, append(strings.Fields(args), "--registry", other)...); err == nil ||
			!strings.Contains(err.Error(), "no scheduler has ever used it") ||
			!strings.Contains(err.Error(), "start a server first") {
			t.Errorf("%s in an empty database: %v", args, err)
		}
	}
	var tables int
	if err := server.Root(t).QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'REGISTRY%' AND TABLE_SCHEMA = ?", databaseOf(t, other)).Scan(&tables); err != nil || tables > 0 {
		t.Errorf("%d tables, %v", tables, err)
	}
	if _, _, err := typed(t, password, "user", "add", "ann", "--role", "admin", "--registry", used); err != nil {
		t.Error(err)
	}
	if out, _, err := typed(t, "", "user", "list", "--registry", used); err != nil || !strings.Contains(out, "ann") {
		t.Error(out, err)
	}
}

func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.Config(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c.DBName
}
