package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the files of testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session runs command lines with its own environment.
type session struct {
	testing.TB
	env map[string]string
}

func newSession(t testing.TB) *session {
	return &session{t, map[string]string{"XDG_CONFIG_HOME": t.TempDir()}}
}

// now is the time in all tests.
var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (s *session) cli(in string) (*cli, *bytes.Buffer, *bytes.Buffer) {
	out, err := &bytes.Buffer{}, &bytes.Buffer{}
	return &cli{in: strings.NewReader(in), out: out, err: err, getenv: func(name string) string { return s.env[name] },
		now: func() time.Time { return now }, zone: time.FixedZone("CEST", 7200)}, out, err
}

// run runs a command and returns its status and output.
func (s *session) run(in string, args ...string) (status int, out, err string) {
	s.Helper()
	a, stdout, stderr := s.cli(in)
	status = a.run(s.Context(), args)
	return status, stdout.String(), stderr.String()
}

// ok runs a command that must succeed.
func (s *session) ok(args ...string) string {
	s.Helper()
	status, out, err := s.run("", args...)
	if status != 0 {
		s.Fatalf("elasticjob %s: status %d: %s", strings.Join(args, " "), status, err)
	}
	return out
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}
