package cluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// The names of entries of the scheduler's state as nodes in ZooKeeper.
const (
	versionNode = "/registry/entries/scheduler~1version"
	cursorNode  = "/registry/entries/scheduler~1fire-cursor"
)

// TestRollingUpgrade replaces two servers by servers of another release, first the standby and then the leader.
// Meanwhile crons fire, triggers arrive and one run continues all the time: nothing is lost, nothing runs twice, and
// that run finishes normally.
func TestRollingUpgrade(t *testing.T) {
	c := start(t, 2)
	const release = "v9.8.7"
	newer, err := system.BuildVersion(release)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(newer.Dir); err != nil {
			t.Error(err)
		}
	})
	storm := system.NewStorm(c.Machine)
	hold, end := c.Hold()
	c.Job("long", "storm", system.Doc{"env": env("HOLD", hold)})
	long := c.Trigger("long")
	task := c.AwaitShards(long, "RUNNING").Shards[0].TaskID
	framework, leader := c.Node("/ha/framework_id"), c.AwaitLeader()
	for round, n := range []int{3 - leader, leader} {
		storm.Ask(fmt.Sprint("before-", round))
		c.StopServer(n)
		c.AwaitLeader()
		storm.Ask(fmt.Sprint("without-", round)) // the other server is stopped, so that only one release runs
		cmd := c.ServerCommand(n)
		cmd.Path, cmd.Args[0] = newer.Scheduler(), newer.Scheduler()
		c.StartServerCommand(n, cmd)
		c.AwaitCandidates(2)
		if now := c.AwaitLeader(); (now == leader) != (round == 0) {
			t.Errorf("round %d: server %d leads, and server %d led at first: want a new leader only after the second server is replaced",
				round, now, leader)
		}
		storm.Ask(fmt.Sprint("after-", round))
		answered := 0
		c.Until("both servers answer, whichever is older", func() string {
			for n := 1; n <= 2; n++ {
				c.Via(n)
				if a, err := c.Try("GET", "/api/job/long/explain", ""); err != nil || a.Status != 200 {
					return fmt.Sprint(err, a.Body)
				}
				answered++
			}
			return ""
		})
	}
	for n := 1; n <= 2; n++ {
		c.Via(n)
		var h struct{ Version string }
		if c.Get("/healthz", &h); h.Version != release {
			t.Errorf("server %d has version %q, want %s", n, h.Version, release)
		}
	}
	if s := c.AwaitShards(long, "RUNNING").Shards[0]; s.TaskID != task || s.Attempt != 1 {
		t.Errorf("the run's task was %s, and is %+v", task, s)
	}
	if now := c.Node("/ha/framework_id"); now != framework {
		t.Errorf("framework id %s, was %s", now, framework)
	}
	end()
	c.Await(long, "FINISHED")
	t.Log(storm.Settle(false))
}

// TestNewerStateIsRefused: a server whose release is older than the state does not lead. It reports both versions and
// stays a standby. It leads once the state is of its own version again.
func TestNewerStateIsRefused(t *testing.T) {
	c := start(t, 2)
	c.App("app", writes, nil)
	c.Job("job", "app", nil)
	leader := c.AwaitLeader()
	follower := 3 - leader
	const release = "v99.0.0"
	ours := c.Node(versionNode)
	c.SetNode(versionNode, fmt.Sprintf(`{"version":99,"release":%q}`, release))
	before := c.Node(cursorNode)
	c.StopServer(leader)
	c.Via(follower)
	c.Until("the follower says why it does not lead", func() string {
		a, err := c.Try("GET", "/readyz", "")
		for _, part := range []string{"version 99", release, "this release, dev",
			fmt.Sprint("up to ", core.StateVersion)} {
			if err != nil || a.Status != 503 || !strings.Contains(a.Body, part) {
				return fmt.Sprint(err, a.Status, a.Body, ": there is no ", part)
			}
		}
		return ""
	})
	c.Until("its log says so", func() string { // shortly after its answers do
		if log := c.ServerLog(follower); !strings.Contains(log, "version 99") {
			return log
		}
		return ""
	})
	if now := c.Node(versionNode); !strings.Contains(now, release) || c.Node(cursorNode) != before {
		t.Errorf("the follower has written into the newer state: %s, %s", now, c.Node(cursorNode))
	}
	if !c.Runs(follower) {
		t.Fatal("the follower has ended")
	}
	c.SetNode(versionNode, ours) // as after restoring a backup
	c.AwaitLeader()
	c.Run("job", "FINISHED")
}

// TestOlderStateIsUpgraded: state of an older release, which has no version, gets one with the first commit of the next
// leader.
func TestOlderStateIsUpgraded(t *testing.T) {
	c := start(t, 1)
	ours := c.Node(versionNode)
	if !strings.Contains(ours, fmt.Sprintf(`"version":%d`, core.StateVersion)) {
		t.Fatalf("the leader has stored %q as the state's version", ours)
	}
	c.StopServer(1)
	c.RemoveNode(versionNode)
	c.StartServer(1)
	c.AwaitLeader()
	if now := c.Node(versionNode); now != ours {
		t.Errorf("the next leader has stored %q, want %q", now, ours)
	}
}
