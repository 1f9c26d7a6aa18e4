package whole_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (status int) {
	flag.Parse()
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		// The tests wait much more than they compute.
		if err := flag.Set("test.parallel", "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	var err error
	if bin, err = system.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(bin.Dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}()
	if status = m.Run(); status != 0 {
		return status
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start makes a machine with a running server.
func start(t *testing.T, args ...string) *system.Machine {
	t.Helper()
	t.Parallel()
	m := system.New(t, bin, args...)
	m.Start()
	return m
}

// script is a script that runs some commands.
func script(commands string) string { return "#!/bin/sh\n" + commands + "\n" }

// only is a package with one script, the app's.
func only(commands string) system.Files {
	return system.Files{"bin/start.sh": script(commands)}
}

// writes is a package whose script writes the ledger.
var writes = system.Files{"bin/start.sh": system.Ledger}

// env is a job's environment.
func env(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// hold makes a file that jobs with env HOLD wait for to be removed.
func hold(t *testing.T) (path string, release func()) {
	t.Helper()
	path = t.TempDir() + "/hold"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
