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
	memoryMB float64 // its job's
	// explain returns what is wrong with the command. Call it only after the process has failed.
	explain func() string
	// timedOut is true from the timeout of its run until the process answers.
	timedOut    bool
	ignored     ignored              // the messages on its pipe that were ignored
	hello       helloWatch           // notices that a hello is missing
	stopCapture func()               // ends the capture of its output
	releases    []func(workdir.Keep) // one for each of its folders
}

// terminate kills the process, with SIGKILL after the grace, and closes its input.
func (p *process) terminate(grace time.Duration) error {
	err := p.Kill(grace)
	p.pipe.CloseInput()
	return err
}

// wait returns when the process has ended and every message that it wrote to its pipe was handled. It returns false
// if the supervisor was lost first.
func (p *process) wait() (processExit, bool) {
	exit, ok := p.WaitExit()
	p.hello.stop()
	p.pipe.Drain()
	p.stopCapture()
	end := processExit{Exit: exit, memoryMB: p.memoryMB}
	if ok && exit.Status != 0 && !exit.Killed {
		end.problem = p.explain()
	}
	return end, ok
}

// release gives the process's folders back for other processes; k says whether its working folder is kept instead.
// All processes in them must have ended.
func (p *process) release(k workdir.Keep) {
	for _, release := range p.releases {
		release(k)
	}
}

// keepOf returns how many working folders are kept, and the name of this one, whose process has ended. A job with
// KeepFailed has its own limit; all other jobs share the executor's limit. The zero value keeps nothing.
func (t *task) keepOf(spec wire.Task, name string, failed bool) workdir.Keep {
	switch {
	case !failed && !t.host.KeepSucceeded:
		return workdir.Keep{}
	case spec.KeepFailed > 0:
		return workdir.Keep{Name: name, Group: "job " + spec.JobName, Number: spec.KeepFailed}
	}
	return workdir.Keep{Name: name, Number: t.host.KeepFailed}
}

// keptText says where a working folder is kept; empty if it is not, or if the folder cannot be reached
// from outside.
func (t *task) keptText(k workdir.Keep) string {
	if k.Number == 0 || k.Name == "" || t.host.AgentSandbox == "" {
		return ""
	}
	return "; its working directory is kept on the agent: " + path.Join(t.host.AgentSandbox, t.host.Kept, k.Name)
}

// isFailure reports whether the process failed, or its end is unknown because the supervisor was lost. A kill is no
// failure.
func isFailure(exit processExit, ok bool) bool {
	return !ok || !exit.Killed && (exit.Status != 0 || exit.Signal != 0)
}

// exitOf returns an exit in the form that updates use: a status, or the description of a signal ("killed").
func exitOf(exit processExit) (status *int, signal string) {
	if exit.Signal != 0 {
		return nil, syscall.Signal(exit.Signal).String()
	}
	return &exit.Status, ""
}

// processExit describes how a process ended. memoryMB is its job's setting, 0 if unknown. problem says what is wrong
// with its command.
type processExit struct {
	supervisor.Exit
	memoryMB float64
	problem  string
}

// text says how the process ended, and what is notable about it.
func (exit processExit) text() string {
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
		text += ", which this executor did not send: the container that all tasks of the app share on this agent may have run out of memory"
	}
	for _, note := range []string{exit.problem, exit.note()} {
		if note != "" {
			text += "; " + note
		}
	}
	return text
}

// note says what is notable about an end, also of a process that succeeded; empty if nothing is.
func (exit processExit) note() string {
	notes := []string{exit.leftText(), memoryText(exit.MaxMemory, exit.memoryMB)}
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// leftText says which processes a process left running, which were killed; empty if none.
func (exit processExit) leftText() string {
	if exit.Left == 0 {
		return ""
	}
	names := strings.Join(exit.LeftNames, ", ")
	if exit.Left > len(exit.LeftNames) {
		names += ", …"
	}
	names = output.Readable(names, output.MessageLength) // any process can name itself anything
	if exit.Left == 1 {
		return "it left 1 process running, which was killed: " + names
	}
	return fmt.Sprintf("it left %d processes running, which were killed: %s", exit.Left, names)
}
