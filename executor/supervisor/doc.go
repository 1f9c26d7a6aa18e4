// Package supervisor starts the processes of tasks and sees to it that none of them
// outlives the executor (rule X7).
//
// A supervisor is a small process of its own, one per executor: [Serve] runs in it,
// [Client] talks to it over a socket that only the two of them hold.
//
//	executor ── Start, Kill ───▶ supervisor ── fork, exec ──▶ task (own process group)
//	         ◀─ started, ended ──            ◀── wait ───────
//
// The supervisor is the parent of every task and a subreaper: whatever a task leaves
// behind becomes the supervisor's child, so it can be found and killed, even if it
// left the process group or the session. What belongs to which task is known by
// the process group, by a marker in the environment ([Spec.Marker]), and by a resource
// limit that goes on from process to process; a process that has shed all three is
// killed when no task runs any more. When the socket
// closes, however the executor ended, the supervisor kills all of its
// descendants and ends.
//
// Tasks that run as the supervisor's user can signal it. One that stops
// it finds it continued. One that kills it ends all tasks with it, at once: the
// executor, which inherits what they left behind, kills that ([Client.KillChildren]) and ends with [ErrLost].
//
// Where the executor may make a cgroup of version 2, the supervisor and all of its descendants are in one of their
// own, and one write to it kills them all.
//
// A process gets the descriptors of its start ([Client.Start]), from 1 on: its output, and more. They go to the
// supervisor over a second socket, which keeps descriptors of one start together, before the request that they belong
// to.
//
// Tasks stay in the executor's session, where the agent finds them.
//
// In a container of its own an executor is the first process, which no task can kill, and with which everything ends:
// it is its own supervisor then ([Inside]), and saves the memory and the start of a second process.
package supervisor

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// ErrLost is returned when the supervisor itself has ended; so have its tasks.
var ErrLost = errors.New("the supervisor process has ended")

// Spec says what to start.
type Spec struct {
	// Path is the program, absolute; Args begins with its own name, as for execve.
	Path string
	Args []string
	// Env is the whole environment; nothing is added.
	Env []string
	// Marker is the variable in Env (NAME=value) by which the task's processes are known; empty without one.
	Marker string
	// Dir is the working directory.
	Dir string
	// Processes bounds the task's processes and threads, by a limit that the kernel compares with all those of its
	// user; 0 does not. Those that the user has at the start, and the threads of the executor and of the
	// supervisor, don't count. Root's are not bounded.
	Processes int
	// As is the user that the process runs as; nil for that of the supervisor, which must be root for any other.
	As *isolation.Account
}

// Exit is how a task's main process ended.
type Exit struct {
	// Status is the exit status, or -1 after a signal.
	Status int
	// Signal is the signal that ended it, or 0.
	Signal int
	// Killed says that Kill was called before it ended.
	Killed bool
	// At is when it ended.
	At time.Time
}

// request and event are what goes over the socket, as gob.
type request struct {
	ID    uint64
	Start *Spec
	Files int           // how many descriptors for it wait in the second socket
	Grace time.Duration // of a kill
}

type event struct {
	ID    uint64
	PID   int    // started
	Op    string // what failed at the start
	Errno int
	Exit  *Exit // it has ended, and nothing of it is left
	At    time.Time
}
