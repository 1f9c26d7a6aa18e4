package whole_test

import (
	"os"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 8)) }

var (
	script = system.Script
	only   = system.Only
	writes = system.Writes
	env    = system.Env
)

// start returns a machine with a running server.
func start(t *testing.T, args ...string) *system.Machine {
	t.Helper()
	t.Parallel()
	m := system.New(t, bin, args...)
	m.Start()
	return m
}
