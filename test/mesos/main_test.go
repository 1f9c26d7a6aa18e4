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

// script is a script that runs some commands.
func script(commands string) string { return "#!/bin/sh\n" + commands + "\n" }

// only is a package with one script, the app's.
func only(commands string) system.Files { return system.Files{"bin/start.sh": script(commands)} }

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
