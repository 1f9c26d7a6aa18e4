package main

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestAFatalErrorIsToldOnce: as text before the log has begun, in the log from then on.
func TestAFatalErrorIsToldOnce(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for name, test := range map[string]struct {
		args  []string
		begin string
		want  string
	}{
		"before": {[]string{"--local", "--time-zone", "Nowhere/Land"}, "scheduler: ", "no such zone"},
		"after":  {[]string{"--local", "--listen", taken.Addr().String(), "--data-dir", t.TempDir()}, "{", "the address is taken"},
	} {
		p := startProgram(t, test.args...)
		var exit *exec.ExitError
		if err := p.wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: it ended with %v", name, err)
		}
		told := p.log.String()
		if strings.Count(told, test.want) != 1 {
			t.Errorf("%s: it says\n%s", name, told)
		}
		for line := range strings.Lines(told) {
			if !strings.HasPrefix(line, test.begin) {
				t.Errorf("%s: it says %s", name, line)
			}
		}
	}
}

func TestRegistryRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config
		want string
	}{
		{config{zkNamespace: "n"}, ""},
		{config{zk: "h:1,h2:2", zkNamespace: "n"}, "/n"},
		{config{zk: "h:1,h2:2/some/folder", zkNamespace: "/n/m/"}, "/some/folder/n/m"},
	} {
		if got := c.registryRoot(); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.zk, c.zkNamespace, got, c.want)
		}
	}
}

// With ZooKeeper's usual tick of 2 s, a session that is asked for ends within the given time and a second.
func TestSessionsEndInTime(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]time.Duration{
		10 * time.Second: 8500 * time.Millisecond, time.Minute: 58500 * time.Millisecond,
		5 * time.Second: 4 * time.Second,
		4 * time.Second: 4 * time.Second, 2 * time.Second: 2 * time.Second, // a server with shorter ticks gives it
	} {
		if got := sessionOf(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
