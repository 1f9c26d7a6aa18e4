// Package commandline_test runs elasticjob's commands as users do, against a real server.
package commandline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 4)) }

// user is a user of a machine with a home folder.
type user struct {
	*system.Machine
	home string
	env  []string // in addition to those that each command gets
}

// start returns a user of a machine with a running server.
func start(t *testing.T, args ...string) *user {
	t.Helper()
	t.Parallel()
	m := system.New(t, bin, args...)
	m.Start()
	return userOf(m)
}

// userOf returns a user whose environment names the machine's server.
func userOf(m *system.Machine) *user {
	m.Helper()
	u := &user{Machine: m, home: m.TempDir()}
	u.env = []string{"ELASTICJOB_SERVER=" + m.URL()}
	return u
}

// result is how a command ended and what it printed.
type result struct {
	status   int
	out, err string
}

// command returns a command line without starting it.
func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin.Client(), args...)
	cmd.Env = append([]string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH"), "TZ=UTC"}, u.env...)
	cmd.Dir, cmd.WaitDelay = u.home, 10*time.Second
	return cmd
}

// runs runs a command with this standard input and returns its result, whatever its status is.
func (u *user) runs(input string, args ...string) result {
	u.Helper()
	ctx, cancel := context.WithTimeout(u.Context(), system.Patience)
	defer cancel()
	cmd := u.command(ctx, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if failed := cmd.Run(); failed != nil && !errors.As(failed, new(*exec.ExitError)) {
		u.Fatalf("elasticjob %s: %v", strings.Join(args, " "), failed)
	}
	if ctx.Err() != nil {
		u.Fatalf("elasticjob %s did not end: %s%s", strings.Join(args, " "), out.String(), err.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), err.String()}
}

// does runs a command that must succeed, and returns its standard output.
func (u *user) does(args ...string) string {
	u.Helper()
	s := u.runs("", args...)
	if s.status != 0 {
		u.Fatalf("elasticjob %s: status %d: %s", strings.Join(args, " "), s.status, s.err)
	}
	return s.out
}

// fails runs a command that must end with this status and print these texts on standard error.
func (u *user) fails(status int, says []string, args ...string) {
	u.Helper()
	s := u.runs("", args...)
	if s.status != status {
		u.Errorf("elasticjob %s: status %d, want %d: %s", strings.Join(args, " "), s.status, status, s.err)
	}
	for _, want := range says {
		if !strings.Contains(s.err, want) {
			u.Errorf("elasticjob %s: %q, want %q in it", strings.Join(args, " "), s.err, want)
		}
	}
}

// has checks that a text contains all of wanted.
func (u *user) has(text string, wanted ...string) {
	u.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			u.Errorf("%q, want %q in it", text, want)
		}
	}
}

// file writes a file and returns its path.
func (u *user) file(name, text string) string {
	u.Helper()
	path := filepath.Join(u.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.Fatal(err)
	}
	return path
}

// serve makes the machine's package server serve a package with one script, bin/start.sh, that runs these commands.
func (u *user) serve(commands string) (url string) {
	u.Helper()
	u.Packages.Serve("/app.tar", system.Tar(u, "", system.Files{"bin/start.sh": "#!/bin/sh\n" + commands + "\n"}))
	return u.Packages.URL("/app.tar")
}

// publishes publishes the app billing, whose script runs these commands, and registers the job nightly with two
// shards.
func (u *user) publishes(commands string, flags ...string) {
	u.Helper()
	u.does("app", "publish", "billing", "--url", u.serve(commands), "--script", "bin/start.sh", "--cpu", "0.01",
		"--memory", "32")
	u.does(append([]string{"job", "register", "nightly", "--app", "billing", "--shards", "2", "--cpu", "0.01",
		"--memory", "1"}, flags...)...)
}
