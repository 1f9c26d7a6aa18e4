// Package link is what an agent and its master say to each other. Mesos has messages of its own between the two, which
// no framework and no executor ever sees; these here are ours.
//
//	agent ── Registration: all that it has ──▶ master
//	agent ◀──────── Orders ───────────────── master
//	agent ────────── News ─────────────────▶ master
//
// One registration is one session. In one process the master itself is the agent's Upstream. From another process a
// Client stands for it, whose Server asks the master: one connection is one session then, with one JSON value per line
// in both directions.
//
// When a session ends, for whatever reason, the agent registers again with all that it then has. What was on its way
// is lost, as with Mesos: updates are sent again, and launches that did not arrive are found out by the registration.
package link

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// ErrGone is what an agent is refused with that an operator marked gone. It may not come back, and ends what it runs.
var ErrGone = errors.New("the agent has been marked gone")

// ErrCredentials is what an agent is refused with whose credentials are not the master's.
var ErrCredentials = errors.New("the master does not take this agent's credentials: give it the master's with --credentials")

// Upstream is a master as its agents see it.
type Upstream interface {
	// Register makes the agent known, with all that it still has, and opens a session. It comes when the agent's
	// recovery is through: until then the master is silent about its tasks (rule O3). An earlier session of the agent
	// ends. ErrGone and ErrCredentials are for good; after another error it is tried again.
	Register(ctx context.Context, r Registration) (Session, error)
}

// Session is the time from a registration to the next one.
type Session interface {
	// Orders waits for orders and returns them, in their sequence. An error says that the session has ended.
	Orders() ([]Order, error)
	// Report sends news to the master. An error says that the session has ended.
	Report(News) error
	// Close ends the session. It may be called at any time, and again.
	Close()
}

// Proto is a message of Mesos, on the wire in protobuf: its generated JSON refuses enums that it does not know.
type Proto[T any] struct{ Of T }

// MarshalText implements encoding.TextMarshaler.
func (p Proto[T]) MarshalText() ([]byte, error) {
	encoded, err := any(&p.Of).(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", p.Of, err)
	}
	return base64.StdEncoding.AppendEncode(nil, encoded), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Proto[T]) UnmarshalText(text []byte) error {
	encoded, err := base64.StdEncoding.AppendDecode(nil, text)
	if err == nil {
		err = any(&p.Of).(interface{ Unmarshal([]byte) error }).Unmarshal(encoded)
	}
	if err != nil {
		return fmt.Errorf("decode %T: %w", p.Of, err)
	}
	return nil
}

// Registration is an agent with all that it has.
type Registration struct {
	// Agent is its id, hostname, port and resources, which stay the same as long as its data folder does.
	Agent Proto[mesos.AgentInfo]
	// Frameworks are those of all tasks and executors below.
	Frameworks []Proto[mesos.FrameworkInfo]
	Executors  []Proto[mesos.ExecutorInfo]
	// Tasks are those that live, and those that ended with updates still unacknowledged.
	Tasks []TaskState
}

// TaskState is a task that an agent has.
type TaskState struct {
	Framework string
	// Task is as Run had it.
	Task Proto[mesos.TaskInfo]
	// Latest is the newest state that the agent knows, reported or not.
	Latest mesos.TaskState
	// Status is the last update that was sent to the master; nil when there was none.
	Status *Proto[mesos.TaskStatus]
}

// Order is what the master asks of an agent. One of its fields is set.
type Order struct {
	Run              *Run             `json:",omitempty"`
	Kill             *Kill            `json:",omitempty"`
	ShutdownExecutor *Executor        `json:",omitempty"`
	Acknowledge      *Acknowledgement `json:",omitempty"`
	// ShutdownFramework is a framework that is removed: its executors are ended, and its unacknowledged updates
	// forgotten.
	ShutdownFramework string `json:",omitempty"`
	// Subscribed is a framework that has subscribed again, as it describes itself now: the agent sends each task's
	// oldest unacknowledged update again, at once.
	Subscribed *Proto[mesos.FrameworkInfo] `json:",omitempty"`
	// Ping is answered with Pong by an agent that is well.
	Ping bool `json:",omitempty"`
}

// Run launches tasks, in order. They are valid: ids are new, resources are free, each has an executor with
// framework_id and type. A task that cannot be launched is answered with an update.
type Run struct {
	Framework Proto[mesos.FrameworkInfo]
	Tasks     []Proto[mesos.TaskInfo]
}

// Kill kills a task. One that the agent does not know is answered with an update, or ignored.
type Kill struct {
	Framework, Task string
	Policy          *Proto[mesos.KillPolicy] `json:",omitempty"`
}

// Executor names an executor.
type Executor struct{ Framework, Executor string }

// Acknowledgement says that the framework has handled the update with that uuid.
type Acknowledgement struct {
	Framework, Task string
	UUID            []byte
}

// News is what an agent reports to its master. One of its fields is set.
type News struct {
	Update  *StatusUpdate  `json:",omitempty"`
	Ended   *ExecutorEnded `json:",omitempty"`
	Message *Message       `json:",omitempty"`
	Pong    bool           `json:",omitempty"`
}

// StatusUpdate is a task's update on its way to its framework. The same one may come again until it is acknowledged.
// Updates of one task come in order, the next one after the acknowledgement of the one before.
type StatusUpdate struct {
	Framework string
	// Status is complete: with uuid, agent id, executor id, source, timestamp and, while the executor runs,
	// container_status.
	Status Proto[mesos.TaskStatus]
	// Latest is the newest state that the agent knows of the task: what it uses is free when this is terminal, though
	// older updates may still have to be reported.
	Latest mesos.TaskState
}

// ExecutorEnded says that an executor is gone, or could not be started, with its wait status (exit 5 is 1280). Until
// then its resources are in use, and offers name it. It comes before the last updates of its tasks.
type ExecutorEnded struct {
	Executor
	WaitStatus int
}

// Message is what an executor has to say to its framework. Nobody sends it again when it is lost on its way.
type Message struct {
	Executor
	Data []byte
}

// Terminal reports whether a task in that state has ended.
func Terminal(s mesos.TaskState) bool {
	switch s {
	case mesos.TASK_FINISHED, mesos.TASK_FAILED, mesos.TASK_KILLED, mesos.TASK_ERROR,
		mesos.TASK_LOST, mesos.TASK_DROPPED, mesos.TASK_GONE, mesos.TASK_GONE_BY_OPERATOR:
		return true
	}
	return false
}
