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
// ([Spec.Marker]), and by a resource limit that processes inherit. If a process has dropped all three, the supervisor
// kills it when only one task is left, because it must belong to that task. When the socket closes, for whatever
// reason the executor ended, the supervisor kills all of its descendants and ends.
//
// Tasks that run as the supervisor's user can signal the supervisor. If a task stops it, the executor continues it.
// If a task kills it, all main processes end at once; the executor inherits the remaining processes, kills them
// ([Client.KillChildren]) and ends with [ErrLost].
//
// If the supervisor may create a cgroup of version 2, it moves itself there; its descendants are then in this cgroup
// too, and one write to it kills them all. An exclusive task has a cgroup in it, by which its processes are recognized
// whatever they drop.
//
// A process gets the files of its start ([Client.Start]) as its descriptors from 1 on; the first two are its output.
// The executor sends these descriptors over a second socket, whose messages keep the descriptors of one start
// together. It sends them before the request of the start.
//
// Tasks stay in the executor's session, so that the agent finds them.
//
// # How a task ends
//
// The end of a task is reported when none of its processes is left, never when only its main process has ended: the
// next attempt of its shard may begin on that report.
//
//	the main process ends by itself
//	  reap    reaps it, and kills its process group in the same moment
//	  sweep   kills what has left the group, round by round, until nothing is left; Exit.Left counts what was found
//
//	Process.Kill with a grace of 10 s
//	   0 s    kill      SIGTERM to the main process and its group
//	   3 s    reap      the main process has ended; sweep leaves the others the rest of the grace
//	  10 s    the timer SIGKILL to the main process and its group, if it has not ended
//	          sweep     SIGKILL to all others
//
//	the lease of an exclusive task is over (rule K5)
//	          the executor requests a kill, and watchLeases makes the same kill by itself
//
// So it does not matter which of the two processes hangs. A kill can only shorten the grace of an earlier one, so the
// second kill changes nothing. If both come late, because the machine was suspended, the grace is shorter by what has
// passed since the end of the lease.
//
// The kernel can't end a process that waits for a dead disk. If an exclusive task has not ended a minute after SIGKILL,
// the executor gives it up ([Exit.Unkilled]), so that the scheduler learns why no further attempt may begin. In a pod
// it goes on waiting, because there the kubelet reports the end, once all processes of the container have ended.
//
// A signal must not hit a process that has got the pid of an ended one. A child keeps its pid until it is reaped, so
// signals and reaping exclude each other (server.mu). That holds for orphans, too: they are children of this process.
//
// If an executor has a container of its own, it is the container's first process. No task can kill that process,
// and everything ends with it. Such an executor is its own supervisor ([Inside]), which saves the memory and the
// start of a second process. Only an exclusive task has a supervisor there, too, because it must end with its lease
// even if the executor hangs.
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
	// Processes limits the task's processes and threads; 0 means no limit. The kernel compares a limit with all
	// threads of the user. The supervisor therefore adds the number of threads that the user has at the start, and
	// some more that the executor and the supervisor may start later. Root's processes are not limited.
	Processes int
	// Until is the end of the lease of an exclusive task, as a time of CLOCK_BOOTTIME; 0 for any other task. The
	// supervisor then kills the process, with LeaseGrace, unless the executor has renewed the lease (Process.Renew).
	Until      time.Duration
	LeaseGrace time.Duration
	// GiveUp makes the client give up the process if it can't be killed (Exit.Unkilled).
	GiveUp bool
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
	// LeaseOver means that the supervisor has killed the process because its lease was over.
	LeaseOver bool
	// Unkilled means that the process, which has Spec.GiveUp, or one of its descendants had not ended a minute after
	// SIGKILL, for instance because it waits for a dead disk. It may end later, which is not reported. Nothing else
	// is known of the end then.
	Unkilled bool
	// At is the time of the end.
	At time.Time
	// Left is how many processes still ran when the main process ended by itself; the supervisor then killed them.
	// LeftNames are the names of the first few, without arguments.
	Left      int
	LeftNames []string
	// OutOfMemory means that memory was short while this process ran, and that the kernel therefore ended a process of
	// the supervisor's control group. It is only set for a process that failed and that Kill was not called for.
	OutOfMemory bool
	// MaxMemory is the most memory, in bytes, that the process or one of the children that it waited for has used.
	MaxMemory int64
}

// request and event are the messages on the socket, encoded as gob.
type request struct {
	ID    uint64
	Start *Spec
	Files int           // how many descriptors for the process the second socket holds
	Grace time.Duration // the grace of a kill, if Start is nil and Until 0
	Until time.Duration // the new end of a lease, if Start is nil
}

type event struct {
	ID    uint64
	PID   int       // set when the process has started
	Op    string    // set when the start has failed: the step that failed
	Errno int       // belongs to Op
	Exit  *Exit     // set when the process and all of its descendants have ended
	At    time.Time // when the process started
	Left  bool      // set when the main process has ended by itself, and others are left that are being killed
}
