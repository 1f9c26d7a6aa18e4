package whole_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestStop is rule O4: SIGTERM or SIGINT ends all tasks with their grace period, leaves no process running, and records
// the tasks as lost by shutdown. Shards with failover run again after the next start.
func TestStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			m := start(t, "--kill-grace", "1s")
			path, release := m.Hold()
			m.App("stops", system.Files{
				"bin/start.sh":  system.Ledger,
				"bin/polite.sh": script(`trap 'echo cleaned up >>"$LEDGER.polite"; exit 0' TERM; touch "$LEDGER.up1"; while :; do sleep 0.1; done`),
				"bin/deaf.sh":   script(`trap 'echo heard >>"$LEDGER.deaf"' TERM; touch "$LEDGER.up2"; while :; do sleep 0.1; done`),
			}, nil)
			m.Job("polite", "stops", system.Doc{"props": env("script.command.line", "bin/polite.sh")})
			m.Job("deaf", "stops", system.Doc{"props": env("script.command.line", "bin/deaf.sh")})
			m.Job("back", "stops", system.Doc{"shardingTotalCount": 2, "failover": true, "env": env("HOLD", path)})
			m.Job("waits", "stops", system.Doc{"cpuCount": m.CPUs - 1, "env": env("TAKES", "0")})
			polite, deaf, back := m.Trigger("polite"), m.Trigger("deaf"), m.Trigger("back")
			m.AwaitStarts(back, 2)
			for _, file := range []string{".up1", ".up2"} {
				m.Until(file, func() string {
					if _, err := os.Stat(m.LedgerPath + file); err != nil {
						return err.Error()
					}
					return ""
				})
			}
			m.AwaitShards(back, "RUNNING")

			begun := time.Now()
			m.Signal(sig)
			if status := m.AwaitEnd(); status != 0 {
				t.Errorf("exit status %d", status)
			}
			if took := time.Since(begun); took < time.Second {
				t.Errorf("it took %v: the task that ignores SIGTERM had no grace period", took)
			}
			m.NothingRuns()
			for file, want := range map[string]string{".polite": "cleaned up\n", ".deaf": "heard\n"} {
				if got, err := os.ReadFile(m.LedgerPath + file); string(got) != want {
					t.Errorf("%s wrote %q, %v", file, got, err)
				}
			}

			release()
			m.Start()
			e := m.Await(back, "FINISHED")
			for _, s := range e.Shards {
				if s.Attempt != 2 {
					t.Errorf("with failover: %+v, want attempt 2", s)
				}
			}
			e = m.Await(deaf, "FAILED")
			if s := e.Shards[0]; s.State != "LOST" || !strings.Contains(s.FailureCause, "shutdown") || e.Reason == "" {
				t.Errorf("without failover: %+v, want LOST by shutdown", e)
			}
			// The polite task ended within its grace period, maybe before its agent noticed the shutdown.
			if e := m.Await(polite, "FINISHED", "FAILED"); e.State == "FAILED" && e.Shards[0].State != "LOST" {
				t.Errorf("the polite task: %+v", e)
			}
			m.Run("waits", "FINISHED") // all resources are free again
			m.Stop()
		})
	}
}

