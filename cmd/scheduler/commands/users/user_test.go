package users

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// runCommand runs a command line with this standard input.
func runCommand(t *testing.T, input string, args ...string) (out, notes string, err error) {
	t.Helper()
	cmd := &cobra.Command{Use: "scheduler", SilenceErrors: true, SilenceUsage: true}
	cmd.AddCommand(Commands()...)
	var stdout, stderr bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// TestUsersBeforeTheFirstStart: the effects of the commands on a folder without a running server.
func TestUsersBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	const password = "a password of many words"
	var secrets []string
	for _, step := range []struct {
		input string
		args  string
		out   string // a part of the output, or of the error after a leading !
		notes string
	}{
		{"", "user list", "!there is no registry in " + dir, ""},
		{"", "token list", "!scheduler user add NAME --role admin", ""},
		{"", "user rm ann", "!there is no registry", ""},
		{password, "user add ann", "!--role is missing: it must be admin, operator, viewer or metrics", ""},
		{password, "user add ann --role root", "!must be one of", ""},
		{password, "user add ann --role viewer --apps a/b", "!not a pattern", ""},
		{"", "user add ann --role admin", "!standard input has no password", ""},
		{"\n", "user add ann --role admin", "!standard input has no password", ""},
		{"1234567\n", "user add ann --role admin", "!at least 8 characters", ""},
		{strings.Repeat("x", 1025), "user add ann --role admin", "!1025 bytes", ""},
		{strings.Repeat("x", 1<<20), "user add ann --role admin", "!4096 bytes", ""},
		{"tab\tin the middle", "user add ann --role admin", "!control characters", ""},
		{password, "user add a\x07nn --role admin", "!must be 1 to 100 letters", ""},
		{password + "\nmore", "user add ann --role admin --local --listen 0.0.0.0:1", "user ann added: admin for all apps", "No server uses " + dir + " now"},
		{password, "user add ann --role admin", "!the user ann already exists", ""},
		{password + "\r\n", "user add ben --role operator --apps billing-*,x", "user ben added: operator for billing-*,x", ""},
		{"", "user set ben", "!say what to change", ""},
		{"", "user set ben --role viewer", "user ben changed: viewer for billing-*,x", ""},
		{"", "user set ben --all-apps", "user ben changed: viewer for all apps", ""},
		{"", "user set ben --apps y", "user ben changed: viewer for y", ""},
		{"", "user set cid --role viewer", "!there is no user \"cid\"", ""},
		{password, "user passwd cid", "!scheduler user list shows all", ""},
		{password + "!", "user passwd ben", "password of user ben changed", ""},
		{"", "user list", "ben    viewer   y", ""},
		{"", "user logout-all", "all logins ended", ""},
		{"", "user logout ben", "all logins of ben ended", ""},
		{"", "user logout", "!exactly one name is required", ""},
		{"", "user rm", "!exactly one name is required", ""},
		{"", "user rm ben", "user ben removed", ""},
		{"", "token add ci --role operator --apps b-* --expires 90d", "ejt_", "token ci added: operator for b-*; it expires: 2"},
		{"", "token add ci --role operator", "!there is an API token ci", ""},
		{"", "token add x --role operator --expires 0d", "!must be days as 90d", ""},
		{"", "token add x --role operator --expires soon", "!must be days as 90d", ""},
		{"", "token add x --role operator --expires=-213503d", "!must be days as 90d", ""}, // its nanoseconds overflow to 23 h
		{"", "token add x --role metrics --apps a", "!for all apps", ""},
		{"", "token list", "ci     operator   b-*", ""},
		{"", "token rm cx", "!no API token \"cx\"", ""},
		{"", "token rm ci", "token ci removed", ""},
		{"", "user rm ann", "user ann removed", "No users and tokens are left"},
		{"", "user list --zk h1:2181 --local", "!contradict", ""},
		{"", "user list --zk-namespace x", "!no effect without --zk", ""},
	} {
		args := append(strings.Split(step.args, " "), "--data-dir", dir)
		out, notes, err := runCommand(t, step.input, args...)
		want, fails := strings.CutPrefix(step.out, "!")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v, want the error %q", step.args, out, err, want)
		case !fails && (err != nil || !strings.Contains(out, want) || !strings.Contains(notes, step.notes)):
			t.Errorf("%s: %q, %q, %v, want %q, %q", step.args, out, notes, err, want, step.notes)
		}
		if strings.HasPrefix(out, "ejt_") {
			secrets = append(secrets, strings.TrimSpace(out))
		}
		for _, secret := range append(secrets, password, "1234567") {
			if err != nil && strings.Contains(err.Error(), secret) || strings.Contains(notes, secret) {
				t.Errorf("%s: shows %q", step.args, secret)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "registry.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the registry: %v, %v", info, err)
	}
}

func TestListsAsJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range []string{"user add ann --role viewer --apps a-*", "token add ci --role admin"} {
		if _, _, err := runCommand(t, "a password", append(strings.Split(args, " "), "--data-dir", dir)...); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := runCommand(t, "", "user", "list", "--json", "--data-dir", dir)
	var users []auth.Account
	if err != nil || json.Unmarshal([]byte(out), &users) != nil || len(users) != 1 || users[0].Name != "ann" ||
		users[0].Role != auth.Viewer || users[0].Created.IsZero() {
		t.Errorf("%s, %v", out, err)
	}
	out, _, err = runCommand(t, "", "token", "list", "--json", "--data-dir", dir)
	if err != nil || !strings.Contains(out, `"name":"ci","role":"admin"`) || strings.Contains(out, "hash") ||
		strings.Contains(out, "expires") {
		t.Errorf("%s, %v", out, err)
	}
	if _, _, err := runCommand(t, "", "user", "rm", "ann", "--data-dir", dir); err != nil {
		t.Fatal(err)
	}
	if out, _, err := runCommand(t, "", "user", "list", "--json", "--data-dir", dir); err != nil || out != "[]\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestUsersNeedTheServersDatabase: the commands about users create nothing in a database that no server has used, for
// example because its name is mistyped.
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
		if _, _, err := runCommand(t, password, append(strings.Fields(args), "--registry", other)...); err == nil ||
			!strings.Contains(err.Error(), "no scheduler has ever used it") ||
			!strings.Contains(err.Error(), "start a server first") {
			t.Errorf("%s in an empty database: %v", args, err)
		}
	}
	var tables int
	if err := server.Root(t).QueryRow(
		"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'REGISTRY%' AND TABLE_SCHEMA = ?",
		databaseOf(t, other)).Scan(&tables); err != nil || tables > 0 {
		t.Errorf("%d tables, %v", tables, err)
	}
	if _, _, err := runCommand(t, password, "user", "add", "ann", "--role", "admin", "--registry", used); err != nil {
		t.Error(err)
	}
	if out, _, err := runCommand(t, "", "user", "list", "--registry", used); err != nil || !strings.Contains(out, "ann") {
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
