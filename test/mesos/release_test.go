package mesos_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestNewReleaseIsFetched: agents cache the executor's binary. They still start the executors of a new release from the
// new binary, even if both releases are in the cache.
func TestNewReleaseIsFetched(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		first, second := bin.Release(t, "release one"), bin.Release(t, "release two")
		// runs runs a job of a new app and checks the release of its executor. Idle executors of other apps may end
		// to make room for it.
		runs := func(app, release string) {
			t.Helper()
			c.App(app, only(":"), nil)
			c.Job(app, app, nil)
			c.Run(app, "FINISHED")
			n := 0
			for _, sandbox := range c.Sandboxes() {
				if strings.Contains(sandbox, "/executors/"+app+"@-@") && system.ReleaseOf(sandbox) == release {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d executors of app %s are of %s", n, app, release)
			}
		}
		c.StartServer(1, "--executor-dir", first)
		c.AwaitLeader()
		runs("one", "release one")
		runs("more_of_one", "release one")
		c.StopServer(1)
		c.StartServer(1, "--executor-dir", second)
		c.AwaitLeader()
		runs("two", "release two")
		runs("more_of_two", "release two")
	})
}
