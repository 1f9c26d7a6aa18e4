package executor_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// descriptor is a line of ls -l /proc/PID/fd.
var descriptor = regexp.MustCompile(`(\d+) -> (.*)`)

// Processes that are started at the same time have only their own descriptors, and none of another task, of the
// executor or of its supervisor.
func TestProcessesHaveOnlyTheirOwnDescriptors(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	const tasks = 24
	program := script(t, `exec ls -l /proc/self/fd`)
	for i := range tasks {
		a.launch(taskOf(strconv.Itoa(i), program))
	}
	owners := map[string]string{}
	for i := range tasks {
		id := strconv.Itoa(i)
		_, status := a.await(id, mesos.TASK_FINISHED)
		var numbers []string
		for _, link := range descriptor.FindAllStringSubmatch(a.read(status.Dir+"/stdout"), -1) {
			if strings.HasPrefix(link[2], "/proc/") {
				continue // ls reads the list from this one
			}
			numbers = append(numbers, link[1])
			if other := owners[link[2]]; other != "" && link[2] != "/dev/null" {
				t.Errorf("task %s has %s, which is of task %s", id, link[2], other)
			}
			owners[link[2]] = id
		}
		if slices.Sort(numbers); !slices.Equal(numbers, []string{"0", "1", "2", "3", "4"}) {
			t.Errorf("task %s has the descriptors %v", id, numbers)
		}
	}
}

// The executor notices at once when a process closes its end of the pipe, even if processes are started at the same
// time: no other process has that end open.
func TestClosedPipesAreNoticedAtOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	const tasks = 24
	program := script(t, `exec 3<&-; echo '{"type":"hello","version":1}' >&4; exec sleep 1000`)
	for i := range tasks {
		task := taskOf(strconv.Itoa(i), program)
		task.KillGraceMillis = 300
		a.launch(task)
	}
	for i := range tasks {
		_, status := a.await(strconv.Itoa(i), mesos.TASK_FAILED)
		if !strings.HasPrefix(status.Cause, "the process sent a hello, but has closed its pipe") {
			t.Errorf("task %d: cause %q", i, status.Cause)
		}
	}
}
