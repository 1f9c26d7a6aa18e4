package tasks

import (
	"log/slog"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/container"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
)

// Options are what an executor gives its tasks to work with.
type Options struct {
	// App, if not empty, is the app that the executor is for: tasks of any other fail.
	App string
	// AgentSandbox is the sandbox as the agent names it, empty without an agent that people could look at it with.
	AgentSandbox string
	// Processes bounds each task's processes and threads; 0 does not.
	Processes int
	// Container is the pod's that this runs in, nil elsewhere.
	Container *container.Container
	// As is who tasks run as, nil for the executor's own user. Refuses is why no process of a task can be started, or
	// nil.
	As      *isolation.Account
	Refuses error
	// Base is the environment that each process gets before its own.
	Base       launch.Environment
	References launch.References

	Supervisor *supervisor.Client
	// LeftBehind waits until the supervisor has ended and what it left behind was killed, and gives the processes that
	// could not be.
	LeftBehind func() []int

	Store  *pack.Store
	Ledger *agent.Ledger
	// Outputs is where tasks write to; Temporaries and Works have their TMPDIR and their working folders.
	Outputs            output.Sink
	Temporaries, Works *workdir.Folders
	Log                *slog.Logger
}

// starters is how many processes are being prepared and started at once.
const starters = 4

// host is what all tasks of an executor share.
type host struct {
	Options
	starting chan struct{} // holds one for each process that is being started
	turns    *turns
	clock    *clockWatch
	alarm    *alarm
	reports  *reports
}

func newHost(o Options) *host {
	return &host{
		Options: o, starting: make(chan struct{}, starters), turns: newTurns(), clock: newClockWatch(o.Log),
		alarm: newAlarm(), reports: newReports(),
	}
}
