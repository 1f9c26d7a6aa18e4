package executor

import (
	"crypto/tls"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/container"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// Config is the configuration that an agent passes to an executor that it starts.
type Config struct {
	// Agent is the agent's URL, http://host:port, or https with TLS.
	Agent string
	// TLS is the configuration for an agent with TLS; nil for plain HTTP.
	TLS *tls.Config
	// FrameworkID and ExecutorID identify the executor.
	FrameworkID, ExecutorID string
	// App is the app of the executor, which refuses tasks of any other app. Empty means any app.
	App string
	// Sandbox is the executor's folder, absolute.
	Sandbox string
	// AgentSandbox is the absolute path of the sandbox in the agent's view. It differs from Sandbox if the
	// executor's container has a file system of its own.
	AgentSandbox string
	// Token is the bearer token that is sent to the agent; empty means none.
	Token string
	// Checkpoint means that the agent recovers this executor after a restart. Without it, the executor ends when it
	// loses the agent.
	Checkpoint bool
	// Recovery is how long the agent may be unreachable before all tasks are stopped (rule X6).
	Recovery time.Duration
	// BackoffMax is the time within which a restarted agent expects the executor to subscribe (rule X5).
	BackoffMax time.Duration
	// ShutdownGrace is the time after SHUTDOWN after which the agent kills the executor.
	ShutdownGrace time.Duration
	// Supervisor is the command line of the supervisor process (rule X7).
	Supervisor []string
	// Cache is the folder for packages, which all executors of this user on the agent share. If it can't be used, the
	// executor uses a folder in its sandbox.
	Cache string
	// Package limits packages, and Output limits the output of tasks.
	Package pack.Limits
	Output  output.Limits
	// Processes limits each task's processes and threads, except for root's tasks; 0 means no limit.
	Processes int
	// Secrets are the absolute paths of the folders in which jobs may name files (SecretsVariable).
	Secrets []string
	// RunAs is the user of the tasks' processes, as a name, uid or uid:gid. Empty means the executor's own user; if
	// that is root, tasks are refused.
	RunAs string
	// Hide says which places are hidden from the executor and its tasks if both have the same user; nil means none.
	Hide *isolation.Places
	// KeepFailed is how many working folders of failed and timed-out tasks are kept, the newest ones. They are in the
	// folder "kept" of the sandbox, each under the number that its output has in "tasks".
	KeepFailed int
	// keepSucceeded means that working folders of tasks that succeeded are kept, too.
	keepSucceeded bool

	container *container.Container // the pod's container that this executor runs in; nil elsewhere
}

// DefaultProcesses is the default limit of each task's processes and threads.
const DefaultProcesses = 4096

// hiddenFromTasks returns the places that are hidden from tasks: those of Hide, and also the folders for secrets, which
// the executor itself can see. It returns nil if nothing is hidden, or if the executor runs as root.
func (c *Config) hiddenFromTasks() *isolation.Places {
	if c.Hide == nil || os.Geteuid() == 0 {
		return nil
	}
	return &isolation.Places{Folder: c.Hide.Folder, Keep: []string{c.Sandbox, c.Cache}, NoNested: c.Hide.NoNested}
}
