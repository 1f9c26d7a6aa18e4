package main

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
)

// TestAFatalErrorIsToldOnce: a fatal error is printed as text before the log begins, and only in the log after that.
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
