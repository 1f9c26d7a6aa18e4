//go:build nightly

package images

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// standIns are the targets of testdata/Dockerfile, by the images that the Dockerfile and docker-compose.yml name.
var standIns = map[string]string{
	"golang:1.26.8":                 "golang",
	"alpine:3.22.1":                 "alpine",
	"zookeeper:3.9.4":               "zookeeper",
	"mysql:8.4.6":                   "mysql",
	"mesosphere/mesos-master:1.7.1": "mesos-master",
	"mesosphere/mesos-slave:1.7.1":  "mesos-agent",
	"prom/prometheus:v3.5.0":        "prometheus",
	"grafana/grafana:11.6.0":        "grafana",
}

// makeStandIns creates the images that the Dockerfile and docker-compose.yml name. Only this part of the test needs the
// host's network.
func (m *machine) makeStandIns() {
	m.step("make a Debian", func() {
		debian := filepath.Join(m.dir, "debian")
		m.do(hostNetwork, "debootstrap", "--variant=minbase", "bookworm", debian)
		load := strings.Join(m.podman("import", "-", "localhost/debian"), " ")
		m.do(hostNetwork, "bash", "-euo", "pipefail", "-c", fmt.Sprintf("tar -C %s -c . | %s", debian, load))
		m.do(hostNetwork, "rm", "-rf", debian)
	})
	m.step("make the stand-ins", func() {
		build := m.podman("build", "--format", "docker", "--network", "host",
			"--build-context", "mesos-home="+os.Getenv("MESOS_HOME"))
		for image, target := range standIns {
			args := []string{"--target", target, "--tag", "localhost/" + image, testdata("")}
			m.do(hostNetwork, slices.Concat(build, args)...)
		}
	})
	m.step("fetch modules", func() {
		for _, module := range []string{".", "tools"} {
			fetch := exec.CommandContext(m.ctx, "go", "mod", "download")
			fetch.Dir = filepath.Join(root(), module)
			if out, err := fetch.CombinedOutput(); err != nil {
				m.Fatalf("go mod download: %v\n%s", err, out)
			}
		}
	})
}

// makeDocker starts podman's server and writes a command docker, for the documented commands and for docker-compose.
// The latter uses the command to build images and to attach to containers. Builds get modules from the cache of this
// computer's go command, and have no network. makeDocker also starts checkHealth.
func (m *machine) makeDocker() {
	// docker-compose 1.29 does not accept the name of a project in the file.
	text, err := os.ReadFile(filepath.Join(root(), "docker-compose.yml"))
	if err != nil {
		m.Fatal(err)
	}
	const name = "\nname: elasticjob\n"
	if !strings.Contains(string(text), name) {
		m.Fatalf("docker-compose.yml has no line %q", name)
	}
	compose := filepath.Join(m.dir, "compose.yml")
	if err := os.WriteFile(compose, []byte(strings.Replace(string(text), name, "\n", 1)), 0o644); err != nil {
		m.Fatal(err)
	}
	out, err := exec.CommandContext(m.ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		m.Fatalf("go env: %v", err)
	}
	goroot, modules, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	build := []string{"build", "--format", "docker", "--network", "none", "--build-arg", "GOPROXY=file:///modules",
		"--volume", goroot + ":/usr/local/go", "--volume", filepath.Join(modules, "cache/download") + ":/modules:ro"}
	docker := fmt.Sprintf(`#!/bin/sh
case $1 in
compose) shift && exec docker-compose --project-name elasticjob --project-directory %s --file %s "$@" ;;
buildx) shift ;;
esac
case $1 in
build) shift && exec %s "$@" ;;
esac
exec %s "$@"
`, root(), compose, strings.Join(m.podman(build...), " "), strings.Join(m.podman(), " "))
	if err := os.WriteFile(filepath.Join(m.dir, "bin", "docker"), []byte(docker), 0o755); err != nil {
		m.Fatal(err)
	}
	serve := m.podman("system", "service", "--time=0", "unix://"+m.socket())
	service := m.command(context.Background(), ownNetwork, serve...)
	if _, err := child.Start(service, filepath.Join(m.dir, "podman.log")); err != nil {
		m.Fatal(err)
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", m.socket())
		},
	}}
	m.until("podman's server answers", time.Minute, func() error { return ask(client, "/_ping", nil) })
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		m.checkHealth(client)
	}()
	m.Cleanup(func() {
		m.stop()
		<-checked
	})
}

// ask sends a request to podman's server, and decodes the response unless into is nil.
func ask(client *http.Client, path string, into any) error {
	answer, err := client.Get("http://podman/v4.0.0" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// checkHealth runs the containers' health checks until the test ends. Podman itself would run them with systemd's
// timers, which do not exist here.
func (m *machine) checkHealth(client *http.Client) {
	pause := time.NewTicker(2 * time.Second)
	defer pause.Stop()
	for m.ctx.Err() == nil {
		var containers []struct {
			ID string `json:"Id"`
		}
		// Errors are ignored: a container may end during the request, and the test waits for healthy ones elsewhere.
		_ = ask(client, "/libpod/containers/json", &containers)
		for _, c := range containers {
			_ = ask(client, "/libpod/containers/"+c.ID+"/healthcheck", nil)
		}
		select {
		case <-m.ctx.Done():
		case <-pause.C:
		}
	}
}
