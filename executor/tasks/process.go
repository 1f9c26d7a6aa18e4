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

// process is a process of a task, with its pipe and its folders.
type process struct {
	*supervisor.Process
	pipe     *pipe.Pipe
	memoryMB float64 // the job's setting
	// explain returns what is wrong with the command. Call it only after the process has failed.
	explain  func() string
	unkilled bool // wait has returned, but the process can't be killed
	// timedOut is true from the timeout of its run until the process answers.
	timedOut    bool
	ignored     ignoredMessages      // the messages on its pipe that were ignored or missed
	hello       helloWatch           // notices that a hello is missing
	stopCapture func()               // ends the capture of its output
	releases    []func(workdir.Keep) // release its folders
}

// terminate sends the process SIGTERM, and SIGKILL after the grace. It also closes the process's input.
func (p *process) terminate(grace time.Duration) error {
	err := p.Kill(grace)
	p.pipe.CloseInput()
	return err
}

// wait returns when the process has ended and every message that it wrote to its pipe was handled. ok is false if the
// supervisor was lost first; then nothing is known about the end of the process. After Exit.Unkilled the process runs
// on.
func (p *process) wait() (_ processExit, ok bool) {
	exit, ok := p.WaitExit()
	p.unkilled = exit.Unkilled
	p.hello.stop()
	p.pipe.Drain()
	p.stopCapture()
	end := processExit{Exit: exit, memoryMB: p.memoryMB}
	if ok && exit.Status != 0 && !exit.Killed {
		end.problem = p.explain()
	}
	return end, ok
}

// release releases the process's folders, so that other processes can get them; k says whether its working folder is
// kept instead. The folders of a process that can't be killed are not released.
func (p *process) release(k workdir.Keep) {
	if p.unkilled {
		return
	}
	for _, release := range p.releases {
		release(k)
	}
}

// keepOf says whether the working folder of a process that has ended is kept: under which name, and among how many
// folders. A job with KeepFailed has its own limit; all other jobs share the executor's limit. If the folder is not
// kept, keepOf returns the zero value.
func (t *task) keepOf(spec wire.Task, name string, failed bool) workdir.Keep {
	switch {
	case !failed && !t.host.KeepSucceeded:
		return workdir.Keep{}
	case spec.KeepFailed > 0:
		return workdir.Keep{Name: name, Group: "job " + spec.JobName, Number: spec.KeepFailed}
	}
	return workdir.Keep{Name: name, Number: t.host.KeepFailed}
}

// keptText says where a working folder is kept. It returns "" if the folder is not kept, or if users can't reach it.
func (t *task) keptText(k workdir.Keep) string {
	if k.Number == 0 || k.Name == "" || t.host.AgentSandbox == "" {
		return ""
	}
	return "; its working directory is kept on the agent: " + path.Join(t.host.AgentSandbox, t.host.Kept, k.Name)
}

// isFailure reports whether the process failed. It also reports true if ok is false, because the supervisor was lost
// and the end is unknown. A kill is no failure.
func isFailure(exit processExit, ok bool) bool {
	return !ok || !exit.Killed && (exit.Status != 0 || exit.Signal != 0)
}

// exitOf returns an exit in the form that updates use: an exit status, or the name of the signal, such as "killed". It
// returns neither for a process that can't be killed.
func exitOf(exit processExit) (status *int, signal string) {
	if exit.Unkilled {
		return nil, ""
	}
	if exit.Signal != 0 {
		return nil, syscall.Signal(exit.Signal).String()
	}
	return &exit.Status, ""
}

// processExit describes how a process ended. memoryMB is its job's setting; 0 means none. problem says what is wrong
// with the command, if the process seems to have failed for that reason; else it is "".
type processExit struct {
	supervisor.Exit
	memoryMB float64
	problem  string
}

// text says how the process ended, and what is notable about it.
func (exit processExit) text() string {
	if exit.Unkilled {
		return "its processes can't be killed and are left on the agent, for instance because they wait for a dead disk"
	}
	const where = ": the machine, or the control group that limits this executor, was out of memory"
	text := "exit status " + strconv.Itoa(exit.Status) + exit.signalFromElsewhere()
	if exit.Signal != 0 {
		text = fmt.Sprintf("ended by signal %d (%s)", exit.Signal, syscall.Signal(exit.Signal))
	}
	switch {
	case exit.OutOfMemory && exit.Signal == int(syscall.SIGKILL):
		text += " by the kernel's OOM killer" + where
	case exit.OutOfMemory: // the ended process may have been a child of this one
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

// note says what is notable about an end, even if the process succeeded. It returns "" if nothing is notable.
func (exit processExit) note() string {
	notes := []string{exit.leftText(), memoryText(exit.MaxMemory, exit.memoryMB)}
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// leftText names the processes that the process left running and that were killed; "" if there were none.
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
