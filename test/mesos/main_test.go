package mesos_test

import (
	"os"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

var (
	bin       system.Binaries
	zooKeeper zkserver.Shared
)

func TestMain(m *testing.M) { os.Exit(system.Main(zooKeeper.Main(m), &bin, 8)) }

var (
	script = system.Script
	only   = system.Only
	writes = system.Writes
	env    = system.Env
)

// both runs a test on Apache Mesos and, in nightly, on cluster/local, with masters and agents as in setup and without
// a server.
func both(t *testing.T, setup system.Setup, test func(t *testing.T, c *system.Cluster)) {
	t.Helper()
	t.Parallel()
	setup.ZooKeeper = &zooKeeper
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, system.NewClusterOn(t, bin, kind, setup))
		})
	}
}

// onReal runs a test only on Apache Mesos, because cluster/local lacks what it needs.
func onReal(t *testing.T, setup system.Setup, test func(t *testing.T, c *system.Cluster)) {
	t.Helper()
	t.Parallel()
	setup.ZooKeeper = &zooKeeper
	t.Run(string(system.Real), func(t *testing.T) {
		t.Parallel()
		test(t, system.NewClusterOn(t, bin, system.Real, setup))
	})
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// awaitExplanation waits until the explanation of a job contains these words.
func awaitExplanation(c *system.Cluster, job, words string) {
	c.Helper()
	c.Until("explain of "+job+" says: "+words, func() string {
		if text := c.OK("GET", "/api/job/"+job+"/explain", ""); !strings.Contains(text, words) {
			return text
		}
		return ""
	})
}
