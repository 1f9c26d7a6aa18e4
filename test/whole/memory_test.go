package whole_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestServerKilledTwiceForItsMemory: a server that was killed twice just after its start, when it had used up its
// memory, starts but launches nothing. /readyz, the explanation and the log say why, which job waits, and what to do.
// After a regular end the server launches again.
func TestServerKilledTwiceForItsMemory(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	startSmall := func() { // every server uses more memory than this limit, which only makes it seem used up
		cmd := m.Command()
		cmd.Env = append(cmd.Env, "GOMEMLIMIT=32MiB")
		m.LaunchCommand(cmd)
		m.Ready()
	}
	startSmall()
	m.App("my_app", only("exit 0"), nil)
	m.Job("large", "my_app", system.Doc{"shardingTotalCount": 2, "cpuCount": 20})
	waits := m.Trigger("large") // no agent has 20 CPUs
	m.Job("my_job", "my_app", system.Doc{"shardingTotalCount": 1})
	m.Kill()
	startSmall()
	m.Run("my_job", "FINISHED") // a single such end may have any cause
	m.Kill()
	startSmall()
	reason := m.Explain("large").Waiting[0].Reason // this text names no job
	for _, said := range []string{m.OK("GET", "/readyz", ""), reason, m.ServerLog()} {
		for _, want := range []string{
			"nothing is launched: this server was killed 2 times within a minute of its start", "MiB of memory in use",
			"large (2 shards, ", "with a waiting run", "/disable", "restart the server",
		} {
			isAboutJob := strings.Contains(want, "waiting run") || strings.Contains(want, "shards")
			if said == reason && isAboutJob {
				continue
			}
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in: %s", want, said)
			}
		}
	}
	held := m.Trigger("my_job")
	m.OK("POST", "/api/job/large/disable", "")
	m.Await(waits, "KILLED")
	if e := m.Execution(held); e.State != "WAITING" {
		t.Errorf("the triggered execution is %s, want WAITING", e.State)
	}
	m.Stop()
	startSmall()
	m.Await(held, "FINISHED")
	m.Stop()
}
