package executor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/tasks"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Pod describes a pod's container that runs one task, or prepares it for another container. There is no agent and
// no connection to the scheduler. While the task runs, its state is in the container's output (wire.PodRecord);
// after its end, it is in the exit status and the termination message.
type Pod struct {
	// Task is the task to run.
	Task wire.Task
	// Folder is a folder that the pod's containers share. It has all files but the job's own.
	Folder string
	// Begun is the path of the marker file, which exists once the task has begun. It outlives the container, but not
	// the pod.
	Begun string
	// Message is the file of the termination message.
	Message string
	// Supervisor is the command line of the supervisor process of an exclusive task. Any other task is supervised by
	// this process itself.
	Supervisor []string
	// Package limits packages, and Secrets are the folders in which jobs may name files, as in Config.
	Package pack.Limits
	Secrets []string
	// Drain is the path of a file; empty means none. Once the file has content, a daemon's shard fires no more and
	// ends after its current run. A client of Kubernetes can't request that by a signal, because it can't choose the
	// signal. But it can set an annotation of the pod, which is mounted as this file.
	Drain string
}

// ErrNoPod is returned by [PodFromEnvironment] if the environment has no task.
var ErrNoPod = errors.New("not started in a pod")

// messageLimit is how many bytes of a termination message the kubelet reads.
const messageLimit = 4096

// PodFromEnvironment reads the configuration of a pod's executor from its environment and arguments. It returns a Pod
// that can WriteMessage even with an error.
func PodFromEnvironment(getenv func(string) string, args []string) (Pod, error) {
	p := Pod{
		Folder:  cmp.Or(getenv("ELASTICJOB_POD_DIR"), "/elasticjob"),
		Message: cmp.Or(getenv("ELASTICJOB_TERMINATION_LOG"), "/dev/termination-log"),
		Secrets: []string{"/"}, // a job can read every file of its container anyway
		Drain:   getenv("ELASTICJOB_DRAIN_FILE"),
	}
	p.Begun = cmp.Or(getenv("ELASTICJOB_BEGUN_FILE"), filepath.Join(p.Folder, "begun"))
	if folders := getenv(launch.SecretsVariable); folders != "" {
		p.Secrets = launch.SecretFolders(folders)
	}
	text, file := getenv("ELASTICJOB_TASK"), getenv("ELASTICJOB_TASK_FILE")
	if text == "" && file == "" {
		return p, ErrNoPod
	}
	limits := Config{Package: pack.Defaults()}
	problems := append(limits.readEnvironment(getenv), limits.Arguments(args))
	p.Package = limits.Package
	data := []byte(text)
	if file != "" {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return p, errors.Join(append(problems, fmt.Errorf("read the task's description: %w", err))...)
		}
	}
	var err error
	p.Task, err = wire.DecodeTask(data)
	return p, errors.Join(append(problems, err)...)
}

// NotStarted returns the outcome of a task that was not started, at least not in this container.
func NotStarted(err error) Ending {
	message, status := tasks.StartFailure(wire.Status{}, err)
	return Ending{Message: message, Status: status}
}

// ClearMessage writes an empty line as the termination message. Without a message, the kubelet takes the end of the
// container's output instead. That must not happen after the job has started, because its output may contain secrets,
// which WriteMessage hides.
func (p Pod) ClearMessage() error { return os.WriteFile(p.Message, []byte("\n"), 0o644) }

// WriteMessage writes the outcome into the termination message.
func (p Pod) WriteMessage(e Ending) error {
	status := e.Status
	if !e.Finished {
		status.Cause = cmp.Or(status.Cause, e.Message)
		if status.StartTime.IsZero() {
			status.Phase = cmp.Or(status.Phase, wire.PhaseStart)
		}
	}
	data, err := status.EncodeWithin(messageLimit)
	if err == nil {
		err = os.WriteFile(p.Message, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the termination message: %w", err)
	}
	return nil
}
