package mesos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestNewReleaseIsFetched: agents keep the executor's binary in their cache, and start a new release's executors from the new one,
// whatever they have of an old one; also the second time, when both are kept.
func TestNewReleaseIsFetched(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		release := func(name string) string {
			build, err := os.ReadFile(filepath.Join(bin.Dir, "executor"))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "executor"), append(build, name...), 0o755); err != nil {
				t.Fatal(err)
			}
			return dir
		}
		first, second := release("release one"), release("release two")
		runs := func(app string) {
			t.Helper()
			c.App(app, only(":"), nil)
			c.Job(app, app, nil)
			c.Run(app, "FINISHED")
		}
		c.StartServer(1, "--executor-dir", first)
		runs("one")
		runs("more_of_one")
		c.StopServer(1)
		c.StartServer(1, "--executor-dir", second)
		runs("two")
		runs("more_of_two")
		var names []string
		for _, pid := range c.Executors() {
			program, err := os.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, string(program[len(program)-len("release one"):]))
		}
		if all := strings.Join(names, ", "); strings.Count(all, "release one") != 2 || strings.Count(all, "release two") != 2 {
			t.Errorf("executors run %s", all)
		}
	})
}
