package cluster_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestSessionExpiry stops the leader with SIGSTOP for longer than its session timeout, ten times, and continues it when
// another server leads. The old leader must not write any more (promise 3, rules T1-T3). The fence node counts every
// commit, so writes of the old leader would show there.
func TestSessionExpiry(t *testing.T) {
	const expiries = 10
	c := start(t, 2)
	storm := system.NewStorm(c.Machine)
	written := 0
	for round := range expiries {
		old := c.AwaitLeader()
		storm.Ask(fmt.Sprint("calm-", round))
		c.SignalServer(old, syscall.SIGSTOP)
		c.Via(3 - old)
		passed := c.Async("GET", "/api/job/jobs") // forwarded to the old leader
		next := c.AwaitLeader(old)
		select {
		case <-passed:
		case <-time.After(5 * time.Second):
			t.Error("a request that was forwarded to the frozen leader still waits, although another server leads")
		}
		before := fence(c)
		c.SignalServer(old, syscall.SIGCONT)
		c.Until("the old leader has become a standby", func() string {
			c.Via(old)
			defer c.Via(next)
			a, err := c.Try("GET", "/readyz", "")
			if err != nil {
				return err.Error()
			}
			if !strings.Contains(a.Body, `"leading":false`) || a.Status != 200 {
				return a.Body
			}
			return ""
		})
		// The new leader continues to write. Each of its commits increments the version of the fence node by one.
		storm.Ask(fmt.Sprint("after-", round))
		c.Until("the new leader has committed three more times", func() string {
			after := fence(c)
			if after.Term != before.Term {
				t.Errorf("term %d after term %d: the leader has changed again", after.Term, before.Term)
				return ""
			}
			if after.Commit < before.Commit+3 {
				return fmt.Sprintf("%+v after %+v", after, before)
			}
			if foreign := int64(after.version-before.version) - (after.Commit - before.Commit); foreign != 0 {
				written++
				t.Errorf("promise 3: %d writes by another server than the leader: %+v, then %+v", foreign, before,
					after)
			}
			return ""
		})
	}
	t.Logf("%d sessions expired, in %d of them a deposed leader wrote: %s", expiries, written, storm.Settle(false))
}

// fenceNode is the node that every commit sets.
type fenceNode struct {
	Term, Commit int64
	version      int32
}

func fence(c *system.Cluster) fenceNode {
	c.Helper()
	value, stat, err := c.ZKClient().Get("/elasticjob-cloud/registry/fence")
	if err != nil {
		c.Fatal(err)
	}
	f := fenceNode{version: stat.Version}
	if _, err := fmt.Sscan(string(value), &f.Term, &f.Commit); err != nil {
		c.Fatalf("%v in %s", err, value)
	}
	return f
}
