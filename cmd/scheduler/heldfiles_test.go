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

// TestHeldFiles: a file stays hidden as what it was when the server started, wherever a link leads since, and what a link leads to now is hidden,
// too. Only a file that has no name any more can be another one.
func TestHeldFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named  string
		change func(dir string) error
		want   []string // hidden
		known  []string // and which of them must be the same
	}{
		"a file":             {named: "file", want: []string{"file"}, known: []string{"file"}},
		"a link":             {named: "link", want: []string{"file", "link"}, known: []string{"file"}},
		"another link":       {named: "link", want: []string{"file", "link"}, known: []string{"file"}, change: func(dir string) error { return relink(dir, "other") }},
		"a dead link":        {named: "link", want: []string{"file", "link"}, known: []string{"file"}, change: func(dir string) error { return relink(dir, "none") }},
		"renamed to":         {named: "file", want: []string{"file"}, change: func(dir string) error { return os.Rename(dir+"/other", dir+"/file") }},
		"moved":              {named: "file", want: []string{"file"}, known: []string{"file"}, change: func(dir string) error { return os.Rename(dir+"/file", dir+"/away") }},
		"removed":            {named: "file", want: []string{"file"}, change: func(dir string) error { return os.Remove(dir + "/file") }},
		"not there":          {named: "none", want: []string{"none"}},
		"not there at first": {named: "none", want: []string{"none"}, change: func(dir string) error { return os.Rename(dir+"/file", dir+"/none") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := errors.Join(os.WriteFile(dir+"/file", nil, 0o600), os.WriteFile(dir+"/other", nil, 0o600), os.Symlink("file", dir+"/link"))
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
			var got, known []string
			for _, path := range p.Files {
				name := filepath.Base(path)
				if got = append(got, name); p.FilesAre[path] != (isolation.Identity{}) {
					known = append(known, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) || !slices.Equal(known, c.known) {
				t.Errorf("hidden are %q, and the same must be %q", got, known)
			}
		})
	}
}

func relink(dir, to string) error {
	return errors.Join(os.Remove(dir+"/link"), os.Symlink(to, dir+"/link"))
}

// TestLinksThatJobsCanReplaceAreWarnedOf: whoever can replace a link to a file or program decides what the next start reads or executes.
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
	if err := errors.Join(os.Symlink("conf", link), os.Mkdir(filepath.Dir(linked), 0o700), os.Symlink(executor, linked)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config config
		uid    int
		want   string
	}{
		"no link":             {config: config{local: true, tokenFile: plain, executorDir: filepath.Dir(executor)}, uid: 1000},
		"a file by a link":    {config: config{local: true, tokenFile: link + "/plain", executorDir: filepath.Dir(executor)}, uid: 1000, want: "link=" + link},
		"a program by a link": {config: config{local: true, executorDir: filepath.Dir(linked)}, uid: 1000, want: "link=" + linked},
		"a name to be added":  {config: config{local: true, executorDir: filepath.Dir(named)}, uid: 1000, want: "rename " + ownExecutor + " to executor"},
		"jobs are root":       {config: config{local: true, runAs: "root", tokenFile: link + "/plain", executorDir: filepath.Dir(linked)}},
		"elsewhere":           {config: config{tokenFile: link + "/plain", executorDir: filepath.Dir(linked)}, uid: 1000},
	} {
		var said strings.Builder
		err := c.config.guardNames(c.uid, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil || c.want == "" && said.Len() > 0 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: %v, it says %q, want %q", name, err, &said, c.want)
		}
	}
}

// TestAsRootNamesThatJobsCanReplaceAreRefused: as another user, jobs must not be able to replace what root's next server reads or executes.
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
			err := errors.Join(os.Mkdir(at("conf"), 0o755), os.Mkdir(at("bin"), 0o755), os.Mkdir(at("links"), 0o755), os.Symlink("../conf", at("links/current")),
				os.WriteFile(at("conf/token"), nil, 0o600), os.WriteFile(at("bin/executor"), nil, 0o755))
			if c.his != "" {
				err = errors.Join(err, os.Chown(at(c.his), jobs, jobs))
			}
			if err != nil {
				t.Fatal(err)
			}
			config := config{local: true, runAs: "60600:60600", tokenFile: at("links/current/token"), executorDir: at("bin")}
			err = config.guardNames(0, slog.New(slog.DiscardHandler))
			if (err != nil) != (c.want != "") || err != nil && !(strings.Contains(err.Error(), at(c.want)) && strings.Contains(err.Error(), "chmod go-w")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
