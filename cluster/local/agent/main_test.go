package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
	"go.uber.org/goleak"
)

// The test binary plays all roles: the tests, the executors that the agent
// under test starts, and a server process that is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_ROLE") {
	case "executor":
		os.Exit(newTestExecutor(os.Args[1:]).run())
	case "server":
		runServer()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// testExecutor is an executor over plain HTTP and JSON, without any library of
// Mesos' but its types. It obeys the data of its tasks:
//
//	run          RUNNING, and goes on
//	finish       RUNNING, FINISHED
//	child        RUNNING, with a process of its own in its session; its pid is the data
//	exit <n>     RUNNING, and the executor exits
//	quiet        no update; a file got-<task> says that it is here
type testExecutor struct {
	flags map[string]bool
	base  string

	mu      sync.Mutex
	tasks   map[string]mesos.TaskInfo   // whose first update is not acknowledged
	updates map[string]mesos.TaskStatus // by uuid, not acknowledged
	order   []string
}

func newTestExecutor(args []string) *testExecutor {
	x := &testExecutor{flags: map[string]bool{}, tasks: map[string]mesos.TaskInfo{},
		updates: map[string]mesos.TaskStatus{},
		base:    "http://" + os.Getenv("MESOS_AGENT_ENDPOINT") + "/api/v1/executor"}
	for _, arg := range args {
		x.flags[arg] = true
	}
	return x
}

func (x *testExecutor) run() int {
	_ = os.WriteFile("env", []byte(strings.Join(os.Environ(), "\n")), 0o600)
	fmt.Println("executor says hello")
	if x.flags["die-early"] {
		return 3
	}
	if x.flags["deaf"] {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(math.MaxInt64) // the runtime ends a process in which every goroutine waits for another one
	}
	attempt := time.NewTicker(20 * time.Millisecond) // rule X5
	defer attempt.Stop()
	for giveUp := time.Now().Add(20 * time.Second); time.Now().Before(giveUp); <-attempt.C {
		code, err := x.subscribe()
		if err == nil {
			return code
		}
	}
	return 9
}

func (x *testExecutor) call(call *executor.Call) (*http.Response, error) {
	call.ExecutorID.Value, call.FrameworkID.Value = os.Getenv("MESOS_EXECUTOR_ID"), os.Getenv("MESOS_FRAMEWORK_ID")
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, x.base, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	return http.DefaultClient.Do(request)
}

var errDisconnected = errors.New("disconnected")

func (x *testExecutor) subscribe() (int, error) {
	x.mu.Lock()
	subscribe := &executor.Call_Subscribe{}
	for _, t := range x.tasks {
		subscribe.UnacknowledgedTasks = append(subscribe.UnacknowledgedTasks, t)
	}
	for _, id := range x.order {
		if status, is := x.updates[id]; is {
			subscribe.UnacknowledgedUpdates = append(subscribe.UnacknowledgedUpdates,
				executor.Call_Update{Status: status})
		}
	}
	x.mu.Unlock()
	response, err := x.call(&executor.Call{Type: executor.Call_SUBSCRIBE, Subscribe: subscribe})
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusBadRequest {
		return 4, nil // rule X6: the agent does not know it
	}
	if response.StatusCode != http.StatusOK {
		return 0, errDisconnected
	}
	in := bufio.NewReader(response.Body)
	for {
		var event executor.Event
		if err := readEvent(in, &event); err != nil {
			return 0, err
		}
		if code, over := x.handle(&event); over {
			return code, nil
		}
	}
}

// readEvent reads one RecordIO frame with an event in JSON.
func readEvent(in *bufio.Reader, event *executor.Event) error {
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(in, frame); err != nil {
		return err
	}
	return json.Unmarshal(frame, event)
}

func (x *testExecutor) handle(event *executor.Event) (code int, over bool) {
	switch event.Type {
	case executor.Event_LAUNCH:
		return x.launch(event.Launch.Task)
	case executor.Event_KILL:
		x.update(event.Kill.TaskID.Value, mesos.TASK_KILLED, "")
	case executor.Event_ACKNOWLEDGED:
		x.mu.Lock()
		delete(x.updates, string(event.Acknowledged.UUID))
		delete(x.tasks, event.Acknowledged.TaskID.Value)
		x.mu.Unlock()
	case executor.Event_SHUTDOWN:
		return 0, !x.flags["stubborn"]
	}
	return 0, false
}

func (x *testExecutor) launch(t mesos.TaskInfo) (code int, over bool) {
	id := t.TaskID.Value
	x.mu.Lock()
	x.tasks[id] = t
	x.mu.Unlock()
	order, arg, _ := strings.Cut(string(t.Data), " ")
	switch order {
	case "quiet":
		_ = os.WriteFile("got-"+id, nil, 0o600) // the test waits for it
	case "run":
		x.update(id, mesos.TASK_RUNNING, "")
	case "finish":
		x.update(id, mesos.TASK_RUNNING, "")
		x.update(id, mesos.TASK_FINISHED, "")
	case "child":
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := child.Start(); err != nil {
			return 8, true
		}
		x.update(id, mesos.TASK_RUNNING, strconv.Itoa(child.Process.Pid))
	case "exit":
		x.update(id, mesos.TASK_RUNNING, "")
		code, _ = strconv.Atoi(arg)
		return code, true
	}
	return 0, false
}

func (x *testExecutor) update(task string, state mesos.TaskState, data string) {
	id := uuid.New()
	status := mesos.TaskStatus{TaskID: mesos.TaskID{Value: task}, State: &state, Source: mesos.SOURCE_EXECUTOR.Enum(),
		UUID: id[:], Data: []byte(data)}
	x.mu.Lock()
	x.updates[string(id[:])] = status
	x.order = append(x.order, string(id[:]))
	x.mu.Unlock()
	response, err := x.call(&executor.Call{Type: executor.Call_UPDATE, Update: &executor.Call_Update{Status: status}})
	if err == nil {
		response.Body.Close()
	}
}
