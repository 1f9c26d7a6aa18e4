package tasks

import (
	"fmt"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// transientRun is the id of the only run of a transient task.
const transientRun = "1"

// conversation is what a transient task's process has sent over its pipe.
type conversation struct {
	hello, done bool
	failure     string // the error in its done message
	refused     string // why the executor ended the process
	closed      bool   // it closed its pipe without an answer
	ignored     string // the ignored messages on its pipe, as the end of a reason
	kept        string // where its working folder is kept, as the end of a reason
	timedOut    bool   // it was killed for the job's timeout
	// killTimer kills a process that goes on after its run, or can't answer any more; nil before that.
	killTimer *time.Timer
}

// runProcess runs a task of one process, and returns the function that reports its end.
func (t *task) runProcess(spec wire.Task) (report func(), err error) {
	var c conversation
	process, err := t.startProcess(spec, func(p *process, m pipe.Message) { t.handleMessage(spec, &c, p, m) },
		func(p *process) { t.pipeClosed(&c, p) })
	if err != nil {
		return nil, err
	}
	t.status.StartTime = process.Started.UTC()
	// A process that ends within shortTask is reported by its end only, which has its start time too: each update
	// is work for the agent, the master and the scheduler, while other tasks wait to be started. A task that is
	// lost before this update counts as begun (rule E1).
	select {
	case <-process.Done():
	case <-time.After(shortTask):
		t.report(agent.Running, "process "+strconv.Itoa(process.PID)+" runs", t.status)
	}
	exit, ok := process.wait()
	t.status.Progress = t.host.reports.remove(t.id)
	c.ignored, c.timedOut = process.ignored.text(), t.timedOut(process.Started)
	if c.killTimer != nil {
		c.killTimer.Stop()
	}
	keep := t.keepOf(spec, t.number, isFailure(exit, ok) || c.failure != "" || c.timedOut)
	t.releases = append(t.releases, func() { process.release(keep) })
	c.kept = t.keptText(keep)
	if !ok {
		return nil, supervisor.ErrLost
	}
	return func() { t.reportExit(exit, c) }, nil
}

// handleMessage handles a message of the process. A process that sends a hello gets one run, and after its answer the
// end of its stream.
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
		t.killLater(c, p) // its run has ended, so the process has the grace to end too
	case m.Type == pipe.Done && !c.hello:
		t.ignore(p, "a done before a hello")
	case m.Type != pipe.Hello && m.Run != transientRun:
		t.ignore(p, wrongRun(m, transientRun))
	}
}

// wrongRun describes a message about another run than the present one.
func wrongRun(m pipe.Message, run string) string {
	if m.Run == "" {
		return fmt.Sprintf("a %s without its run, which is \"%s\"", m.Type, run)
	}
	return fmt.Sprintf("a %s of run %q; the present one is %q", m.Type, m.Run, run)
}

// pipeClosed gives a process that closed its pipe without an answer the kill grace to end; mostly it has ended
// already.
func (t *task) pipeClosed(c *conversation, p *process) {
	if c.hello && !c.done && c.refused == "" {
		c.closed = true
		t.killLater(c, p)
	}
}

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
	// A process that sent a hello may end at the end of its stream, before the kill's signal reaches it.
	cut := exit.Killed || c.hello && (!c.done || c.failure != "")
	if why := t.killReason(); cut && why != nil {
		status.Cause = t.lastWords(why, c)
		status.Forced = t.forced(exit)
		if c.hello && (!c.done || c.failure != "") {
			status.ExitStatus = nil // the exit status of a resident process says nothing about its run
		}
		message := why.Error() + ": " + exit.text() + c.ignored
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
	case exit.Killed: // the process went on after its run, which succeeded
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

// lastWords returns the cause of a killed task: why it was killed, and what its process said at its end. It says that
// the process wrote nothing only if that may explain a timeout.
func (t *task) lastWords(why error, c conversation) string {
	text := why.Error()
	if c.failure != "" {
		return text + "; its answer: " + c.failure + c.ignored + c.kept
	}
	cause := t.causeOf(text+c.ignored+c.kept, output.Mark{})
	if !c.timedOut {
		return output.TrimSilent(cause)
	}
	return cause
}
