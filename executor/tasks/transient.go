package tasks

import (
	"fmt"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// transientRun is the id of the only run of a transient task.
const transientRun = "1"

// conversation is what the executor knows about the process of a transient task, mostly from its messages.
type conversation struct {
	hello, done bool
	failure     string // the error in its done message
	refused     string // why the executor could not use the process and ended it
	closed      bool   // the process closed its pipe without an answer
	ignored     string // the ignored messages on its pipe, as a text to append to a reason
	kept        string // where its working folder is kept, as a text to append to a reason
	timedOut    bool   // the process was killed because it exceeded the job's timeout
	// killTimer kills a process that runs on although it has answered or can't answer any more; nil before that.
	killTimer *time.Timer
}

// runProcess runs a task that is one process, and returns the function that reports its end.
func (t *task) runProcess(spec wire.Task) (report func(), err error) {
	var c conversation
	process, err := t.startProcess(spec, func(p *process, m pipe.Message) { t.handleMessage(spec, &c, p, m) },
		func(p *process) { t.pipeClosed(&c, p) })
	if err != nil {
		return nil, err
	}
	t.status.StartTime = process.Started.UTC()
	// For a process that ends within shortTask, only the end is reported, with its start time: each update is work for
	// the agent, the master and the scheduler, while other tasks wait to be started. The scheduler counts the task as
	// begun even if it is lost before this update (rule E1).
	select {
	case <-process.Done():
	case <-time.After(shortTask):
		t.report(agent.Running, "process "+strconv.Itoa(process.PID)+" runs", t.status)
	}
	stopWatching := func() {}
	if spec.Lease != nil && spec.TimeoutMillis == 0 {
		stopWatching = t.beginWatchingOutput(process.Started)
	}
	exit, ok := process.wait()
	stopWatching()
	t.endedWithLease(exit)
	t.status.Progress = t.host.reports.remove(t.id)
	c.ignored, c.timedOut = process.ignored.text(), t.timedOut(process.Started)
	if c.killTimer != nil {
		c.killTimer.Stop()
	}
	keep := t.keepOf(spec, t.number, isFailure(exit, ok) || c.failure != "" || c.timedOut)
	if exit.Unkilled {
		keep = workdir.Keep{} // its working folder stays where it is
	}
	t.releases = append(t.releases, func() { process.release(keep) })
	c.kept = t.keptText(keep)
	if !ok {
		return nil, supervisor.ErrLost
	}
	return func() { t.reportExit(exit, c) }, nil
}

// handleMessage handles a message of the process. A process that sends a hello gets one run. After its answer its input
// is closed, which asks it to end.
func (t *task) handleMessage(spec wire.Task, c *conversation, p *process, m pipe.Message) {
	switch {
	case m.Type == pipe.Progress && (m.Run == "" || m.Run == transientRun):
		m.Message = t.secrets.redact(m.Message)
		t.host.reports.progress(t.id, m)
	case m.Type == pipe.Hello && !c.hello:
		c.hello = true
		err := checkVersion(m)
		if err == nil {
			err = p.pipe.Send(runMessage(spec, transientRun))
		}
		if err != nil {
			c.refused = err.Error()
			_ = p.Kill(t.grace())
		}
	case m.Type == pipe.Done && c.hello && !c.done && m.Run == transientRun:
		c.done, c.failure = true, t.secrets.redact(errorText(m))
		p.pipe.CloseInput()
		t.killLater(c, p) // the run has ended, so the process must end too
	case m.Type == pipe.Done && !c.hello:
		t.ignore(p, "a done before a hello")
	case m.Type != pipe.Hello && m.Run != transientRun:
		t.ignore(p, wrongRun(m, transientRun))
	}
}

// wrongRun describes a message about another run than the current run, whose id is run.
func wrongRun(m pipe.Message, run string) string {
	if m.Run == "" {
		return fmt.Sprintf("a %s without its run, which is \"%s\"", m.Type, run)
	}
	return fmt.Sprintf("a %s of run %q; the present one is %q", m.Type, m.Run, run)
}

// pipeClosed handles that the process has closed its pipe, usually because it ended. A process that sent a hello and no
// answer then has the kill grace to end by itself.
func (t *task) pipeClosed(c *conversation, p *process) {
	if c.hello && !c.done && c.refused == "" {
		c.closed = true
		t.killLater(c, p)
	}
}

// killLater kills the process, with the kill grace, if it still runs after a time as long as that grace.
func (t *task) killLater(c *conversation, p *process) {
	grace := t.grace()
	c.killTimer = time.AfterFunc(grace, func() { _ = p.Kill(grace) })
}

// reportExit reports how the process ended.
func (t *task) reportExit(exit processExit, c conversation) {
	status := t.status
	status.Phase = wire.PhaseRun
	status.CompleteTime = exit.At.UTC()
	status.ExitStatus, status.Signal = exitOf(exit)
	unsuccessful := c.hello && (!c.done || c.failure != "") // a resident process has not reported success
	// A kill also closes the process's input. A process that sent a hello may end because of that, before the signal
	// reaches it.
	cutOff := exit.Killed || unsuccessful
	if killReason := t.killReason(); cutOff && killReason != nil {
		status.Cause = t.lastWords(killReason, c)
		if exit.Unkilled {
			status.Cause = killReason.Error() + "; " + exit.text()
		}
		status.Forced = t.forced(exit)
		if unsuccessful {
			status.ExitStatus = nil // the exit status of a resident process says nothing about its run
		}
		message := killReason.Error() + ": " + exit.text() + c.ignored
		if c.failure != "" {
			message += "; its answer: " + c.failure
		}
		t.report(agent.Killed, firstLine(message), status)
		return
	}
	text := ""
	switch {
	case c.refused != "":
		text = c.refused
		status.Cause = text
	case c.failure != "":
		text = c.failure
		status.Cause = text + c.kept
	case c.closed && exit.Killed:
		text = pipe.ErrClosed.Error() + c.ignored
	case c.hello && !c.done:
		text = "the process ended without an answer to its run: " + exit.text() + c.ignored
	case exit.Killed: // the run has succeeded, but the process went on
		status.Phase, status.ExitStatus, status.Signal = "", nil, ""
		t.report(agent.Finished, "the run has succeeded; its process did not end by itself", status)
		return
	case exit.Status != 0 || exit.Signal != 0:
		text = exit.text() + c.ignored + c.kept
	default:
		status.Phase, status.Cause = "", exit.note()
		t.log.Debug("task finished")
		t.report(agent.Finished, exit.text(), status)
		return
	}
	if status.Cause == "" {
		status.Cause = t.causeOf(text, output.Mark{})
	}
	text = firstLine(text)
	t.log.Warn("task failed", "error", text)
	t.report(agent.Failed, text, status)
}

// lastWords returns the cause of a killed task: the reason of the kill, and the process's answer or the last lines of
// its output. If there is no output, the text says so only after a timeout, which this may explain.
func (t *task) lastWords(killReason error, c conversation) string {
	text := killReason.Error()
	if c.failure != "" {
		return text + "; its answer: " + c.failure + c.ignored + c.kept
	}
	cause := t.causeOf(text+c.ignored+c.kept, output.Mark{})
	if !c.timedOut {
		return output.TrimSilent(cause)
	}
	return cause
}
