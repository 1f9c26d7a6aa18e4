package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// TestHeldFiles: a file stays hidden as what it was when the server started, wherever a link leads since, and what a
// link leads to now is hidden, too. Only a file that has no name any more can be another one.
func TestHeldFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named  string
		change func(dir string) error
		want   string // what is hidden, with a * if it must be the same file
	}{
		"a file":             {named: "file", want: "file*"},
		"a link":             {named: "link", want: "file* link"},
		"another link":       {named: "link", want: "file* link", change: relink("other")},
		"a dead link":        {named: "link", want: "file* link", change: relink("none")},
		"renamed to":         {named: "file", want: "file", change: move("other", "file")},
		"moved":              {named: "file", want: "file*", change: move("file", "away")},
		"removed":            {named: "file", want: "file", change: removeFile},
		"not there":          {named: "none", want: "none"},
		"not there at first": {named: "none", want: "none", change: move("file", "none")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := errors.Join(os.WriteFile(dir+"/file", nil, 0o600), os.WriteFile(dir+"/other", nil, 0o600),
				os.Symlink("file", dir+"/link"))
			if err != nil {
				t.Fatal(err)
			}
			held, err := holdFiles([]string{filepath.Join(dir, c.named)})
			if err != nil {
				t.Fatal(err)
			}
			defer held.close()
			if c.change != nil {
				if err := c.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			p := held.hiddenWith(isolation.Places{})
			var got []string
			for _, path := range p.Files {
				name := filepath.Base(path)
				if p.FilesAre[path] != (isolation.Identity{}) {
					name += "*"
				}
				got = append(got, name)
			}
			slices.Sort(got)
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("hidden are %q, want %q", all, c.want)
			}
		})
	}
}

func relink(to string) func(dir string) error {
	return func(dir string) error {
		return errors.Join(os.Remove(dir+"/link"), os.Symlink(to, dir+"/link"))
	}
}

func removeFile(dir string) error { return os.Remove(filepath.Join(dir, "file")) }

func move(from, to string) func(dir string) error {
	return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
}

// TestLinksThatJobsCanReplaceAreWarnedOf: whoever can replace a link to a file or program decides what the next start
// reads or executes.
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
	named := write("named/" + ownExecutor)
	link, linked := filepath.Join(dir, "current"), filepath.Join(dir, "linked", "executor")
	err := errors.Join(os.Symlink("conf", link), os.Mkdir(filepath.Dir(linked), 0o700), os.Symlink(executor, linked))
	if err != nil {
		t.Fatal(err)
	}
	programs, linkedPrograms, byLink := filepath.Dir(executor), filepath.Dir(linked), filepath.Join(link, "plain")
	for name, c := range map[string]struct {
		config config // of --local, but for one
		uid    int
		want   string
	}{
		"no link":             {config{tokenFile: plain, executorDir: programs}, 1000, ""},
		"a file by a link":    {config{tokenFile: byLink, executorDir: programs}, 1000, "link=" + link},
		"a program by a link": {config{executorDir: linkedPrograms}, 1000, "link=" + linked},
		"a name to be added":  {config{executorDir: filepath.Dir(named)}, 1000, "rename " + ownExecutor},
		"jobs are root":       {config{runAs: "root", tokenFile: byLink, executorDir: linkedPrograms}, 0, ""},
		"elsewhere":           {config{tokenFile: byLink, executorDir: linkedPrograms}, 1000, ""},
	} {
		var said strings.Builder
		c.config.local = name != "elsewhere"
		err := c.config.guardNames(c.uid, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil || c.want == "" && said.Len() > 0 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: %v, it says %q, want %q", name, err, &said, c.want)
		}
	}
}

// TestAsRootNamesThatJobsCanReplaceAreRefused: as another user, jobs must not be able to replace what root's next
// server reads or executes.
func TestAsRootNamesThatJobsCanReplaceAreRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	const jobs = 60600
	for name, c := range map[string]struct {
		his  string // what belongs to the jobs' user
		mode os.FileMode
		want string // the path that the error names, "" without one
	}{
		"nothing":              {},
		"the secret":           {his: "conf/token", want: "conf/token"},
		"its folder":           {his: "conf", want: "conf/token"},
		"the link's folder":    {his: "links", want: "links/current"},
		"the executor":         {his: "bin/executor", want: "bin/executor"},
		"the programs' folder": {his: "bin", want: "bin/executor"},
		"the folder above":     {his: ".", want: "bin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := openAll(t)
			at := func(name string) string { return filepath.Join(dir, name) }
			err := errors.Join(os.Mkdir(at("conf"), 0o755), os.Mkdir(at("bin"), 0o755), os.Mkdir(at("links"), 0o755),
				os.Symlink("../conf", at("links/current")),
				os.WriteFile(at("conf/token"), nil, 0o600), os.WriteFile(at("bin/executor"), nil, 0o755))
			if c.his != "" {
				err = errors.Join(err, os.Chown(at(c.his), jobs, jobs))
			}
			if err != nil {
				t.Fatal(err)
			}
			token := at("links/current/token")
			config := config{local: true, runAs: "60600:60600", executorDir: at("bin"), tokenFile: token}
			err = config.guardNames(0, slog.New(slog.DiscardHandler))
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
