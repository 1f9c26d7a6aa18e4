package commands

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// repository is the root folder of the repository.
const repository = "../../.."

// service is a service in docker-compose.yml.
type service struct {
	Image, Hostname string
	Environment     map[string]string
	HealthCheck     struct{ Test []string } `yaml:"healthcheck"`
	Command         []string
}

// TestComposeServers: docker-compose.yml starts the servers with existing flags, gives each an address for the
// others, and checks their health with scheduler ready. test/conformance checks the file against the Compose
// specification.
func TestComposeServers(t *testing.T) {
	t.Parallel()
	var file struct{ Services map[string]service }
	defaults := regexp.MustCompile(`\$\{\w+:-([^}]*)\}`).ReplaceAllString(text(t, "docker-compose.yml"), "$1")
	if err := yaml.Unmarshal([]byte(defaults), &file); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, s := range file.Services {
		if strings.HasPrefix(s.Image, "elasticjob:") {
			seen++
			checkServer(t, name, s)
		}
	}
	if seen != 2 {
		t.Errorf("%d services use the image elasticjob, want 2", seen)
	}
}

// checkServer checks the flags and the health check of a service that uses the image elasticjob.
func checkServer(t *testing.T, name string, s service) {
	t.Helper()
	flags := knownFlags(t, name, s.Environment, s.Command)
	for _, flag := range []string{"zk", "mesos", "listen", "advertise", "run-as", "api-token-file", "zk-digest-file",
		"db-file"} {
		if !flags.Changed(flag) {
			t.Errorf("%s does not set --%s", name, flag)
		}
	}
	if host, _, _ := strings.Cut(flags.Lookup("advertise").Value.String(), ":"); host != name || s.Hostname != name {
		t.Errorf("%s has the hostname %q and is advertised as %s: others find it by neither", name, s.Hostname, host)
	}
	cmd, _, err := New().Find(s.HealthCheck.Test[2:])
	if err != nil || cmd.Name() != "ready" {
		t.Errorf("%s's health check %q is not scheduler ready: %v", name, s.HealthCheck.Test, err)
	}
}

// knownFlags sets the server's flags from an environment and arguments. Unknown flags and invalid values fail the
// test.
func knownFlags(t *testing.T, where string, environment map[string]string, args []string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	settings.New(flags)
	if err := flags.Parse(args); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	names := map[string]string{}
	for flag, variable := range settings.Variables(flags) {
		names[variable] = flag
	}
	for _, variable := range slices.Sorted(maps.Keys(environment)) {
		if !strings.HasPrefix(variable, settings.EnvPrefix) {
			continue
		}
		if names[variable] == "" {
			t.Errorf("%s sets %s, and there is no such flag", where, variable)
		} else if err := flags.Set(names[variable], environment[variable]); err != nil {
			t.Errorf("%s: %s: %v", where, variable, err)
		}
	}
	return flags
}

// TestSystemdUnitsUseExistingFlags: the systemd units and the example of their environment use existing flags.
func TestSystemdUnitsUseExistingFlags(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"elasticjob.service", "elasticjob-local.service"} {
		line := regexp.MustCompile(`(?m)^ExecStart=/opt/elasticjob/scheduler (.*)$`).FindStringSubmatch(text(t,
			"deploy/systemd/"+unit))
		if line == nil {
			t.Fatalf("%s does not start the scheduler", unit)
		}
		knownFlags(t, unit, nil, strings.Fields(line[1]))
	}
	environment := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^#?(ELASTICJOB_\w+)=(\S+)$`).FindAllStringSubmatch(text(t,
		"deploy/systemd/scheduler.env.example"), -1) {
		environment[line[1]] = line[2]
	}
	if len(environment) < 5 {
		t.Errorf("the example sets %v", environment)
	}
	knownFlags(t, "scheduler.env.example", environment, nil)
}

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
