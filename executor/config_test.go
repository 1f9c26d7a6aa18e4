package executor

import (
	"testing"
	"time"
)

// TestOutputByDefault: the defaults keep the output of the last 1,000 tasks, and at most 1 GiB.
func TestOutputByDefault(t *testing.T) {
	t.Parallel()
	c, err := FromEnvironment(func(name string) string {
		return map[string]string{"MESOS_AGENT_ENDPOINT": "h:1", "MESOS_FRAMEWORK_ID": "F", "MESOS_EXECUTOR_ID": "E",
			"MESOS_SANDBOX": "/s"}[name]
	})
	if err != nil || c.Output.Tasks != 1000 || c.Output.Bytes != 1<<30 {
		t.Errorf("%+v, %v", c.Output, err)
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"15mins": 15 * time.Minute, "2secs": 2 * time.Second, "1.5days": 36 * time.Hour,
		"250ms": 250 * time.Millisecond,
		"3us":   3 * time.Microsecond, "1weeks": 7 * 24 * time.Hour, "0ns": 0,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "secs", "-1secs", "1 secs", "1e400secs", "5m"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAgentSandboxIsThePathOnItsHost: if an executor's container has a file system of its own, the sandbox has
// different paths for the executor and for the agent. The agent's files API needs the agent's path.
func TestAgentSandboxIsThePathOnItsHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ directory, want string }{{"/var/lib/mesos/runs/R", "/var/lib/mesos/runs/R"},
		{"", "/mnt/mesos/sandbox"}} {
		config, err := FromEnvironment(func(name string) string {
			return map[string]string{
				"MESOS_AGENT_ENDPOINT": "h:1", "MESOS_FRAMEWORK_ID": "F", "MESOS_EXECUTOR_ID": "E",
				"MESOS_SANDBOX": "/mnt/mesos/sandbox", "MESOS_DIRECTORY": test.directory,
			}[name]
		})
		if err != nil || config.Sandbox != "/mnt/mesos/sandbox" || config.AgentSandbox != test.want {
			t.Errorf("MESOS_DIRECTORY=%q: %q and %q, %v", test.directory, config.Sandbox, config.AgentSandbox, err)
		}
	}
}

// The shutdown grace that the scheduler requests from an agent leaves tasks their whole grace.
func TestShutdownLeavesTasksTheirGrace(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, time.Minute,
		time.Hour} {
		given := ShutdownGrace(grace)
		end, tasks := splitGrace(given)
		if tasks < grace || tasks >= end || end >= given || given > grace+5*time.Second {
			t.Errorf("grace %v: the agent gives %v, the executor ends after %v, tasks get %v", grace, given, end,
				tasks)
		}
	}
	if end, tasks := splitGrace(5 * time.Second); end != 4500*time.Millisecond || tasks != 3375*time.Millisecond {
		t.Errorf("of an agent's default: %v, %v", end, tasks)
	}
}
