package executor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/container"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Pod is a container of a pod, in which one task is run, or prepared for another container. There is no agent, and no
// way to the scheduler: what there is to say stands in the container's output while the task runs (wire.PodRecord),
// and then in its exit status and termination message.
type Pod struct {
	// Task is what is run.
	Task wire.Task
	// Folder is shared by the pod's containers, and takes everything that is not the job's own.
	Folder string
	// Begun is a file that outlives the container, but not the pod: it is there when the task has begun.
	Begun string
	// Message is the file of the termination message.
	Message string
	// Package bounds packages. Secrets are the folders that jobs may name files in.
	Package pack.Limits
	Secrets []string
	// Drain is a file, "" for none: once it has content, a daemon's shard makes no more fires, and ends with the run
	// under way. A signal can't ask for that, since who sends it has no say in which one; an annotation of the pod can
	// be shown as a file.
	Drain string
}

// ErrNoPod is returned by [PodFromEnvironment] if no task is given.
var ErrNoPod = errors.New("not started in a pod")

// messageLimit is how much of a termination message the kubelet reads, in bytes.
const messageLimit = 4096

// PodFromEnvironment reads what a pod's executor is given in its environment and arguments. Beside an error that isn't
// ErrNoPod, it gives what Leave needs.
func PodFromEnvironment(getenv func(string) string, args []string) (Pod, error) {
	p := Pod{
		Folder:  cmp.Or(getenv("ELASTICJOB_POD_DIR"), "/elasticjob"),
		Message: cmp.Or(getenv("ELASTICJOB_TERMINATION_LOG"), "/dev/termination-log"),
		Secrets: []string{"/"}, // a job can read every file of its container anyhow
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
	bounds := Config{Package: pack.Defaults()}
	problems := append(bounds.limits(getenv), bounds.Arguments(args))
	p.Package = bounds.Package
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

// NotStarted is the end of a task that was kept from being started, here at least.
func NotStarted(err error) Ending {
	status := wire.Status{Phase: wire.PhaseStart, Cause: output.Readable(err.Error(), output.CauseLength),
		SupervisorLost: errors.Is(err, container.ErrBegun)}
	var failed *pack.Error
	if errors.As(err, &failed) {
		status.Phase, status.Unreachable, status.Unanswered = failed.Phase, failed.Unreachable, failed.Unanswered
	}
	return Ending{Message: output.Readable(err.Error(), output.MessageLength), Status: status}
}

// Begin puts an empty line in the place of the termination message. Without a message the kubelet takes the end of the
// container's output, which is right only as long as there is no job: what jobs write may have secrets in it, which
// are hidden in what Leave writes.
func (p Pod) Begin() error { return os.WriteFile(p.Message, []byte("\n"), 0o644) }

// Leave writes the termination message.
func (p Pod) Leave(e Ending) error {
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
		return fmt.Errorf("leave the termination message: %w", err)
	}
	return nil
}

var _ agent.API = (*podAgent)(nil)
