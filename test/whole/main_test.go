package whole_test

import (
	"os"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 8)) }

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
