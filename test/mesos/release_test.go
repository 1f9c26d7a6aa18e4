package mesos_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestNewReleaseIsFetched: agents keep the executor's binary in their cache, and start a new release's executors from the new one,
// whatever they have of an old one; also the second time, when both are kept.
func TestNewReleaseIsFetched(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		first, second := bin.Release(t, "release one"), bin.Release(t, "release two")
		// runs runs a job of a new app, and counts the executors of a release then.
		runs := func(app, release string, want int) {
			t.Helper()
			c.App(app, only(":"), nil)
			c.Job(app, app, nil)
			c.Run(app, "FINISHED")
			n := 0
			for _, sandbox := range c.Sandboxes() {
				if system.ReleaseOf(sandbox) == release { // it may be one that just ends
					n++
				}
			}
			if n != want {
				t.Errorf("%d executors of %s, want %d", n, release, want)
			}
		}
		c.StartServer(1, "--executor-dir", first)
		c.AwaitLeader()
		runs("one", "release one", 1)
		runs("more_of_one", "release one", 2)
		c.StopServer(1)
		c.StartServer(1, "--executor-dir", second)
		c.AwaitLeader()
		runs("two", "release two", 1)
		runs("more_of_two", "release two", 2)
	})
}
