package master

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// memoryAgent is an agent without processes. It sends the orders that it receives to calls.
type memoryAgent struct {
	info    mesos.AgentInfo
	deaf    atomic.Bool // does not answer pings
	calls   chan string
	tasks   chan mesos.TaskInfo
	session link.Session
}

func newAgent(id string, cpus, mem float64) *memoryAgent {
	port := int32(5051)
	scalar := func(name string, value float64) mesos.Resource {
		return mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value}}
	}
	return &memoryAgent{
		calls: make(chan string, 1000), tasks: make(chan mesos.TaskInfo, 1000),
		info: mesos.AgentInfo{
			Hostname: "127.0.0.1", Port: &port, ID: &mesos.AgentID{Value: id},
			Resources: []mesos.Resource{scalar("cpus", cpus), scalar("mem", mem), scalar("disk", 10000)},
		},
	}
}

// agent registers a new agent.
func (w *world) agent(r link.Registration) *memoryAgent {
	w.t.Helper()
	a := newAgent(fmt.Sprintf("%s-S%d", w.master.id, w.agents), 8, 8192)
	w.agents++
	if err := w.register(a, r); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// register opens a session of an agent and follows its orders until the session ends.
func (w *world) register(a *memoryAgent, r link.Registration) error {
	w.t.Helper()
	r.Agent = proto(a.info)
	session, err := w.master.Register(w.t.Context(), r)
	if err != nil {
		return err
	}
	a.session = session
	go func() {
		for {
			orders, err := session.Orders()
			if err != nil {
				a.say("session ended")
				return
			}
			for i := range orders {
				a.obey(session, &orders[i])
			}
		}
	}()
	return nil
}

func proto[T any](of T) link.Proto[T] { return link.Proto[T]{Of: of} }

func (a *memoryAgent) id() string { return a.info.ID.Value }
func (a *memoryAgent) say(format string, args ...any) {
	a.calls <- fmt.Sprintf(format, args...)
}

func (a *memoryAgent) obey(session link.Session, o *link.Order) {
	switch {
	case o.Run != nil:
		for _, t := range o.Run.Tasks {
			a.tasks <- t.Of
			a.say("run %s", t.Of.TaskID.Value)
		}
	case o.Kill != nil:
		a.say("kill %s", o.Kill.Task)
	case o.ShutdownExecutor != nil:
		a.say("shutdown %s", o.ShutdownExecutor.Executor)
	case o.ShutdownFramework != "":
		a.say("remove %s", o.ShutdownFramework)
	case o.Acknowledge != nil:
		a.say("acknowledge %s %x", o.Acknowledge.Task, o.Acknowledge.UUID[:1])
	case o.Subscribed != nil:
		a.say("subscribed %s", o.Subscribed.Of.ID.Value)
	case o.Ping && !a.deaf.Load():
		_ = session.Report(link.News{Pong: true}) // the next order shows the session's end
	}
}

// asked waits for this call and skips others.
func (a *memoryAgent) asked(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(deadline)
	for {
		select {
		case got := <-a.calls:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("the agent was not asked to %s", want)
		}
	}
}

func (a *memoryAgent) report(frameworkID, taskID string, state mesos.TaskState, uuid byte) {
	source, id := mesos.SOURCE_EXECUTOR, bytes.Repeat([]byte{uuid}, 16)
	_ = a.session.Report(link.News{Update: &link.StatusUpdate{Framework: frameworkID, Latest: state,
		Status: proto(mesos.TaskStatus{
			TaskID: mesos.TaskID{Value: taskID}, State: &state, Source: &source, UUID: id, AgentID: a.info.ID,
			ContainerStatus: &mesos.ContainerStatus{ContainerID: &mesos.ContainerID{Value: "container-" + taskID}},
		})}})
}

// ended reports that an executor is gone.
func (a *memoryAgent) ended(frameworkID, executorID string, status int) {
	_ = a.session.Report(link.News{Ended: &link.ExecutorEnded{Executor: link.Executor{Framework: frameworkID,
		Executor: executorID}, WaitStatus: status}})
}

// message sends an executor's message.
func (a *memoryAgent) message(frameworkID, executorID string, data []byte) {
	_ = a.session.Report(link.News{Message: &link.Message{Executor: link.Executor{Framework: frameworkID,
		Executor: executorID}, Data: data}})
}
