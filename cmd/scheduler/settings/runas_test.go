package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWhoJobsRunAs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const needed, onlyRoot = "jobs would run as root: add --run-as USER", "only root can run processes as another user"
	for _, c := range []struct {
		args string
		uid  int
		want string // the expected error, "" for none
		note string
	}{
		{"--local", 1000, "", ""},
		{"--local", 0, "", ""}, // the server chooses a user when it starts
		{"--local --run-as 60600:60600 --data-dir " + filepath.Join(dir, "data"), 0, "", ""},
		{"--local --run-as root", 0, "", "jobs run as root"},
		{"--local --run-as nobody --data-dir " + filepath.Join(dir, "data"), 0, "", ""},
		{"--local --run-as 65534 --data-dir " + filepath.Join(dir, "new", "data"), 0, "", ""},
		{"--local --run-as no-such-user", 0, `user "no-such-user" is not known`, ""},
		{"--local --run-as a,b", 0, "must be a user's name, uid or uid:gid", ""},
		{"--local --run-as root", 1000, onlyRoot, ""},
		{"--mesos http://h:1", 1000, "", ""},
		{"--mesos http://h:1", 0, needed, ""},
		{"--mesos http://h:1 --mesos-user nobody", 0, "", ""},
		{"--mesos http://h:1 --mesos-user root", 1000, needed, ""},
		{"--mesos http://h:1 --mesos-user root --run-as batch", 1000, "", ""}, // root on the agents may switch to batch
		{"--mesos http://h:1 --mesos-user ej --run-as batch", 1000, "executors run as ej, and " + onlyRoot, ""},
		{"--mesos http://h:1 --mesos-user ej --run-as ej", 1000, "", ""},
		{"--kubernetes --local", 0, "--kubernetes", ""},
		{"--mesos http://h:1 --hide-data=false", 1000, "--hide-data has no effect without --local", ""},
	} {
		flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
		s := New(flags)
		if err := flags.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if !flags.Changed("data-dir") {
			s.config.DataDir = filepath.Join(dir, "data")
		}
		err := s.Complete(nil, c.uid)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s for user %d: %v, want %q", c.args, c.uid, err, c.want)
		}
		if err != nil && strings.Contains(c.args, "--kubernetes") && strings.Contains(err.Error(), needed) {
			t.Errorf("%s: the error asks for --run-as, which is refused with --kubernetes: %v", c.args, err)
		}
		if notes := strings.Join(s.report.notes, "\n"); !strings.Contains(notes, c.note) ||
			c.note == "" && notes != "" {
			t.Errorf("%s for user %d: notes %q, want %q", c.args, c.uid, notes, c.note)
		}
	}
}

// TestTheDSNIsReadFromAFile: with --db-file the password is not on the command line; with --db there is a
// warning if it is.
func TestTheDSNIsReadFromAFile(t *testing.T) {
	t.Parallel()
	const dsn = "me:hush@tcp(h:3306)/history"
	w := newWorld(t)
	file := w.file(t, "dsn", dsn+"\n", 0o600)
	s, err := w.settings("--local", "--db-file", file)
	if err != nil || string(s.config.History.DSN) != dsn || len(s.report.notes) > 0 {
		t.Errorf("from a file: %v, %v, notes %q", err, s.config.History.DSN, s.report.notes)
	}
	for _, c := range [][2]string{
		{"--db-file " + file + " --db me@tcp(h:1)/x", "contradict each other"},
		{"--db-file " + w.file(t, "open", dsn, 0o644), "others can read"},
		{"--db-file " + w.file(t, "bad", "me:hush@nowhere", 0o600), "--db-file: "},
	} {
		if _, err := w.settings(append(strings.Fields(c[0]), "--local")...); err == nil ||
			!strings.Contains(err.Error(), c[1]) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q and no password", c[0], err, c[1])
		}
	}
	s, err = w.settings("--local", "--db", dsn)
	if err != nil || !strings.Contains(strings.Join(s.report.notes, ""), "--db-file") {
		t.Errorf("a password on the command line: %v, notes %q", err, s.report.notes)
	}
	if s, err = w.settings("--local", "--db", "me@tcp(h:3306)/history"); err != nil || len(s.report.notes) > 0 {
		t.Errorf("without a password: %v, notes %q", err, s.report.notes)
	}
}

// TestFilesOfSecretsAreHidden: each flag that names a secret file must be in SecretFiles, so that the file is hidden
// from jobs.
func TestFilesOfSecretsAreHidden(t *testing.T) {
	t.Parallel()
	public := []string{"ca-file", "mesos-ca-file", "mesos-cert-file"}
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	s := New(flags)
	var named []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.HasSuffix(f.Name, "-file") && !strings.HasSuffix(f.Name, "-key") && f.Name != "config" ||
			slices.Contains(public, f.Name) {
			return
		}
		if err := flags.Set(f.Name, "/secret/"+f.Name); err != nil {
			t.Fatal(err)
		}
		named = append(named, "/secret/"+f.Name)
	})
	hidden := s.config.SecretFiles()
	slices.Sort(hidden)
	slices.Sort(named)
	if len(named) < 8 || !slices.Equal(hidden, named) {
		t.Errorf("hidden files: %q; files that flags name: %q", hidden, named)
	}
}
