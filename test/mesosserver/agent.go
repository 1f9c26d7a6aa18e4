package mesosserver

import (
	"fmt"
	"path/filepath"
	"testing"
)

// AgentOptions describe an agent.
type AgentOptions struct {
	// Dir is the agent's folder; by default a temporary one.
	Dir string
	// IP is the agent's address and host name, by default 127.0.0.1. Any loopback address will do, or the address of
	// the Namespace.
	IP string
	// Namespace is the network namespace in which the agent runs, which needs root; "" for that of the test.
	Namespace string
	// Master is HOST:PORT of a master, or zk://HOST:PORT,…/PATH.
	Master string
	// Resources are those that the agent offers, in Mesos' format; reserved ones have the form cpus(role):2. The
	// default is 4 CPUs, 4 GB of memory, 10 GB of disk and ports 31000 to 31100.
	Resources string
	// Credentials are required for reading files and for the operator API.
	Credentials *Credentials
	// Args are additional flags, which take precedence over those from the options; Env are additional environment
	// variables.
	Args, Env []string
}

// Agent is a Mesos agent. Its methods must be called from the test's goroutine, and fail the test on errors.
type Agent struct{ server }

// StartAgent starts an agent. When it returns, the agent answers, but may not have registered yet.
func StartAgent(t testing.TB, o AgentOptions) *Agent {
	t.Helper()
	if o.IP == "" {
		o.IP = "127.0.0.1"
	}
	if o.Resources == "" {
		o.Resources = "cpus:4;mem:4096;disk:10000;ports:[31000-31100]"
	}
	a := &Agent{server{t: t, what: "agent", dir: o.Dir, ip: o.IP, namespace: o.Namespace, credentials: o.Credentials,
		env: o.Env}}
	a.args = func() []string {
		args := []string{
			"--ip=" + a.ip, "--hostname=" + a.ip, fmt.Sprint("--port=", a.port), "--master=" + o.Master,
			"--resources=" + o.Resources,
			"--work_dir=" + a.WorkDir(), "--runtime_dir=" + filepath.Join(a.dir, "run"),
			"--fetcher_cache_dir=" + filepath.Join(a.dir, "fetched"),
			"--launcher_dir=" + filepath.Join(Home(), "libexec"),
			"--launcher=posix", "--isolation=posix/cpu,posix/mem,filesystem/posix", "--no-systemd_enable_support",
			"--no-switch_user",
			// Executors end by themselves after this time without an agent. After a killed test, nothing else ends
			// them.
			"--recovery_timeout=2mins",
			"--registration_backoff_factor=500ms",
		}
		if o.Credentials != nil {
			path, err := o.Credentials.file(a.dir)
			if err != nil {
				t.Fatalf("mesosserver: %v", err)
			}
			args = append(args, "--authenticate_http_readonly", "--authenticate_http_readwrite",
				"--http_credentials="+path)
		}
		return override(args, o.Args)
	}
	a.start()
	return a
}

// WorkDir returns the folder with the agent's sandboxes.
func (a *Agent) WorkDir() string { return filepath.Join(a.dir, "work") }

// Registered reports whether the agent is registered with a master.
func (a *Agent) Registered() bool { return a.Runs() && a.metric("slave/registered") == 1 }
