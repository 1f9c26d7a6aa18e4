package commands

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// repository is the folder of the repository.
const repository = "../../.."

// TestCompose: docker-compose.yml is what Compose takes, names nothing that is not there, gives flags that there are,
// publishes to this machine only and has no secret.
func TestCompose(t *testing.T) {
	t.Parallel()
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  repository,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(repository, "docker-compose.yml")}},
		Environment: types.Mapping{},
	}, func(o *loader.Options) { o.Profiles = []string{"*"} })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"zk1", "zk2", "zk3", "mesos-master", "agent1", "agent2", "mysql", "scheduler1",
		"scheduler2", "prometheus", "grafana"} {
		if s, ok := project.Services[name]; !ok || s.HealthCheck == nil || s.Restart != "unless-stopped" {
			t.Errorf("there is no service %s that runs for long and has a health check", name)
		}
	}
	stages := stages(t)
	published, built := map[string]string{}, map[string]string{}
	for name, s := range project.Services {
		if s.Build != nil && !slices.Contains(stages, s.Build.Target) {
			t.Errorf("%s is built of the Dockerfile's stage %q, of which there is none among %q", name, s.Build.Target,
				stages)
		}
		if s.Build != nil {
			if built[s.Image] != "" {
				t.Errorf("%s and %s both build %s, at the same time: one of them should, and the other have its image only", name, built[s.Image], s.Image)
			}
			built[s.Image] = name
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" || published[p.Published] != "" {
				t.Errorf("%s publishes %s on %q, where %q is: want a port of its own on 127.0.0.1", name, p.Published,
					p.HostIP, published[p.Published])
			}
			published[p.Published] = name
		}
		for _, v := range s.Volumes {
			switch {
			case v.Type == types.VolumeTypeBind:
				if info, err := os.Stat(v.Source); err != nil || info.IsDir() {
					t.Errorf("%s mounts %s, which is no file: %v", name, v.Source, err)
				}
			case v.Type != types.VolumeTypeVolume || !has(project.Volumes, v.Source):
				t.Errorf("%s mounts %+v: want a file or a volume that is declared", name, v)
			}
		}
		for variable, value := range s.Environment {
			// These only name the file of a secret, or ask for one to be made.
			if regexp.MustCompile(`(?i)password|secret|token|digest`).MatchString(variable) &&
				!strings.HasPrefix(*value, "/secrets/") && variable != "MYSQL_RANDOM_ROOT_PASSWORD" {
				t.Errorf("%s has %s=%s: want the file of a secret that setup has made", name, variable, *value)
			}
		}
		if strings.HasPrefix(s.Image, "elasticjob:") {
			checkServer(t, name, s)
		}
	}
	for name, s := range project.Services {
		if strings.HasPrefix(s.Image, "elasticjob") &&
			(built[s.Image] == "" || s.Build == nil && s.PullPolicy != types.PullPolicyNever) {
			t.Errorf("%s has the image %s, which %q builds: want a builder, and that the others do not pull it", name,
				s.Image, built[s.Image])
		}
	}
}

func has[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// checkServer checks what a service of our image is given.
func checkServer(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	environment := map[string]string{}
	for variable, value := range s.Environment {
		environment[variable] = *value
	}
	flags := knownFlags(t, name, environment, s.Command)
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
		t.Errorf("%s's health check %q is no command of ours: %v", name, s.HealthCheck.Test, err)
	}
}

// knownFlags sets the server's flags from an environment and arguments. Whatever is no flag, or no value of one, is an
// error.
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

// TestUnitsGiveFlagsThatThereAre: the systemd units and the example of their environment.
func TestUnitsGiveFlagsThatThereAre(t *testing.T) {
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

// stages are the named stages of the Dockerfile.
func stages(t *testing.T) (names []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`(?m)^FROM .* AS (\w+)$`).FindAllStringSubmatch(text(t, "Dockerfile"),
		-1) {
		names = append(names, found[1])
	}
	return names
}

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
