package executor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// ErrNoAgent is returned by [FromEnvironment] if no agent started the process.
var ErrNoAgent = errors.New("not started by an agent")

// FromEnvironment reads the configuration that a Mesos agent puts into the environment. The error is ErrNoAgent if the
// environment has neither the agent's address nor the ids of framework and executor. Any other error lists everything
// that is missing or wrong.
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
	duration := func(name string, fallback time.Duration) time.Duration {
		text := getenv(name)
		if text == "" {
			return fallback
		}
		d, err := parseDuration(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s is %q: %w", name, text, err))
		}
		return d
	}
	scheme := "http"
	tlsConfig, err := agent.TLSConfig(getenv, getenv("MESOS_AGENT_ENDPOINT"))
	if err != nil {
		problems = append(problems, err)
	}
	if tlsConfig != nil {
		scheme = "https"
	}
	c := Config{
		Agent:         scheme + "://" + required("MESOS_AGENT_ENDPOINT"),
		TLS:           tlsConfig,
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
	problems = append(problems, c.readEnvironment(getenv)...)
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
		problems = append(problems, fmt.Errorf("the sandbox %q is not an absolute path", c.Sandbox))
	}
	c.Cache = cacheFolder(c.Sandbox, os.Geteuid())
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("environment set by the agent: %w", errors.Join(problems...))
	}
	return c, nil
}

// parseDuration parses a duration in Mesos' format: 15mins, 2secs, 500ms.
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
	return 0, errors.New("must be a duration such as 15mins, 2secs or 500ms")
}
