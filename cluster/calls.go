package cluster

import (
	"encoding/json"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Reserved is the part of some resources that belongs to one reservation of our role on an agent. A cluster takes a
// task only if its resources name exactly the reservations of the offer that they are taken from.
type Reserved struct {
	// Key distinguishes reservations, those with other labels or another maker too. A driver makes and reads it; to
	// everybody else it is opaque. It is kept in the registry.
	Key       string           `json:"key"`
	Resources resources.Amount `json:"resources"`
}

// TaskRef names a task to ask about; AgentID may be empty when unknown.
type TaskRef struct{ TaskID, AgentID string }

// Kill asks for the end of a task.
type Kill struct {
	TaskID, AgentID string
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// Reason is why, for people; it may be empty.
	Reason string
}

// Ack acknowledges one status update.
type Ack struct {
	TaskID, AgentID string
	UUID            []byte
}

// Launch uses offers of one agent to launch tasks there.
type Launch struct {
	AgentID  string
	OfferIDs []string
	Tasks    []TaskLaunch
	// Refuse is the filter for what is left over.
	Refuse time.Duration
}

// TaskLaunch is one task to launch.
type TaskLaunch struct {
	TaskID, Name string
	Resources    resources.Amount
	// Reserved is what of Resources is taken from reservations; the rest is unreserved.
	Reserved []Reserved
	// Executor runs it. It is zero on a cluster where each task has an executor of its own, which takes nothing beside
	// Resources (core.Options.TaskExecutors).
	Executor Executor
	// Container is what the task's own container is made of, on a cluster that makes one for each task.
	Container Container
	// Task is all that its executor needs. Nothing in it changes: tasks of one execution have maps of it in common.
	Task wire.Task
	// Shared, unless it is empty, is the encoded part of Task that all tasks of its execution have in common.
	Shared wire.Shared
	// Size bounds how many bytes of a call the task takes.
	Size int
}

// Description is Task as executors read it.
func (t *TaskLaunch) Description() ([]byte, error) { return t.Task.EncodeWith(t.Shared) }

// Size bounds how many bytes of a call all tasks take.
func (l *Launch) Size() (n int) {
	for i := range l.Tasks {
		n += l.Tasks[i].Size
	}
	return n
}

// Container is what an app says of the containers that its tasks run in. Clusters that make none for each task ignore
// it.
type Container struct {
	// Image is run; the cluster's own when empty. PullPolicy and PullSecrets are the cluster's words for how it is
	// fetched.
	Image, PullPolicy string
	PullSecrets       []string
	// Template is what else the container is to have, as JSON in the cluster's own words; nil for nothing.
	Template json.RawMessage
}

// IsZero reports whether the app says nothing.
func (c Container) IsZero() bool {
	return c.Image == "" && c.PullPolicy == "" && len(c.PullSecrets) == 0 && len(c.Template) == 0
}

// Executor describes an executor. The same Executor always becomes the
// same ExecutorInfo, byte for byte, since Mesos rejects tasks whose ExecutorInfo
// differs from that of the running executor of that id (rule X4). It is kept in the registry.
type Executor struct {
	// Version is the version of the mapping to ExecutorInfo: 3 for new ones. Of version 1 the fields behind BinaryURI
	// are ignored, in version 2 Reserved is.
	Version   int              `json:"v"`
	ID        string           `json:"id"`
	Framework string           `json:"framework"`
	Name      string           `json:"name"`
	Resources resources.Amount `json:"resources"`
	// Command is run by the agent, without a shell: Command[0] is the program, in the sandbox.
	Command []string `json:"command"`
	// BinaryURI is fetched into the sandbox, executable and cached.
	BinaryURI string `json:"binaryURI"`
	// User is who the executor runs as; the framework's user when empty, which Mesos never changes.
	User string `json:"user,omitempty"`
	// Environment is set beside what the agent sets. It can be read by everybody who may look at the cluster: no
	// secrets.
	Environment map[string]string `json:"environment,omitempty"`
	// ShutdownGrace is how long the agent waits after SHUTDOWN until it kills; the agent's own default when 0.
	ShutdownGrace time.Duration `json:"shutdownGrace,omitempty"`
	// Reserved is what of Resources was taken from reservations at its start; the rest is unreserved. The executor
	// holds just that until it ends, so it is a part of what may never change.
	Reserved []Reserved `json:"reserved,omitempty"`
}
