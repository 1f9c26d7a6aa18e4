package executor

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
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

	container *container // the pod's that this runs in, nil elsewhere
}

// DefaultProcesses bounds each task's processes and threads.
const DefaultProcesses = 4096

// ErrNoAgent is returned by [FromEnvironment] if no agent started the process.
var ErrNoAgent = errors.New("not started by an agent")

// FromEnvironment reads what a Mesos agent puts into the environment. Without any of
// it the error is ErrNoAgent; else it names all that is missing or wrong.
func FromEnvironment(getenv func(string) string) (Config, error) {
	if getenv("MESOS_AGENT_ENDPOINT") == "" && getenv("MESOS_FRAMEWORK_ID") == "" &&
		getenv("MESOS_EXECUTOR_ID") == "" {
		return Config{}, ErrNoAgent
	}
	var problems []error
	required := func(name string) string {
		value := getenv(name)
		if value == "" {
			problems = append(problems, fmt.Errorf("%s is missing", name))
		}
		return value
	}
	duration := func(name string, otherwise time.Duration) time.Duration {
		text := getenv(name)
		if text == "" {
			return otherwise
		}
		d, err := parseDuration(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s is %q: %w", name, text, err))
		}
		return d
	}
	scheme := "http"
	secure, err := agent.TLSConfig(getenv, getenv("MESOS_AGENT_ENDPOINT"))
	if err != nil {
		problems = append(problems, err)
	}
	if secure != nil {
		scheme = "https"
	}
	c := Config{
		Agent:         scheme + "://" + required("MESOS_AGENT_ENDPOINT"),
		TLS:           secure,
		FrameworkID:   required("MESOS_FRAMEWORK_ID"),
		ExecutorID:    required("MESOS_EXECUTOR_ID"),
		Sandbox:       getenv("MESOS_SANDBOX"),
		Token:         getenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN"),
		Recovery:      duration("MESOS_RECOVERY_TIMEOUT", 15*time.Minute),
		BackoffMax:    duration("MESOS_SUBSCRIPTION_BACKOFF_MAX", 2*time.Second),
		ShutdownGrace: duration("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", 5*time.Second),
		Package:       pack.Defaults(),
		Output:        output.DefaultLimits(),
		Processes:     DefaultProcesses,
		Secrets:       launch.SecretFolders(getenv(launch.SecretsVariable)),
	}
	problems = append(problems, c.limits(getenv)...)
	if text := getenv(HideVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &c.Hide); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", HideVariable, err))
		}
	}
	checkpoint := getenv("MESOS_CHECKPOINT")
	c.Checkpoint = checkpoint == "1" || strings.EqualFold(checkpoint, "true")
	if c.Sandbox == "" {
		c.Sandbox = required("MESOS_DIRECTORY")
	}
	c.AgentSandbox = cmp.Or(getenv("MESOS_DIRECTORY"), c.Sandbox)
	if !filepath.IsAbs(c.Sandbox) {
		problems = append(problems, fmt.Errorf("the sandbox %q is no absolute path", c.Sandbox))
	}
	c.Cache = cacheFolder(c.Sandbox, os.Geteuid())
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("environment set by the agent: %w", errors.Join(problems...))
	}
	return c, nil
}

// parseDuration reads a duration as Mesos writes it: 15mins, 2secs, 500ms.
func parseDuration(text string) (time.Duration, error) {
	units := []struct {
		name string
		unit time.Duration
	}{
		{"weeks", 7 * 24 * time.Hour}, {"days", 24 * time.Hour}, {"hrs", time.Hour}, {"mins", time.Minute},
		{"secs", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
	}
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			if n, err := strconv.ParseFloat(digits, 64); err == nil && n >= 0 && n*float64(u.unit) < 1<<62 {
				return time.Duration(n * float64(u.unit)), nil
			}
		}
	}
	return 0, errors.New("a duration looks like 15mins, 2secs or 500ms")
}
