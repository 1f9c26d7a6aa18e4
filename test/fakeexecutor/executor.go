// Package fakeexecutor is a simple executor for tests of agents. The test binary runs it when an agent starts the
// binary as an executor. It uses HTTP and JSON, with no library of Mesos except its types, and obeys the data of its
// tasks:
//
//	finish       RUNNING, FINISHED
//	child        RUNNING, with a process of its own in its session; its pid is the data
//	exit <n>     RUNNING, and the executor exits
//	quiet        no update; a file got-<task> says that it has arrived
//	say          the task's id as a message, and RUNNING
//	else         RUNNING, and continues
package fakeexecutor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
)

// Options say how an executor reaches its agent, and how it misbehaves.
type Options struct {
	Agent    string       // its URL
	Client   *http.Client // nil means http.DefaultClient
	Token    string       // sent to the agent; empty for none
	Stubborn bool         // it ignores SHUTDOWN
}

// The exit statuses of an executor.
const (
	Unknown  = 4 // its agent does not know it (rule X6)
	NoChild  = 8 // the process of a task did not start
	NoAgent  = 9 // it could not reach its agent for a long time
	patience = 20 * time.Second
)

type fake struct {
	Options

	mu      sync.Mutex
	tasks   map[string]mesos.TaskInfo   // without an acknowledged update
	updates map[string]mesos.TaskStatus // not acknowledged, by uuid
	order   []string
}

// Run runs the executor and returns its exit status. It reconnects after its stream breaks.
func Run(o Options) int {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	x := &fake{Options: o, tasks: map[string]mesos.TaskInfo{}, updates: map[string]mesos.TaskStatus{}}
	attempt := time.NewTicker(20 * time.Millisecond) // rule X5
	defer attempt.Stop()
	for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); <-attempt.C {
		code, connected, err := x.subscribe()
		if err == nil {
			return code
		}
		if connected {
			giveUp = time.Now().Add(patience)
		}
	}
	return NoAgent
}

func (x *fake) call(call *executor.Call) (*http.Response, error) {
	call.ExecutorID.Value, call.FrameworkID.Value = os.Getenv("MESOS_EXECUTOR_ID"), os.Getenv("MESOS_FRAMEWORK_ID")
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, x.Agent+"/api/v1/executor", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if x.Token != "" {
		request.Header.Set("Authorization", "Bearer "+x.Token)
	}
	return x.Client.Do(request)
}

// send makes a call and ignores the answer.
func (x *fake) send(call *executor.Call) {
	if response, err := x.call(call); err == nil {
		_ = response.Body.Close()
	}
}

// subscribe reads a stream to its end. Without an error the executor must exit.
func (x *fake) subscribe() (code int, connected bool, err error) {
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
		return 0, false, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest:
		return Unknown, false, nil
	default:
		return 0, false, errors.New(response.Status)
	}
	in := bufio.NewReader(response.Body)
	for {
		var event executor.Event
		if err := readEvent(in, &event); err != nil {
			return 0, true, err
		}
		if code, over := x.handle(&event); over {
			return code, true, nil
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

func (x *fake) handle(event *executor.Event) (code int, over bool) {
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
		return 0, !x.Stubborn
	}
	return 0, false
}

func (x *fake) launch(t mesos.TaskInfo) (code int, over bool) {
	id := t.TaskID.Value
	x.mu.Lock()
	x.tasks[id] = t
	x.mu.Unlock()
	order, arg, _ := strings.Cut(string(t.Data), " ")
	data := ""
	switch order {
	case "quiet":
		_ = os.WriteFile("got-"+id, nil, 0o600) // the test waits for this file
		return 0, false
	case "say":
		x.send(&executor.Call{Type: executor.Call_MESSAGE, Message: &executor.Call_Message{Data: []byte(id)}})
	case "child":
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := child.Start(); err != nil {
			return NoChild, true
		}
		data = fmt.Sprint(child.Process.Pid)
	}
	x.update(id, mesos.TASK_RUNNING, data)
	switch order {
	case "finish":
		x.update(id, mesos.TASK_FINISHED, "")
	case "exit":
		code, _ = strconv.Atoi(arg)
		return code, true
	}
	return 0, false
}

func (x *fake) update(task string, state mesos.TaskState, data string) {
	id, now := uuid.New(), float64(time.Now().UnixMicro())/1e6
	status := mesos.TaskStatus{TaskID: mesos.TaskID{Value: task}, State: &state, Source: mesos.SOURCE_EXECUTOR.Enum(),
		UUID: id[:], Timestamp: &now, Data: []byte(data)}
	x.mu.Lock()
	x.updates[string(id[:])] = status
	x.order = append(x.order, string(id[:]))
	x.mu.Unlock()
	x.send(&executor.Call{Type: executor.Call_UPDATE, Update: &executor.Call_Update{Status: status}})
}
