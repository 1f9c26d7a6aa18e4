package cluster_test

import (
	"os"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 4)) }

// start makes a cluster with servers 1 to n, of which one leads.
func start(t *testing.T, servers int, mesos ...string) *system.Cluster {
	t.Helper()
	t.Parallel()
	c := system.NewCluster(t, bin, 1, mesos)
	c.StartServers(servers)
	c.AwaitLeader()
	return c
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