// TestStopTwice: after a second signal the tasks keep running, and the next start finds them.
func TestStopTwice(t *testing.T) {
	m := start(t, "--kill-grace", "30s")
	m.App("stops", system.Files{"bin/start.sh": script(
		`trap 'touch "$LEDGER.heard"' TERM; touch "$LEDGER.up"; while [ ! -e "$LEDGER.go" ]; do sleep 0.1; done`)},
		nil)
	m.Job("stops", "stops", nil)
	id := m.Trigger("stops")
	awaitFile := func(suffix string) {
		t.Helper()
		m.Until(suffix, func() string {
			if _, err := os.Stat(m.LedgerPath + suffix); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	awaitFile(".up")
	m.AwaitShards(id, "RUNNING")
	m.Signal(syscall.SIGINT)
	awaitFile(".heard")
	m.Until("the server says what a second Ctrl-C does", func() string {
		if said := m.Said(); !strings.Contains(said, "second Ctrl-C") {
			return said
		}
		return ""
	})
	m.Signal(syscall.SIGINT)
	if status := m.AwaitEnd(); status == 0 {
		t.Error("exit status 0 although tasks were left running")
	}
	if len(m.Executors()) != 1 {
		t.Fatalf("processes: %v, want the executor to live", m.Processes())
	}
	m.Start()
	if err := os.WriteFile(m.LedgerPath+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.Until("the execution has ended", func() string {
		if e := m.Execution(id); !e.HasEnded() {
			return fmt.Sprintf("%+v", e)
		}
		return ""
	})
	m.Stop()
}

// TestSecondServer: only one server at a time can use a data folder; a second one names the process that uses it.
func TestSecondServer(t *testing.T) {
	m := start(t)
	status, said := m.Fails(m.Command())
	if status != 1 || !strings.Contains(said, strconv.Itoa(m.ServerPID())) || !strings.Contains(said, "data") {
		t.Errorf("second server: status %d, %s, want 1 and process %d", status, said, m.ServerPID())
	}
	if lines := strings.Count(strings.TrimSpace(said), "\n"); lines > 3 {
		t.Errorf("the message is too long:\n%s", said)
	}
	other := system.New(t, bin)
	status, said = m.Fails(other.Command("--listen", strings.TrimPrefix(m.URL(), "http://")))
	if status != 1 || !strings.Contains(said, "taken") || !strings.Contains(said, "--listen") {
		t.Errorf("port taken: status %d, %s", status, said)
	}
	m.App("lives", only(":"), nil)
	m.Job("lives", "lives", nil)
	m.Run("lives", "FINISHED")
}

// TestFlags: contradictory and invalid settings are rejected before anything starts. The message names them.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args   []string
		env    string
		status int
		want   []string
	}{
		{[]string{"--listen", "0.0.0.0:8899"}, "", 1, []string{"0.0.0.0", "--advertise"}},
		{[]string{"--listen", "192.0.2.1:8899"}, "", 1, []string{"192.0.2.1"}},
		{[]string{"--listen", ":8899"}, "", 1, []string{"--advertise"}},
		{[]string{"--mesos", "http://127.0.0.1:5050"}, "", 1, []string{"--local", "--mesos"}},
		{[]string{"--local=false"}, "", 1, []string{"--local", "--mesos"}},
		{[]string{"--local-cpus", "-1", "--kill-grace", "-1s", "--time-zone", "Mars/Olympus"}, "", 1, []string{"--local-cpus", "--kill-grace", "Mars/Olympus"}},
		{[]string{"--local-cpus", "NaN"}, "", 1, []string{"--local-cpus"}},
		{[]string{"--local-memory", "+Inf"}, "", 1, []string{"--local-memory"}},
		{[]string{"--no-such-flag"}, "", 2, []string{"no-such-flag", "--help"}},
		{nil, "ELASTICJOB_KILL_GRACE=soon", 1, []string{"ELASTICJOB_KILL_GRACE", "soon"}},
		{nil, "ELASTICJOB_LOG_LEVEL=loud", 1, []string{"loud"}},
		{[]string{"--executor-dir", "/nonexistent"}, "", 1, []string{"/nonexistent", "--executor-dir"}},
		{[]string{"--data-dir", "/dev/null"}, "", 1, []string{"/dev/null", "--data-dir"}},
		{[]string{"surplus"}, "", 1, []string{"surplus"}},
	} {
		t.Run(strings.Join(test.args, " ")+test.env, func(t *testing.T) {
			t.Parallel()
			m := system.New(t, bin)
			cmd := m.Command(test.args...)
			cmd.Env = append(cmd.Env, test.env)
			status, said := m.Fails(cmd)
			if status != test.status {
				t.Errorf("status %d, want %d: %s", status, test.status, said)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("it says %q, want %q in it", said, want)
				}
			}
			m.NothingRuns()
		})
	}
}

// TestFlagsFromEnvironment: each flag can be set by a variable, and the command line takes precedence.
func TestFlagsFromEnvironment(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	for _, test := range []struct{ flag, variable, want string }{
		{"--spread", "127.0.0.2:0", "http://127.0.0.2:"},
		{"--listen=127.0.0.3:0", "0.0.0.0:0", "http://127.0.0.3:"},
	} {
		cmd := m.Command()
		cmd.Args = []string{cmd.Args[0], "--local", test.flag}
		cmd.Env = append(cmd.Env, "ELASTICJOB_DATA_DIR="+m.Dir, "ELASTICJOB_LISTEN="+test.variable)
		m.LaunchCommand(cmd)
		m.Ready()
		if !strings.HasPrefix(m.URL(), test.want) || !strings.Contains(m.Said(), m.Dir) {
			t.Errorf("it says %s, want %s and %s", m.Said(), test.want, m.Dir)
		}
		m.Stop()
	}
}

// TestBrokenRegistry: a file of another program is not changed, and the error names it.
func TestBrokenRegistry(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	file, text := filepath.Join(m.Dir, "registry.db"), strings.Repeat("this is no database\n", 1000)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, said := m.Fails(m.Command()); status != 1 || !strings.Contains(said, file) {
		t.Errorf("status %d, %s, want 1 and %s", status, said, file)
	}
	if got, err := os.ReadFile(file); string(got) != text {
		t.Errorf("the file was changed, %v", err)
	}
	m.NothingRuns()
}

// TestAgentPortTaken is rule O1: executors expect their agent on the same port after a restart. If another process
// listens there, the error names that process. With --give-up-executors the server ends the executors and starts.
func TestAgentPortTaken(t *testing.T) {
	m := start(t)
	path, _ := m.Hold()
	m.App("port", writes, nil)
	m.Job("again", "port", system.Doc{"failover": true, "env": env("HOLD", path)})
	m.Job("once", "port", system.Doc{"env": env("HOLD", path)})
	again, once := m.Trigger("again"), m.Trigger("once")
	m.AwaitStarts(once, 1)
	old := m.AwaitStarts(again, 1)
	m.AwaitShards(again, "RUNNING")
	m.AwaitShards(once, "RUNNING")
	agent := m.AgentAddress()
	m.Kill()
	executor := m.Executors()[0]
	holder := listenElsewhere(t, agent)
	_, port, err := net.SplitHostPort(agent)
	if err != nil {
		t.Fatal(err)
	}

	status, said := m.Fails(m.Command())
	if status != 1 || !strings.Contains(said, port) || !strings.Contains(said, fmt.Sprintf("pid %d ", holder)) ||
		!strings.Contains(said, "--give-up-executors") {
		t.Errorf("agent's port taken: status %d, %s, want 1, port %s and pid %d", status, said, port, holder)
	}
	if !m.Lives(executor) {
		t.Error("the executor was ended without --give-up-executors")
	}
	m.Start("--give-up-executors")
	if m.Lives(executor) || m.Lives(old[0].PID) {
		t.Error("the executor or its task is still running")
	}
	if e := m.Await(once, "FAILED"); e.Shards[0].State != "LOST" || e.Shards[0].FailureCause == "" {
		t.Errorf("given up, without failover: %+v", e)
	}
	m.AwaitStarts(again, 2)
	m.Stop()
	m.Ran()
}

// listenElsewhere makes another process listen on an address, and returns its pid. That process starts no children. If
// the test itself listened, each of its children would have a copy of the socket until it executes its program, and the
// server could name the child instead.
func listenElsewhere(t *testing.T, address string) int {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd := exec.Command("sleep", "1000")
	cmd.ExtraFiles = []*os.File{file}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}
