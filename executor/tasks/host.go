package tasks

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/container"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/lease"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
)

// Options are the parts of an executor that its tasks use.
type Options struct {
	// App is the name of the app whose tasks the executor runs; tasks of any other app fail. Empty means any app.
	App string
	// AgentSandbox is the path of the sandbox in the agent's view. It is empty if no agent serves the sandbox to
	// users.
	AgentSandbox string
	// Processes is how many processes and threads each task may have; 0 means no limit.
	Processes int
	// Container is the pod's container that this executor runs in; nil outside of a pod.
	Container *container.Container
	// As is the account that tasks run as; nil means the executor's own user. Refusal says why no process of a task
	// may be started; nil if processes may be started.
	As      *isolation.Account
	Refusal error
	// Base is the environment that every process gets; the task's own variables override it.
	Base launch.Environment
	// References finds the values that a task's description only refers to.
	References launch.References

	Supervisor *supervisor.Client
	// Leases holds the leases of exclusive tasks.
	Leases *lease.Holder
	// LeftBehind waits until the supervisor has ended, and until the processes that it left behind are killed or
	// can't be killed. It returns the ids of those that can't be killed.
	LeftBehind func() []int

	Store  *pack.Store
	Ledger *agent.Ledger
	// Outputs stores the tasks' output. Temporaries has the tasks' TMPDIR folders, Works their working folders.
	Outputs            output.Sink
	Temporaries, Works *workdir.Folders
	// KeepFailed is how many working folders of failed and timed-out tasks are kept in the folder Kept of the
	// sandbox. Jobs with a limit of their own are not counted. With KeepSucceeded, the folders of tasks that succeeded
	// are kept, too, and count.
	KeepFailed    int
	Kept          string
	KeepSucceeded bool
	Log           *slog.Logger
}

// starters is how many processes are prepared and started concurrently.
const starters = 4

// host is the state that all tasks of an executor share.
type host struct {
	Options
	starting     chan struct{} // holds a value for each process that is being started
	slots        *slots
	clock        *clockWatch
	preciseTimer *preciseTimer
	reports      *reports
}

func newHost(o Options) *host {
	return &host{
		Options: o, starting: make(chan struct{}, starters), slots: newSlots(), clock: newClockWatch(o.Log),
		preciseTimer: newPreciseTimer(), reports: newReports(),
	}
}
