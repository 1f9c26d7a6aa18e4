package whole_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestExecutorKilled: a lost shard with failover runs again; without failover it ends with a reason (E2). No process of
// the task survives its executor (X7).
func TestExecutorKilled(t *testing.T) {
	for _, test := range []struct {
		name string
		kill func(m *system.Machine)
	}{
		{"executor", func(m *system.Machine) { m.KillProcess(m.Executors()[0]) }},
		{"supervisor", func(m *system.Machine) { m.KillProcess(m.Supervisors()[0]) }},
		{"executor while the server is down", func(m *system.Machine) {
			m.Kill()
			m.KillProcess(m.Executors()[0])
			m.Start()
		}},
		{"server right after its executor", func(m *system.Machine) {
			m.KillProcess(m.Executors()[0])
			m.Kill()
			m.Start()
		}},
		{"everything", func(m *system.Machine) {
			m.Kill()
			for _, p := range m.Processes() {
				if m.Lives(p.PID) {
					m.KillProcess(p.PID)
				}
			}
			m.Start()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := start(t)
			path, release := m.Hold()
			m.App("dies", writes, nil)
			m.Job("again", "dies", system.Doc{"shardingTotalCount": 2, "failover": true, "env": env("HOLD", path)})
			m.Job("once", "dies", system.Doc{"shardingTotalCount": 2, "env": env("HOLD", path)})
			again, once := m.Trigger("again"), m.Trigger("once")
			tasks := append(m.AwaitStarts(again, 2), m.AwaitStarts(once, 2)...)
			m.AwaitShards(again, "RUNNING")
			m.AwaitShards(once, "RUNNING")
			test.kill(m)

			e := m.Await(once, "FAILED")
			for _, s := range e.Shards {
				if s.State != "LOST" || s.FailureCause == "" || s.Attempt != 1 {
					t.Errorf("without failover: %+v, want LOST and why", s)
				}
			}
			if e.Reason == "" {
				t.Errorf("without failover: %+v, want a reason", e)
			}
			m.AwaitStarts(again, 4)
			e = m.Execution(again)
			for _, s := range e.Shards {
				// A second attempt may have been sent to an executor that was already gone, and never have started.
				if s.Attempt < 2 || !strings.Contains(s.TaskID, "@-@FAILOVER@-@") {
					t.Errorf("with failover: %+v, want a later attempt", s)
				}
			}
			for _, task := range tasks {
				if m.Lives(task.PID) {
					t.Errorf("process %d of %+v outlives its executor", task.PID, task)
				}
			}
			release()
			m.Await(again, "FINISHED")
			m.Run("once", "FINISHED") // the app still works
			m.Stop()
			starts, _ := m.Ran()
			for part, n := range starts {
				if part.Execution == again && n != 2 || part.Execution == once && n != 1 {
					t.Errorf("%+v ran %d times", part, n)
				}
			}
		})
	}
}

// TestExecutorKilledAsATaskBegins: a task whose executor is killed in its first milliseconds, before the server knows
// that it started, counts as started: without failover it is not run again (E1).
func TestExecutorKilledAsATaskBegins(t *testing.T) {
	for _, test := range []struct{ name, kills string }{
		{"executor", `kill -9 $(ps -o ppid= $PPID)`},
		{"supervisor", `kill -9 $PPID`},
		{"both", `kill -9 $(ps -o ppid= $PPID) $PPID`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := start(t)
			begun := filepath.Join(t.TempDir(), "begun")
			m.App("killer", only(script(`echo begun >>`+begun+`; if [ "$KILLS" ]; then `+test.kills+`; fi`)), nil)
			m.Job("first", "killer", nil)
			m.Job("killer", "killer", system.Doc{"env": env("KILLS", "yes")})
			for i := range 4 {
				// In the first round this is the first task of its executor, which reports that it begins the task. In
				// later rounds another task has run before, and the executor begins this one without a report (rule
				// E1).
				lines := 1
				if i > 0 {
					m.Run("first", "FINISHED")
					lines = 2
				}
				e := m.Run("killer", "FAILED")
				if s := e.Shards[0]; s.State != "LOST" || s.Attempt != 1 {
					t.Errorf("run %d: %+v", i, s)
				}
				text, err := os.ReadFile(begun)
				if err != nil || strings.Count(string(text), "begun") != lines {
					t.Errorf("run %d: begun %q, %v; want %d lines", i, text, err, lines)
				}
				if err := os.Remove(begun); err != nil {
					t.Error(err)
				}
			}
			m.Stop()
		})
	}
}

// TestExecutorStopped: a task that stops its executor and supervisor with SIGSTOP can still be ended (K3): the agent
// ends the executor, and the shard is reported as killed.
func TestExecutorStopped(t *testing.T) {
	m := start(t)
	m.App("stops", only(script(`sleep 0.1; kill -STOP $PPID $(ps -o ppid= $PPID); exec sleep 1000`)), nil)
	m.Job("stops", "stops", nil)
	id := m.Trigger("stops")
	m.AwaitShards(id, "RUNNING")
	m.Until("executor and supervisor are both stopped", func() string {
		// Each of them sends SIGCONT to the other if that is stopped, so both must be stopped at once.
		for _, pid := range append(m.Executors(), m.Supervisors()...) {
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				return err.Error()
			}
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || !strings.Contains(string(stat), ") T ") {
				return fmt.Sprintf("%s %v", stat, err)
			}
		}
		return ""
	})
	m.OK("POST", "/api/job/stops/disable", "")
	e := m.Await(id, "KILLED")
	if s := e.Shards[0]; s.State != "KILLED" {
		t.Errorf("%+v", s)
	}
	m.Stop()
}

// TestTaskProcessKilled: a task whose process is killed by another program has failed by itself (E3).
func TestTaskProcessKilled(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("victim", writes, nil)
	m.Job("victim", "victim", system.Doc{"shardingTotalCount": 2, "failover": true, "env": env("HOLD", path)})
	id := m.Trigger("victim")
	starts := m.AwaitStarts(id, 2)
	m.KillProcess(starts[0].PID)
	m.Until("its shard has failed", func() string {
		s := m.Execution(id).Shards[starts[0].Item]
		if s.State != "FAILED" {
			return fmt.Sprintf("%+v", s)
		}
		if !strings.Contains(s.FailureCause, "9") && !strings.Contains(s.FailureCause, "kill") {
			t.Errorf("failure cause %q doesn't name the signal", s.FailureCause)
		}
		return ""
	})
	release()
	e := m.Await(id, "FAILED")
	if s := e.Shards[starts[1].Item]; s.State != "FINISHED" || s.Attempt != 1 {
		t.Errorf("the other shard: %+v", s)
	}
	m.Stop()
	if starts, _ := m.Ran(); len(starts) != 2 {
		t.Errorf("ran: %v", starts)
	}
}
