package main

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
)

// TestFatalErrorIsPrintedOnce checks that a fatal error is printed as text before the log begins, and that it is only
// in the log after that.
func TestFatalErrorIsPrintedOnce(t *testing.T) {
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
			t.Errorf("%s: the server ended with %v", name, err)
		}
		output := p.log.String()
		if strings.Count(output, test.want) != 1 {
			t.Errorf("%s: the output is\n%s", name, output)
		}
		for line := range strings.Lines(output) {
			if !strings.HasPrefix(line, test.begin) {
				t.Errorf("%s: the output has the line %s", name, line)
			}
		}
	}
}
