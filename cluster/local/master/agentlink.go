package master

import (
	"github.com/mesos/mesos-go/api/v1/lib"
)

// AgentLink is what the master needs of an agent, in this process or, through package link, in another. The master
// calls the methods of one agent one after another, in the order of the
// framework's calls, from a goroutine that holds none of the master's locks:
// they may write to disk and may call Upstream, but must not wait for executors.
type AgentLink interface {
	// Info is the agent's id, hostname, port and resources. It never changes.
	Info() mesos.AgentInfo
	// RunTasks launches tasks, in order. They are valid: ids are new, resources
	// are free. Each has either a command or an executor, its resources and its
	// executor's carry allocation_info, and its executor has framework_id and type.
	// A task that cannot be launched is answered with an update.
	RunTasks(framework mesos.FrameworkInfo, tasks []mesos.TaskInfo)
	// KillTask kills a task; policy may be nil. A task that the agent does not
	// know is answered with an update TASK_GONE or ignored.
	KillTask(frameworkID, taskID string, policy *mesos.KillPolicy)
	// ShutdownExecutor ends an executor and all its tasks.
	ShutdownExecutor(frameworkID, executorID string)
	// ShutdownFramework ends all executors of a framework that is no more; its
	// unacknowledged updates are forgotten.
	ShutdownFramework(frameworkID string)
	// Message passes the framework's data to an executor, or drops it.
	Message(frameworkID, executorID string, data []byte)
	// Acknowledge tells that the framework has taken the update with that uuid.
	Acknowledge(frameworkID, taskID string, uuid []byte)
	// Ping is answered with pong by an agent that is well, at once and from any
	// goroutine. With connected false the master tells that it had given the agent up: the
	// agent registers again, with all that it has.
	Ping(connected bool, pong func())
	// Subscribed tells that the framework has subscribed anew, with what it now
	// says of itself: the agent sends each task's oldest unacknowledged update again, at once.
	Subscribed(framework mesos.FrameworkInfo)
}

// Upstream is what an agent tells its master; *Master implements it. The calls
// of one agent come in its order, one at a time. They never block for long, and
// the master does not call the agent back from inside of them.
type Upstream interface {
	// Register makes the agent known, at its first start and at every later one,
	// with all that it still has, when the agent's recovery is through: each
	// executor has subscribed again or was given up. Until then the master is silent
	// about its tasks (rule O3). It is the first call of an agent, and comes again
	// when a ping told that the master had given it up. What is told of an agent that is not
	// registered is ignored; it will tell it again.
	Register(agent AgentLink, still Recovered) error
	// Update passes a task's status update on. The same one may come again until
	// it is acknowledged; updates of one task come in order, the next one after the
	// acknowledgement of the one before.
	Update(agentID string, update StatusUpdate)
	// ExecutorEnded tells that an executor is gone, or could not be started, with its wait
	// status (exit 5 is 1280). Until then its resources are in use, and offers
	// name it. It comes before the last updates of its tasks. One that was made
	// for a command task may be told too; the master ignores it, as Mesos does.
	ExecutorEnded(agentID, frameworkID, executorID string, waitStatus int)
	// Message passes an executor's data to its framework.
	Message(agentID, frameworkID, executorID string, data []byte)
}

// Recovered is what an agent still has when it registers.
type Recovered struct {
	// Frameworks of all tasks and executors below.
	Frameworks []mesos.FrameworkInfo
	// Executors that run, without those made for command tasks.
	Executors []mesos.ExecutorInfo
	// Tasks that live, and those that ended with updates still unacknowledged.
	Tasks []TaskState
}

// TaskState is a task that an agent has.
type TaskState struct {
	FrameworkID string
	// Task is as RunTasks had it.
	Task mesos.TaskInfo
	// Latest is the newest state that the agent knows, told or not.
	Latest mesos.TaskState
	// Status is the last update that was sent to the master; nil when there was none.
	Status *mesos.TaskStatus
}

// StatusUpdate is a task's update on its way to its framework.
type StatusUpdate struct {
	FrameworkID string
	// Status is complete: with uuid, agent id, executor id, source, timestamp and, while
	// the executor runs, container_status.
	Status mesos.TaskStatus
	// Latest is the newest state that the agent knows of the task: what it uses is free when this is
	// terminal, though older updates may still have to be told.
	Latest mesos.TaskState
}
