package mesos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestRunAs: on agents that run as root, executors run as the framework's user, which is root here, and the processes
// of jobs as the user of --run-as. The test needs root: make ci ONLY=mesos-root.
func TestRunAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	onReal(t, system.Setup{Agents: 1, AgentArgs: []string{"--switch_user"}}, func(t *testing.T, c *system.Cluster) {
		// The folders of tests are closed to other users.
		for _, folder := range []string{c.AgentDir(1), c.Dir, filepath.Dir(c.Dir)} {
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		c.StartServer(1, "--run-as", "nobody")
		c.AwaitLeader()
		c.App("who", only(`id -u; id -G; touch "$TMPDIR/mine" here && echo "folders of mine"
for pid in $(ps -eo pid=,args= | grep -E '^ *[0-9]+ (\./executor|executor supervisor)' | sed 's/^ *//; s/ .*//'); do cat /proc/$pid/environ >/dev/null 2>&1 && echo "read $pid"; done
true`), nil)
		c.Job("who", "who", nil)
		e := c.Run("who", "FINISHED", "FAILED")
		if said := c.Logs(e.Shards[0].TaskID, ""); e.State != "FINISHED" || said != "65534\n65534\nfolders of mine\n" {
			t.Errorf("%+v wrote %q", e, said)
		}
		if executors := c.Executors(); len(executors) != 1 ||
			!strings.Contains(read(t, fmt.Sprintf("/proc/%d/status", executors[0])), "\nUid:\t0\t0\t0\t") {
			t.Errorf("executors %v, want one of root's", executors)
		}
	})
}
