package cluster_test

import (
	"os"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 4)) }

var (
	writes = system.Writes
	env    = system.Env
)

// start returns a cluster with servers 1 to n, one of which leads.
func start(t *testing.T, servers int, mesos ...string) *system.Cluster {
	t.Helper()
	t.Parallel()
	c := system.NewCluster(t, bin, 1, mesos)
	c.StartServers(servers)
	c.AwaitLeader()
	return c
}
