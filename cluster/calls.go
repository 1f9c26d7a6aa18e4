package cluster

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Reserved is the part of an amount of resources that belongs to one reservation for the framework's role on one
// agent. A cluster accepts a task only if the task's resources name exactly the reservations of the offer that they
// are taken from.
type Reserved struct {
	// Key identifies the reservation. Two reservations with different labels or different creators have different
	// keys. A driver creates and parses keys; all other code treats them as opaque. The registry stores them.
	Key       string           `json:"key"`
	Resources resources.Amount `json:"resources"`
}

// TaskRef names a task in a reconciliation request. AgentID may be empty if the agent is unknown.
type TaskRef struct{ TaskID, AgentID string }

// Kill is a request to end a task.
type Kill struct {
	TaskID, AgentID string
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// Reason explains the kill to users; it may be empty.
	Reason string
}

// Ack acknowledges one status update.
type Ack struct {
	TaskID, AgentID string
	UUID            []byte
}

// Launch launches tasks on one agent, using one or more offers of that agent.
type Launch struct {
	AgentID  string
	OfferIDs []string
	Tasks    []TaskLaunch
	// Refuse is the decline filter for the resources that the tasks leave over: the cluster does not offer them again
	// before this time has passed.
	Refuse time.Duration
}

// TaskLaunch is one task to launch.
type TaskLaunch struct {
	TaskID, Name string
	Resources    resources.Amount
	// CPULimitMilli is the most CPU that the task may use, in thousandths; 0 is unlimited. Clusters without such limits
	// ignore it.
	CPULimitMilli int64
	// Reserved is the part of Resources that is taken from reservations; the rest is unreserved.
	Reserved []Reserved
	// Executor runs the task. It is zero on a cluster that starts a separate executor for each task; such an executor
	// needs no resources beyond Resources (step.Options.TaskExecutors).
	Executor Executor
	// Container describes the task's own container, on a cluster that creates one for each task.
	Container Container
	// Task is the description that the executor receives. It is read-only, because the tasks of one execution share
	// maps in it.
	Task wire.Task
	// Shared, unless it is empty, is the encoded part of Task that all tasks of its execution share.
	Shared wire.Shared
	// Size is an upper bound of the bytes that the task adds to a call.
	Size int
}

// Description encodes Task in the form that executors read.
func (t *TaskLaunch) Description() ([]byte, error) { return t.Task.EncodeWith(t.Shared) }

// Size returns an upper bound of the bytes that all tasks add to a call.
func (l *Launch) Size() (n int) {
	for i := range l.Tasks {
		n += l.Tasks[i].Size
	}
	return n
}

// Container holds an app's settings for the containers of its tasks. Clusters that create no container per task ignore
// them.
type Container struct {
	// Image is the container's image; if it is empty, the cluster's default is used. PullPolicy and PullSecrets
	// control how the image is pulled, in the cluster's own terms.
	Image, PullPolicy string
	PullSecrets       []string
	// Template holds further settings of the container, as JSON in the cluster's own terms; nil if there are none.
	Template json.RawMessage
}

// IsZero reports whether the app sets nothing.
func (c Container) IsZero() bool {
	return c.Image == "" && c.PullPolicy == "" && len(c.PullSecrets) == 0 && len(c.Template) == 0
}

// Executor describes an executor. The mapping from Executor to ExecutorInfo is deterministic, byte for byte, because
// Mesos rejects a task whose ExecutorInfo differs from that of the running executor with the same id (rule X4). The
// registry stores executors.
type Executor struct {
	// Version is the version of the mapping to ExecutorInfo; new executors have version 3. Version 1 ignores the
	// fields after BinaryURI, and version 2 ignores Reserved.
	Version   int              `json:"v"`
	ID        string           `json:"id"`
	Framework string           `json:"framework"`
	Name      string           `json:"name"`
	Resources resources.Amount `json:"resources"`
	// Command is run by the agent without a shell, in the sandbox. Command[0] is the program.
	Command []string `json:"command"`
	// BinaryURI is fetched into the sandbox; the agent caches the file and makes it executable.
	BinaryURI string `json:"binaryURI"`
	// User is the user that the executor runs as. If it is empty, the framework's user applies, which Mesos never
	// changes.
	User string `json:"user,omitempty"`
	// Environment is added to the variables that the agent sets. It must hold no secrets, because everyone with read
	// access to the cluster can see it.
	Environment map[string]string `json:"environment,omitempty"`
	// ShutdownGrace is the time between SHUTDOWN and the agent's kill; 0 means the agent's own default.
	ShutdownGrace time.Duration `json:"shutdownGrace,omitempty"`
	// Reserved is the part of Resources that was taken from reservations when the executor started; the rest is
	// unreserved. The executor holds exactly these resources until it ends, so Reserved must never change.
	Reserved []Reserved `json:"reserved,omitempty"`
}
