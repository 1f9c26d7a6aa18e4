package commands

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	server := mariadb.Start(t)
	name := server.Database(t)
	for _, step := range []struct {
		dsn  string
		args string
		says string
		ok   bool
	}{
		{"", "", "name the database", false},
		{"u:hush@h/d", "", "user:password@tcp(host:3306)/database", false},
		{server.DSN("root", "hush", "nowhere"), "", "Access denied", false},
		{name, "--status", "has version 0, this release needs 14", false},
		{name, "", "from version 0 to 14", true},
		{name, "--status", "has version 14", true},
		{name, "", "has version 14 already", true},
	} {
		cmd := migrateCommand()
		var out strings.Builder
		cmd.SetOut(&out)
		var args []string
		if step.dsn != "" {
			args = append(args, "--db", step.dsn)
		}
		cmd.SetArgs(append(args, strings.Fields(step.args)...))
		err := cmd.ExecuteContext(t.Context())
		if err != nil {
			out.WriteString(err.Error())
		}
		if (err == nil) != step.ok || !strings.Contains(out.String(), step.says) ||
			strings.Contains(out.String(), "hush") {
			t.Errorf("%s: %s", step.args, out.String())
		}
	}
}
