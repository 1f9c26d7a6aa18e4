package tasks

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// process is a process of a task, with its pipe and its own folders.
type process struct {
	*supervisor.Process
	pipe     *pipe.Pipe
	memoryMB float64       // its job's
	explain  func() string // says what is wrong with its command, once it has failed
	// timedOut is set when its run has exceeded the timeout and until it answers.
	timedOut bool
	ignored  ignored              // the messages on its pipe that were ignored
	hello    helloWatch           // notices that a hello is missing
	ended    func()               // ends the capture of its output
	releases []func(workdir.Keep) // one for each of its folders
}

// end kills the process, with SIGKILL after the grace, and ends its pipe.
func (p *process) end(grace time.Duration) error {
	err := p.Kill(grace)
	p.pipe.End()
	return err
}

// wait returns when the process has ended and every message that it wrote to its pipe was handled. It returns false
// if the supervisor was lost first.
func (p *process) wait() (ending, bool) {
	exit, ok := p.Exit()
	p.hello.stop()
	p.pipe.Ended()
	p.ended()
	end := ending{Exit: exit, memoryMB: p.memoryMB}
	if ok && exit.Status != 0 && !exit.Killed {
		end.problem = p.explain()
	}
	return end, ok
}

// release gives the folders back, or keeps the working folder; no process may be left in them.
func (p *process) release(k workdir.Keep) {
	for _, release := range p.releases {
		release(k)
	}
}

// keepOf returns how the working folder of an ended process of the task is kept, under a name. The number that the job
// asks for is kept for the job, and that of the executor for all other jobs together.
func (t *task) keepOf(spec wire.Task, name string, failed bool) workdir.Keep {
	switch {
	case !failed && !t.host.KeepSucceeded:
		return workdir.Keep{}
	case spec.KeepFailed > 0:
		return workdir.Keep{Name: name, Group: "job " + spec.JobName, Number: spec.KeepFailed}
	}
	return workdir.Keep{Name: name, Number: t.host.KeepFailed}
}

// keptText says where a working folder is kept; empty if it is not, or if nobody can look there.
func (t *task) keptText(k workdir.Keep) string {
	if k.Number == 0 || k.Name == "" || t.host.AgentSandbox == "" {
		return ""
	}
	return "; its working directory is kept on the agent: " + path.Join(t.host.AgentSandbox, t.host.Kept, k.Name)
}

// failedBy reports whether the process failed by itself, not by a kill.
func failedBy(exit ending, ok bool) bool {
	return !ok || !exit.Killed && (exit.Status != 0 || exit.Signal != 0)
}

// exitOf returns an exit in the form that updates use: a status or the name of a signal.
func exitOf(exit ending) (status *int, signal string) {
	if exit.Signal != 0 {
		return nil, syscall.Signal(exit.Signal).String()
	}
	return &exit.Status, ""
}

// ending is the end of a process of a job with this memoryMB; 0 if it is not known. problem is what is wrong with the
// command of a process that failed.
type ending struct {
	supervisor.Exit
	memoryMB float64
	problem  string
}

// text says how the process ended, and what is notable about it.
func (exit ending) text() string {
	const where = ": the machine, or the control group that limits this executor, was out of memory"
	text := "exit status " + strconv.Itoa(exit.Status) + exit.strangeSignal()
	if exit.Signal != 0 {
		text = fmt.Sprintf("ended by signal %d (%s)", exit.Signal, syscall.Signal(exit.Signal))
	}
	switch {
	case exit.OutOfMemory && exit.Signal == int(syscall.SIGKILL):
		text += " by the kernel's OOM killer" + where
	case exit.OutOfMemory: // perhaps of a child
		text += "; meanwhile the kernel's OOM killer ended a process of this executor" + where
	case exit.Signal == int(syscall.SIGKILL) && !exit.Killed:
		text += ", which this executor didn't send: possibly out of memory, at the limit of the container that all tasks of the app share on this agent"
	}
	for _, note := range []string{exit.problem, exit.note()} {
		if note != "" {
			text += "; " + note
		}
	}
	return text
}

// note says what is notable about an end, also of a process that succeeded; empty if nothing is.
func (exit ending) note() string {
	notes := []string{exit.leftText(), memoryText(exit.MaxMemory, exit.memoryMB)}
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// leftText says which processes a process left running, which were ended; empty if none.
func (exit ending) leftText() string {
	if exit.Left == 0 {
		return ""
	}
	names := strings.Join(exit.LeftNames, ", ")
	if exit.Left > len(exit.LeftNames) {
		names += ", …"
	}
	names = output.Readable(names, output.MessageLength) // any process can name itself anything
	if exit.Left == 1 {
		return "1 process that it left running was ended: " + names
	}
	return fmt.Sprintf("%d processes that it left running were ended: %s", exit.Left, names)
}
