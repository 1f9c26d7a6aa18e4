package mesosserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// launch starts the process and waits until it answers.
func (s *server) launch() error {
	command := append([]string{binary("mesos-" + s.what)}, s.args()...)
	if s.namespace != "" {
		command = append([]string{"ip", "netns", "exec", s.namespace}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = s.dir
	// Mesos reads flags from variables with the prefix MESOS_, so it gets none of the test's environment.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "LC_ALL=C.UTF-8"}, s.env...)
	var err error
	if s.process, err = child.Start(cmd, s.log()); err != nil {
		return err
	}
	return s.awaitReady()
}

// override returns flags and additional flags. A flag in additional replaces the one of the same name in flags, because
// Mesos rejects duplicate flags.
func override(flags, additional []string) []string {
	name := func(flag string) string {
		flag, _, _ = strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		return strings.TrimPrefix(flag, "no-")
	}
	return append(slices.DeleteFunc(flags, func(flag string) bool {
		return slices.ContainsFunc(additional, func(other string) bool { return name(other) == name(flag) })
	}), additional...)
}

// health are the paths of the health checks of masters and agents.
var health = map[string]string{"master": "/master/health", "agent": "/slave(1)/health"}

// awaitReady waits until the server listens and answers its health check.
func (s *server) awaitReady() error {
	deadline := time.After(patience)
	poll := time.NewTicker(30 * time.Millisecond)
	defer poll.Stop()
	for {
		if s.process.ListensAt(s.port) {
			if _, err := s.ask("GET", health[s.what], ""); err == nil {
				return nil
			}
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("%s ended: %s", s, s.LastWords())
		case <-deadline:
			return fmt.Errorf("%s does not answer after %v: %s", s, patience, s.LastWords())
		case <-poll.C:
		}
	}
}

// ask sends a request with the server's credentials. Any status except 200 and 202 is an error.
func (s *server) ask(method, path, body string) (string, error) {
	req, err := http.NewRequest(method, s.url(path), strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.credentials != nil {
		req.SetBasicAuth(s.credentials.Principal, s.credentials.Secret)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return string(text), err
}

// metric returns a number in the server's /metrics/snapshot. It returns 0 if there is no such number or no answer.
func (s *server) metric(name string) float64 {
	text, err := s.ask("GET", "/metrics/snapshot", "")
	if err != nil {
		return 0
	}
	var all map[string]float64
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return 0
	}
	return all[name]
}
