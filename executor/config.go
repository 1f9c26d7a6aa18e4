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

// Config is what an agent passes to an executor that it starts.
type Config struct {
	// Agent is the agent's URL: http://host:port, or https with TLS.
	Agent string
	// TLS is nil for an agent that speaks plain HTTP.
	TLS                     *tls.Config
	FrameworkID, ExecutorID string
	// App, if not empty, is the app that the executor is for: it refuses tasks of any other.
	App string
	// Sandbox is the executor's folder, absolute.
	Sandbox string
	// AgentSandbox is the same folder as the agent names it, absolute. It differs from Sandbox in a container with a
	// file system of its own.
	AgentSandbox string
	// Token is sent as bearer token, if not empty.
	Token string
	// Checkpoint says that the agent will know us after a restart; without it, the
	// executor ends when the agent goes.
	Checkpoint bool
	// Recovery is how long an agent may be away before all tasks are stopped (rule X6).
	Recovery time.Duration
	// BackoffMax is within which time a returned agent wants to hear of us (rule X5).
	BackoffMax time.Duration
	// ShutdownGrace is how long after SHUTDOWN the agent kills us.
	ShutdownGrace time.Duration
	// Supervisor is the command line of the supervisor process (rule X7).
	Supervisor []string
	// Cache is the folder for packages, shared by the agent's executors of this user. Where it
	// can't be used, one in the sandbox is.
	Cache string
	// Package bounds packages, Output what tasks write.
	Package pack.Limits
	Output  output.Limits
	// Processes bounds each task's processes and threads, where that can be had; 0 does not.
	Processes int
	// Secrets are the folders, absolute, that jobs may name files in (SecretsVariable).
	Secrets []string
	// RunAs is who the processes of tasks are, by name, uid or uid:gid; empty for who the executor is, unless that is
	// root: then tasks are refused.
	RunAs string
	// Hide is what an executor whose tasks are its own user's does not see, nor they; nil for nothing.
	Hide *isolation.Places
	// KeepFailed is how many working folders of failed tasks are kept, in the sandbox's folder "failed", each by the
	// number that its output has in "tasks". The newest are.
	KeepFailed int

	container *container.Container // the pod's that this runs in, nil elsewhere
}

// DefaultProcesses bounds each task's processes and threads.
const DefaultProcesses = 4096

// hiddenFromTasks is what tasks don't see, nil for nothing: what this executor does not see, and its folders for
// secrets.
func (c *Config) hiddenFromTasks() *isolation.Places {
	if c.Hide == nil || os.Geteuid() == 0 {
		return nil
	}
	return &isolation.Places{Folder: c.Hide.Folder, Keep: []string{c.Sandbox, c.Cache}, Last: c.Hide.Last}
}
