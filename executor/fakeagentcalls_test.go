package executor_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// until waits until seen returns true. It calls seen while it holds mu.
func (a *fakeAgent) until(what string, seen func() bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	for {
		ok, changed := func() (bool, chan struct{}) {
			a.mu.Lock()
			defer a.mu.Unlock() // seen may end the test
			return seen(), a.changed
		}()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			a.t.Fatalf("no %s in %v", what, deadline)
		}
	}
}

func (a *fakeAgent) event(e mesosexec.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.emit(e)
}

func (a *fakeAgent) launch(task wire.Task) {
	a.t.Helper()
	data, err := task.Encode()
	if err != nil {
		a.t.Fatal(err)
	}
	a.event(mesosexec.Event{Type: mesosexec.Event_LAUNCH, Launch: &mesosexec.Event_Launch{Task: mesos.TaskInfo{
		Name: task.TaskID, TaskID: mesos.TaskID{Value: task.TaskID}, AgentID: mesos.AgentID{Value: "S0"}, Data: data,
	}}})
}

func (a *fakeAgent) kill(id string) {
	a.event(mesosexec.Event{Type: mesosexec.Event_KILL, Kill: &mesosexec.Event_Kill{TaskID: mesos.TaskID{Value: id}}})
}

// statesOf returns a task's updates in the order in which they arrived, without repetitions.
func (a *fakeAgent) statesOf(id string) []mesos.TaskStatus {
	var list []mesos.TaskStatus
	seen := map[string]bool{}
	for _, u := range a.updates {
		if u.TaskID.Value == id && !seen[string(u.UUID)] {
			seen[string(u.UUID)] = true
			list = append(list, u)
		}
	}
	return list
}

func (a *fakeAgent) states(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, u := range a.statesOf(id) {
		names = append(names, strings.TrimPrefix(u.GetState().String(), "TASK_"))
	}
	return strings.Join(names, " ")
}

// await waits until a task is in a state, and returns its update.
func (a *fakeAgent) await(id string, state mesos.TaskState) (mesos.TaskStatus, wire.Status) {
	a.t.Helper()
	var found mesos.TaskStatus
	a.until(fmt.Sprintf("%v of task %s", state, id), func() bool {
		for _, u := range a.statesOf(id) {
			terminal := u.GetState() >= mesos.TASK_FINISHED && u.GetState() <= mesos.TASK_KILLED
			if terminal && u.GetState() != state {
				a.t.Fatalf("task %s is %v: %s: %s", id, u.GetState(), u.GetMessage(), u.GetData())
			}
			if u.GetState() == state {
				found = u
				return true
			}
		}
		return false
	})
	status, ok := wire.DecodeStatus(found.Data)
	if !ok {
		a.t.Errorf("task %s: status data %q", id, found.Data)
	}
	if len(found.UUID) != 16 || found.GetSource() != mesos.SOURCE_EXECUTOR || found.GetMessage() == "" ||
		found.GetTimestamp() == 0 {
		a.t.Errorf("task %s: incomplete update %v", id, found)
	}
	return found, status
}

// exit waits for the executor's end and returns its exit status.
func (a *fakeAgent) exit() int {
	a.t.Helper()
	select {
	case <-a.ended:
		return a.cmd.ProcessState.ExitCode()
	case <-time.After(deadline):
		a.t.Fatal("the executor doesn't end")
		return 0
	}
}

// read waits until a file in the sandbox has a whole line, and returns the content.
func (a *fakeAgent) read(name string) string {
	a.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(a.sandbox, name)
	}
	for end := time.Now().Add(deadline); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil && bytes.HasSuffix(text, []byte("\n")) {
			return string(text)
		}
	}
	a.t.Fatalf("nothing in %s", path)
	return ""
}
