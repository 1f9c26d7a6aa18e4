package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// repository is the root folder of the repository.
const repository = "../.."

// TestCompose: docker-compose.yml is valid for Compose, names only existing files, publishes ports to this machine
// only and contains no secret. A test of cmd/scheduler checks the flags of its schedulers.
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
			t.Errorf("%s is built of the stage %q, which is none of the Dockerfile's stages %q", name, s.Build.Target,
				stages)
		}
		if s.Build != nil {
			if built[s.Image] != "" {
				t.Errorf("%s and %s both build %s at the same time: only one of them should", name, built[s.Image],
					s.Image)
			}
			built[s.Image] = name
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" || published[p.Published] != "" {
				t.Errorf("%s publishes port %s on %q: want a port on 127.0.0.1 that no other service publishes (%q does)",
					name, p.Published, p.HostIP, published[p.Published])
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
			// These variables name the file of a secret, or request that one is generated.
			if regexp.MustCompile(`(?i)password|secret|token|digest`).MatchString(variable) &&
				!strings.HasPrefix(*value, "/secrets/") && variable != "MYSQL_RANDOM_ROOT_PASSWORD" {
				t.Errorf("%s has %s=%s: want the file of a secret that setup has made", name, variable, *value)
			}
		}
	}
	for name, s := range project.Services {
		if strings.HasPrefix(s.Image, "elasticjob") &&
			(built[s.Image] == "" || s.Build == nil && s.PullPolicy != types.PullPolicyNever) {
			t.Errorf("%s has the image %s, which %q builds: want a service that builds the image, and that no other "+
				"service pulls it", name, s.Image, built[s.Image])
		}
	}
}

func has[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// stages returns the named stages of the Dockerfile.
func stages(t *testing.T) (names []string) {
	t.Helper()
	dockerfile, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^FROM .* AS (\w+)$`).FindAllStringSubmatch(string(dockerfile), -1) {
		names = append(names, found[1])
	}
	return names
}
