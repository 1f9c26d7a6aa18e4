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

// both runs a test on Apache Mesos and, at night, on cluster/local, each with masters and agents as setup says and no
// server yet.
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

// onReal runs a test on Apache Mesos only, for what cluster/local doesn't have.
func onReal(t *testing.T, setup system.Setup, test func(t *testing.T, c *system.Cluster)) {
	t.Helper()
	t.Parallel()
	setup.ZooKeeper = &zooKeeper
	t.Run(string(system.Real), func(t *testing.T) {
		t.Parallel()
		test(t, system.NewClusterOn(t, bin, system.Real, setup))
	})
}

// read gives a file's text.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// explained waits until explain of a job holds some words.
func explained(c *system.Cluster, job, words string) {
	c.Helper()
	c.Until("explain of "+job+" says: "+words, func() string {
		if text := c.OK("GET", "/api/job/"+job+"/explain", ""); !strings.Contains(text, words) {
			return text
		}
		return ""
	})
}
