package guard

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/executors"
)

// TestLinksThatJobsCanReplaceAreWarnedOf: a job that can replace a link to a file or program decides what the next
// start reads or executes.
func TestLinksThatJobsCanReplaceAreWarnedOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o700)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, executor := write("conf/plain"), write("bin/executor")
	named := write("named/" + executors.OwnName)
	link, linked := filepath.Join(dir, "current"), filepath.Join(dir, "linked", "executor")
	err := errors.Join(os.Symlink("conf", link), os.Mkdir(filepath.Dir(linked), 0o700), os.Symlink(executor, linked))
	if err != nil {
		t.Fatal(err)
	}
	programs, linkedPrograms, byLink := filepath.Dir(executor), filepath.Dir(linked), filepath.Join(link, "plain")
	for name, c := range map[string]struct {
		names Names
		want  string
	}{
		"no link":             {Names{Secrets: []string{plain}, ExecutorDir: programs, UID: 1000}, ""},
		"a file by a link":    {Names{Secrets: []string{byLink}, ExecutorDir: programs, UID: 1000}, "link=" + link},
		"a program by a link": {Names{ExecutorDir: linkedPrograms, UID: 1000}, "link=" + linked},
		"a name to be added":  {Names{ExecutorDir: filepath.Dir(named), UID: 1000}, "rename " + executors.OwnName},
		"jobs are root":       {Names{RunAs: "root", Secrets: []string{byLink}, ExecutorDir: linkedPrograms}, ""},
	} {
		var said strings.Builder
		c.names.Logger = slog.New(slog.NewTextHandler(&said, nil))
		err := c.names.Check()
		if err != nil || c.want == "" && said.Len() > 0 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: %v, it says %q, want %q", name, err, &said, c.want)
		}
	}
}

// TestAsRootNamesThatJobsCanReplaceAreRefused: if jobs run as another user, they must not be able to replace the
// files that root's next start reads or executes.
func TestAsRootNamesThatJobsCanReplaceAreRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	const jobs = 60600
	for name, c := range map[string]struct {
		owned string // the path that belongs to the jobs' user
		mode  os.FileMode
		want  string // the path that the error names; "" for no error
	}{
		"nothing":              {},
		"the secret":           {owned: "conf/token", want: "conf/token"},
		"its folder":           {owned: "conf", want: "conf/token"},
		"the link's folder":    {owned: "links", want: "links/current"},
		"the executor":         {owned: "bin/executor", want: "bin/executor"},
		"the programs' folder": {owned: "bin", want: "bin/executor"},
		"the folder above":     {owned: ".", want: "bin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := openAll(t)
			at := func(name string) string { return filepath.Join(dir, name) }
			err := errors.Join(os.Mkdir(at("conf"), 0o755), os.Mkdir(at("bin"), 0o755), os.Mkdir(at("links"), 0o755),
				os.Symlink("../conf", at("links/current")),
				os.WriteFile(at("conf/token"), nil, 0o600), os.WriteFile(at("bin/executor"), nil, 0o755))
			if c.owned != "" {
				err = errors.Join(err, os.Chown(at(c.owned), jobs, jobs))
			}
			if err != nil {
				t.Fatal(err)
			}
			token := at("links/current/token")
			names := Names{RunAs: "60600:60600", ExecutorDir: at("bin"), Secrets: []string{token},
				Logger: slog.New(slog.DiscardHandler)}
			err = names.Check()
			if (err != nil) != (c.want != "") {
				t.Errorf("%v, want %q", err, c.want)
			}
			for _, want := range []string{at(c.want), "chmod go-w"} {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		})
	}
}

// openAll creates a folder that all users can reach.
func openAll(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}
