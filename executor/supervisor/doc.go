// Package supervisor starts the processes of tasks and ensures that none of them outlives the executor (rule X7).
//
// A supervisor is a small process, one per executor. [Serve] runs in it; [Client] talks to it over a socket that
// only these two processes hold.
//
//	executor ── Start, Kill ───▶ supervisor ── fork, exec ──▶ task (own process group)
//	         ◀─ started, ended ──            ◀── wait ───────
//
// The supervisor is the parent of every task and a subreaper: a process that a task leaves behind becomes the
// supervisor's child, so the supervisor can find and kill it even if it left the process group or the session. The
// supervisor recognizes the processes of a task by their process group, by a marker in the environment
// ([Spec.Marker]), and by a resource limit that processes inherit. It kills a process that has dropped all three
// when no other task runs any more. When the socket closes, however the executor ended, the supervisor kills all of
// its descendants and ends.
//
// Tasks that run as the supervisor's user can signal it. If a task stops it, the executor continues it. If a task
// kills it, all tasks end with it at once: the executor inherits the processes that are left, kills them
// ([Client.KillChildren]) and ends with [ErrLost].
//
// If the executor may create a cgroup of version 2, the supervisor and all of its descendants are in one of their
// own, and one write to it kills them all.
//
// A process gets the descriptors of its start ([Client.Start]) as its descriptors from 1 on: its output, and more.
// The executor sends them over a second socket, which keeps the descriptors of one start together, before the
// request that they belong to.
//
// Tasks stay in the executor's session, so that the agent finds them.
//
// If an executor has a container of its own, it is the container's first process. No task can kill that process,
// and everything ends with it. Such an executor is its own supervisor ([Inside]), which saves the memory and the
// start of a second process.
package supervisor

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// ErrLost means that the supervisor itself has ended, and its tasks with it.
var ErrLost = errors.New("the supervisor process has ended")

// Spec describes a process to start.
type Spec struct {
	// Path is the absolute path of the program; Args begins with the program's name, as for execve.
	Path string
	Args []string
	// Env is the complete environment; nothing is added.
	Env []string
	// Marker is the variable in Env (NAME=value) by which the task's processes are recognized; empty means none.
	Marker string
	// Dir is the working folder.
	Dir string
	// Processes limits the task's processes and threads; 0 means no limit. The kernel compares the limit with all
	// threads of the user; those that the user has at the start, and the threads of the executor and of the
	// supervisor, are added to it. Root's processes are not limited.
	Processes int
	// As is the user that the process runs as; nil means the supervisor's. Any other user requires a supervisor
	// that runs as root.
	As *isolation.Account
}

// Exit is the end of a task's main process.
type Exit struct {
	// Status is the exit status; -1 after a signal.
	Status int
	// Signal is the signal that ended the process; 0 if it exited.
	Signal int
	// Killed means that Kill was called before the process ended.
	Killed bool
	// At is the time of the end.
	At time.Time
	// Left is the number of processes that ran on when the main process ended by itself, and were then ended, and
	// LeftNames are the names of the first of them, without arguments.
	Left      int
	LeftNames []string
	// OutOfMemory means that the kernel ended a process of the supervisor's control group while this one ran, because
	// memory was out. It is only set for a process that failed.
	OutOfMemory bool
	// MaxMemory is how many bytes of memory the process, or the largest of those that it has waited for, used at most.
	MaxMemory int64
}

// request and event are the messages on the socket, encoded as gob.
type request struct {
	ID    uint64
	Start *Spec
	Files int           // number of descriptors for it in the second socket
	Grace time.Duration // of a kill; Start is nil then
}

type event struct {
	ID    uint64
	PID   int    // the process has started
	Op    string // the step of the start that failed
	Errno int
	Exit  *Exit // the process has ended, and nothing of it is left
	At    time.Time
}
