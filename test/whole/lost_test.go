package whole_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRegistryFileIsLost: the registry's file is removed or truncated under a running server. From then on the server
// rejects changes and says what to do, and the next start does not create a new registry. With a copy of the file
// everything continues.
func TestRegistryFileIsLost(t *testing.T) {
	t.Parallel()
	t.Run("removed", func(t *testing.T) {
		m := start(t)
		m.App("my_app", writes, nil)
		m.Job("my_job", "my_app", nil)
		m.Run("my_job", "FINISHED")
		file := filepath.Join(m.Dir, "registry.db")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, request := range [][2]string{{"/api/job/register", m.JobText("another", "my_app", nil)},
			{"/api/job/my_job/trigger", ""}, {"/api/job/my_job/trigger", ""}} {
			answer := m.Call("POST", request[0], request[1])
			said = answer.Body
			if answer.Status != 503 || !strings.Contains(said, "was removed") ||
				!strings.Contains(said, "stop this server") {
				t.Errorf("POST %s: %d %s", request[0], answer.Status, said)
			}
		}
		if !strings.Contains(said, "move "+file+".saved to "+file) {
			t.Errorf("it says %q", said)
		}
		m.Signal(syscall.SIGTERM)
		if status := m.AwaitEnd(); status != 1 {
			t.Errorf("it ended with status %d", status)
		}
		if status, said := m.Fails(m.Command()); status != 1 ||
			!strings.Contains(said, "does not exist, but the state of its cluster is") {
			t.Errorf("the next start: status %d, %s", status, said)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if status, said := m.Fails(m.Command()); status != 1 ||
			!strings.Contains(said, "is empty, but the state of its cluster is") {
			t.Errorf("a start on an empty file: status %d, %s", status, said)
		}
		if err := os.Rename(file+".saved", file); err != nil {
			t.Fatal(err)
		}
		m.Start()
		m.OK("GET", "/api/job/jobs/my_job", "")
		m.Run("my_job", "FINISHED")
		m.OnceEach()
		m.Stop()
		m.NothingRuns()
	})
	t.Run("truncated without a request", func(t *testing.T) {
		m := start(t)
		m.App("my_app", writes, nil)
		m.Job("my_job", "my_app", nil)
		if err := os.Truncate(filepath.Join(m.Dir, "registry.db"), 8192); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		m.Until("the loss is noticed", func() string {
			answer := m.Call("GET", "/readyz", "")
			if answer.Status == 503 && strings.Contains(answer.Body, "was cut from") {
				return ""
			}
			return answer.Body
		})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if answer := m.Call("POST", "/api/job/my_job/trigger", ""); answer.Status != 503 ||
			!strings.Contains(answer.Body, "bring back a copy") {
			t.Errorf("a trigger: %d %s", answer.Status, answer.Body)
		}
		m.Signal(syscall.SIGTERM)
		if status := m.AwaitEnd(); status != 1 {
			t.Errorf("it ended with status %d", status)
		}
		if status, said := m.Fails(m.Command()); status != 1 || !strings.Contains(said, "bring back a copy") ||
			strings.Contains(said, "goroutine") {
			t.Errorf("the next start: status %d, %s", status, said)
		}
	})
}
