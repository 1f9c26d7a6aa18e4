package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// TestRegistryInSQL runs two servers with a database and without ZooKeeper. Leaders and the database are killed and
// frozen, and everything that was accepted runs once.
func TestRegistryInSQL(t *testing.T) {
	t.Parallel()
	c := system.NewClusterInSQL(t, bin, mariadb.Start(t), nil)
	c.StartServers(2)
	leader := c.AwaitLeader()
	storm := system.NewStorm(c.Machine)
	ask := func(key string) {
		c.Until("a trigger is accepted", func() string {
			if !storm.Ask(key) {
				return "not yet"
			}
			return ""
		})
	}
	for round := range 3 {
		ask(fmt.Sprint("before-kill-", round))
		leader = c.KillLeader(leader)

		ask(fmt.Sprint("before-freeze-", round))
		c.FreezeLeader(leader, func() { ask(fmt.Sprint("frozen-", round)) })

		c.Database.Kill()
		c.Database.Restart(t)
		leader = c.AwaitLeader()
		ask(fmt.Sprint("database-killed-", round))
	}
	c.Database.Pause(t)
	c.AwaitNoLeader()
	c.Database.Resume(t)
	leader = c.AwaitLeader()
	ask("database-frozen")
	c.StopServer(leader)
	c.AwaitLeader(leader)
	t.Log(storm.Settle(false))
}

// TestCutFromTheDatabase: a leader that loses the database stops acting, another server leads, and the old leader
// becomes a standby when it is reconnected.
func TestCutFromTheDatabase(t *testing.T) {
	t.Parallel()
	c := system.NewClusterInSQL(t, bin, mariadb.Start(t), nil)
	direct := c.Registry
	proxy := netproxy.Start(t, c.Database.Address())
	c.Registry = strings.Replace(direct, c.Database.Address(), proxy.Address(), 1)
	c.StartServer(1)
	c.AwaitLeader()
	c.Registry = direct
	c.StartServer(2)
	storm := system.NewStorm(c.Machine)
	proxy.Blackhole()
	c.AwaitLeader(1)
	storm.Ask("cut")
	proxy.Cut()
	proxy.Heal()
	c.Via(1)
	c.Ready()
	c.AwaitLeader()
	t.Log(storm.Settle(false))
}

// TestMoveFromZooKeeper: a cluster moves from ZooKeeper to a database by backup and restore, and back. A run that
// continued all the time is taken over by each next server and finishes.
func TestMoveFromZooKeeper(t *testing.T) {
	c := start(t, 1)
	hold, release := c.Hold()
	c.App("app", writes, nil)
	c.Job("long", "app", system.Doc{"env": env("HOLD", hold)})
	id := c.Trigger("long")
	task := c.AwaitShards(id, "RUNNING").Shards[0].TaskID
	backup := filepath.Join(c.Dir, "elasticjob.backup")
	// run runs a line of a shell, whose arguments are the flags of the registry.
	run := func(registry []string, variable, line string) {
		c.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Args = c.Dir, append(cmd.Args, append([]string{"sh"}, registry...)...)
		cmd.Env = []string{"HOME=" + c.Dir, "PATH=" + filepath.Dir(bin.Scheduler()) + ":" + os.Getenv("PATH"),
			variable}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	c.StopServer(1)
	run([]string{"--zk", c.ZK}, "", `scheduler backup "$@" --output `+backup)
	c.Database = mariadb.Start(t)
	c.Registry = c.Database.Database(t)
	inSQL := "ELASTICJOB_REGISTRY=" + c.Registry
	run(nil, inSQL, "scheduler restore <"+backup)
	c.StartServers(1)
	if now := c.AwaitShards(id, "RUNNING").Shards[0].TaskID; now != task {
		t.Errorf("task %s runs, was %s", now, task)
	}
	c.StopServer(1)
	run(nil, inSQL, "scheduler backup --output "+backup)
	c.Database = nil
	c.RemoveNode("")
	run([]string{"--zk", c.ZK}, "", `scheduler restore "$@" --open <`+backup)
	c.StartServers(1)
	if now := c.AwaitShards(id, "RUNNING").Shards[0].TaskID; now != task {
		t.Errorf("task %s runs, was %s", now, task)
	}
	release()
	c.AwaitShards(id, "FINISHED")
}
