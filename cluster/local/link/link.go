// Package link is the protocol between an agent and its master. It is specific to the local cluster: Mesos uses
// internal messages for that purpose, which neither frameworks nor executors see.
//
//	agent ── Registration: all that it has ──▶ master
//	agent ◀──────── Orders ───────────────── master
//	agent ────────── News ─────────────────▶ master
//
// One registration is one session. In the same process, the master itself is the agent's Upstream. In another process,
// a Client represents the master and talks to the master's Server: one connection is one session, with one JSON value
// per line in both directions.
//
// When a session ends for any reason, the agent registers again with everything that it has then. Messages in transit
// are lost, as in Mesos: updates are repeated, and the registration shows which launches did not arrive.
package link

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// ErrGone rejects an agent that an operator marked gone. The agent cannot register again and ends its executors.
var ErrGone = errors.New("the agent has been marked gone")

// ErrCredentials rejects an agent whose credentials are not those of the master.
var ErrCredentials = errors.New("the master rejects this agent's credentials: give it the master's with --credentials")

// Upstream is a master as its agents see it.
type Upstream interface {
	// Register registers an agent with everything that it has, and opens a session. It ends an earlier session of the
	// agent. The agent calls it only after its recovery; until then the master does not answer for the agent's tasks
	// (rule O3). ErrGone and ErrCredentials are permanent; after any other error the agent tries again.
	Register(ctx context.Context, r Registration) (Session, error)
}

// Session is the time from one registration to the next.
type Session interface {
	// Orders waits for orders and returns them in the order in which they are to be executed. An error means that the
	// session has ended.
	Orders() ([]Order, error)
	// Report sends news to the master. An error means that the session has ended.
	Report(News) error
	// Close ends the session. It may be called at any time and more than once.
	Close()
}

// Proto is a Mesos message that is encoded in protobuf, because its generated JSON rejects unknown enum values.
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

// Registration describes an agent with everything that it has.
type Registration struct {
	// Agent is the agent's id, hostname, port and resources. They do not change during the life of its data folder.
	Agent Proto[mesos.AgentInfo]
	// Frameworks are the frameworks of all tasks and executors below.
	Frameworks []Proto[mesos.FrameworkInfo]
	Executors  []Proto[mesos.ExecutorInfo]
	// Tasks are the live tasks, and ended tasks with unacknowledged updates.
	Tasks []TaskState
}

// TaskState is the state of a task on an agent.
type TaskState struct {
	Framework string
	// Task is the TaskInfo of the Run order.
	Task Proto[mesos.TaskInfo]
	// Latest is the latest state that the agent knows, reported or not.
	Latest mesos.TaskState
	// Status is the last update that was sent to the master; nil if there was none.
	Status *Proto[mesos.TaskStatus]
}

// Order is a request of the master to an agent. Exactly one field is set.
type Order struct {
	Run              *Run             `json:",omitempty"`
	Kill             *Kill            `json:",omitempty"`
	ShutdownExecutor *Executor        `json:",omitempty"`
	Acknowledge      *Acknowledgement `json:",omitempty"`
	// ShutdownFramework is the id of a removed framework. The agent ends the framework's executors and drops its
	// unacknowledged updates.
	ShutdownFramework string `json:",omitempty"`
	// Subscribed is the current FrameworkInfo of a framework that has subscribed again. The agent immediately repeats
	// the oldest unacknowledged update of each of its tasks.
	Subscribed *Proto[mesos.FrameworkInfo] `json:",omitempty"`
	// Ping asks the agent to answer with Pong.
	Ping bool `json:",omitempty"`
}

// Run launches tasks in order. The master has validated them: ids are new, resources are free, and each task has an
// executor with framework_id and type. The agent answers with an update if it cannot launch a task.
type Run struct {
	Framework Proto[mesos.FrameworkInfo]
	Tasks     []Proto[mesos.TaskInfo]
}

// Kill kills a task. If the agent does not know the task, it reports the task as dropped. If it does not know the
// framework either, it does nothing.
type Kill struct {
	Framework, Task string
	Policy          *Proto[mesos.KillPolicy] `json:",omitempty"`
}

// Executor identifies an executor.
type Executor struct{ Framework, Executor string }

// Acknowledgement reports that the framework has processed the update with this UUID.
type Acknowledgement struct {
	Framework, Task string
	UUID            []byte
}

// News is a report of an agent to its master. Exactly one field is set.
type News struct {
	Update  *StatusUpdate  `json:",omitempty"`
	Ended   *ExecutorEnded `json:",omitempty"`
	Message *Message       `json:",omitempty"`
	Pong    bool           `json:",omitempty"`
}

// StatusUpdate is an update of a task for its framework. It may be repeated until it is acknowledged. Updates of one
// task arrive in order: the next one follows the acknowledgement of the previous one.
type StatusUpdate struct {
	Framework string
	// Status is complete: it has a UUID, agent id, executor id, source, timestamp and, while the executor runs,
	// container_status.
	Status Proto[mesos.TaskStatus]
	// Latest is the latest state of the task that the agent knows. If it is terminal, the task's resources are free,
	// even if older updates are yet to be reported.
	Latest mesos.TaskState
}

// ExecutorEnded reports that an executor is gone or could not be started. It precedes the last updates of the
// executor's tasks. Until the master receives it, the executor's resources are in use, and offers list the executor.
// WaitStatus is that of wait(2), such as 1280 for exit 5, or -1 if it is unknown.
type ExecutorEnded struct {
	Executor
	WaitStatus int
}

// Message is a message from an executor to its framework. A lost message is not repeated.
type Message struct {
	Executor
	Data []byte
}

// Terminal reports whether a task in this state has ended.
func Terminal(s mesos.TaskState) bool {
	switch s {
	case mesos.TASK_FINISHED, mesos.TASK_FAILED, mesos.TASK_KILLED, mesos.TASK_ERROR,
		mesos.TASK_LOST, mesos.TASK_DROPPED, mesos.TASK_GONE, mesos.TASK_GONE_BY_OPERATOR:
		return true
	}
	return false
}
