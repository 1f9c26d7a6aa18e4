package whole_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestManyShardsAndKill kills the server during the launch of a large execution: all of its shards run, and each runs
// once (rules L1, L5, T5).
func TestManyShardsAndKill(t *testing.T) {
	const shards = 200
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	m := start(t)
	m.App("many", writes, nil)
	m.Job("many", "many", system.Doc{"shardingTotalCount": shards})
	for range 3 {
		id := m.Trigger("many")
		// A random moment; it does not wait for anything.
		<-time.After(time.Duration(random.IntN(700)) * time.Millisecond)
		m.Kill()
		m.Start()
		if e := m.Await(id, "FINISHED"); len(e.Shards) != shards {
			t.Errorf("%d shards", len(e.Shards))
		}
		items := map[int]int{}
		for _, line := range m.Ledger() {
			if line.Execution == id && line.What == "end" {
				items[line.Item]++
			}
		}
		for item := range shards {
			if items[item] != 1 {
				t.Errorf("item %d of %s ran %d times", item, id, items[item])
			}
		}
	}
	m.Stop()
	m.OnceEach()
}

// TestRestartWithAnotherSize: after a restart with fewer resources, running shards continue even if they use more, and
// new shards wait. After a restart with more resources, larger shards run.
func TestRestartWithAnotherSize(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", writes, nil)
	m.Job("large", "a", system.Doc{"cpuCount": m.CPUs / 2, "env": env("HOLD", path)})
	m.Job("small", "a", nil)
	id := m.Trigger("large")
	m.AwaitStarts(id, 1)
	m.AwaitShards(id, "RUNNING")
	m.Kill()
	m.CPUs /= 4
	m.Start()
	if e := m.Execution(id); e.State != "RUNNING" || e.Shards[0].Attempt != 1 {
		t.Errorf("on a smaller machine: %+v", e)
	}
	small := m.Trigger("small")
	m.Until("small says what it waits for", func() string {
		if x := m.Explain("small"); len(x.Waiting) != 1 || x.Waiting[0].Reason == "" {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	release()
	m.Await(id, "FINISHED")
	m.Await(small, "FINISHED")
	m.Kill()
	m.CPUs *= 8
	m.Start()
	m.Job("larger", "a", system.Doc{"cpuCount": m.CPUs - 1})
	m.Run("larger", "FINISHED")
	m.Stop()
	m.OnceEach()
}

// TestUpgrade: after an upgrade of the executor, tasks continue under the old executor, which also runs new tasks until
// it ends (rule X4). The next executor is of the new build.
func TestUpgrade(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", writes, nil)
	m.Job("j", "a", system.Doc{"misfire": true, "env": env("HOLD", path)})
	id := m.Trigger("j")
	m.AwaitStarts(id, 1)
	m.AwaitShards(id, "RUNNING")
	before := fmt.Sprint(m.Executors())
	m.Kill()

	m.Start("--executor-dir", bin.Release(t, "a new build"))
	next := m.Trigger("j")
	release()
	m.Await(id, "FINISHED")
	m.Await(next, "FINISHED")
	if after := fmt.Sprint(m.Executors()); after != before {
		t.Errorf("executors %s before the upgrade, %s after", before, after)
	}
	m.OK("PUT", "/api/app", `{"appName":"a","memoryMB":33}`)
	m.Run("j", "FINISHED")
	m.Until("the executor is of the new build", func() string {
		pids := m.Executors()
		if len(pids) != 1 || len(m.Sandboxes()) != 1 || fmt.Sprint(pids) == before {
			return fmt.Sprint(pids)
		}
		if release := system.ReleaseOf(m.Sandboxes()[0]); release != "a new build" {
			return fmt.Sprintf("it is of %q", release)
		}
		return ""
	})
	m.Stop()
	m.OnceEach()
}

// TestAnythingKilledAgainAndAgain kills executors, supervisors and the server in random order while jobs with
// failover run: lost shards run again until they finish, and never while the lost process is still running.
func TestAnythingKilledAgainAndAgain(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	m := start(t)
	m.App("storm", writes, nil)
	// With one fire each second, a slow machine would have more than 100 waiting fires, and drop others (rule F5).
	const intervalSeconds = 3
	m.Job("job", "storm", system.Doc{"cron": fmt.Sprintf("0/%d * * * * ?", intervalSeconds), "shardingTotalCount": 2,
		"misfire": true, "failover": true, "env": env("TAKES", "0.3")})
	var last time.Time
	awaitFire := func() {
		t.Helper()
		m.Ready()
		last = m.LastFire("job")
		m.Until("the job has fired again", func() string {
			if now := m.LastFire("job"); !now.After(last) {
				return fmt.Sprintf("the last was at %v", now)
			}
			return ""
		})
	}
	kills := map[string]int{}
	for n := range 18 {
		if n%3 == 0 {
			// A shard that is lost five times fails (rule E2). Without this pause a busy machine would not start an
			// executor between two kills.
			awaitFire()
		}
		// A random moment; it does not wait for anything.
		<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
		what := []string{"server", "executor", "supervisor", "server and executor"}[random.IntN(4)]
		kills[what]++
		if strings.Contains(what, "server") {
			m.Kill()
		}
		pids := m.Executors()
		if what == "supervisor" {
			pids = m.Supervisors()
		}
		if what != "server" {
			for _, pid := range pids {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
			}
		}
		if strings.Contains(what, "server") {
			m.Launch()
		}
	}
	awaitFire()
	m.Update("job", system.Doc{"cron": nil})
	m.Until("nothing waits or runs", func() string {
		if x := m.Explain("job"); x.State != "ON_TRIGGER" {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	starts, ends := m.Ran()
	fires := map[int64]bool{}
	repeated := 0
	for part, n := range starts {
		e := m.Execution(part.Execution)
		if e.State != "FINISHED" || ends[part] < 1 {
			t.Errorf("promise 1: %+v began %d times and ended %d times: %+v", part, n, ends[part], e)
		}
		repeated += n - 1
		fires[e.FireTime.Unix()] = true
	}
	first := last.Unix()
	for at := range fires {
		first = min(first, at)
	}
	for at := first; at <= last.Unix(); at += intervalSeconds {
		if !fires[at] {
			t.Errorf("promise 1: the fire at %v never ran", time.Unix(at, 0).UTC())
		}
	}
	t.Logf("kills %v; %d fires, %d shards run again", kills, len(fires), repeated)
	m.Stop()
}

// TestExecutorKilledBeforeItsTasksBegan: an executor that did not start counts as one start failure of its agent,
// regardless of how many tasks were waiting for it (rule L6).
func TestExecutorKilledBeforeItsTasksBegan(t *testing.T) {
	m := start(t)
	m.App("many", writes, nil)
	m.Job("many", "many", system.Doc{"shardingTotalCount": 100, "failover": true})
	id := m.Trigger("many")
	m.Until("the executor was started and killed", func() string {
		if pids := m.Executors(); len(pids) > 0 {
			m.KillProcess(pids[0])
			return ""
		}
		return "there is no executor"
	})
	m.Await(id, "FINISHED")
	m.Stop()
	if _, ends := m.Ran(); len(ends) != 100 {
		t.Errorf("%d of 100 shards ran", len(ends))
	}
}
