package executor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// TestE1NoProcessBeforeItsUpdate: the executor starts no process of a task before the agent has accepted the update
// that the task begins. So a task that is lost without that update has never begun. This holds for the first tasks
// of an executor, whether their package has to be fetched or not.
func TestE1NoProcessBeforeItsUpdate(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	begun := filepath.Join(t.TempDir(), "begun")
	a.mu.Lock()
	a.refusesUpdates = true
	a.mu.Unlock()
	a.launch(taskOf("first", script(t, "echo first >>"+begun)))
	// When an update is refused the second time, the executor has done everything that it does before the answer.
	a.until("two refusals", func() bool { return a.refusals >= 2 })
	if _, err := os.Stat(begun); err == nil {
		t.Error("the process was started before the agent accepted the update")
	}
	a.mu.Lock()
	a.refusesUpdates = false
	a.mu.Unlock()
	a.await("first", mesos.TASK_FINISHED)
	if text, _ := os.ReadFile(begun); string(text) != "first\n" {
		t.Errorf("it wrote %q", text)
	}
}

// TestE1OneAcknowledgementIsEnough: once the scheduler has acknowledged an update of the executor, the executor reports
// only the end of a short task whose package is in the cache. Until then it also reports the start of each task.
func TestE1OneAcknowledgementIsEnough(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	url := script(t, "exit 0")
	a.mu.Lock()
	a.silent = true
	a.mu.Unlock()
	for _, id := range []string{"fetches", "unheard"} {
		a.launch(taskOf(id, url))
		a.await(id, mesos.TASK_FINISHED)
	}
	a.mu.Lock()
	a.silent = false
	a.mu.Unlock()
	a.stop()
	a.listen(a.address)
	a.until("acknowledgements", func() bool {
		return !slices.ContainsFunc(a.updates, func(u mesos.TaskStatus) bool { return !a.acked[string(u.UUID)] })
	})
	a.launch(taskOf("heard", url))
	a.await("heard", mesos.TASK_FINISHED)
	for id, want := range map[string]string{"fetches": "STARTING STARTING FINISHED", "unheard": "STARTING FINISHED",
		"heard": "FINISHED"} {
		// On a busy machine a process that ends at once may be reported as running.
		if got := strings.ReplaceAll(a.states(id), "RUNNING ", ""); got != want {
			t.Errorf("%s: %s, expected %s", id, got, want)
		}
	}
}
