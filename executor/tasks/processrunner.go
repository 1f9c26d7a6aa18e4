package tasks

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/daemon"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
)

// processRunner executes a shard's runs by processes. A process that sends a hello is resident: it stays, and gets
// each run over its pipe. Any other process executes one run, which ends with the process.
//
// The shard's goroutine owns all fields except for current. There is at most one process, and none while a restart
// is pending. A run that is assigned to a process ends with that process at the latest. If the process ends before its
// hello, a run that waits for that hello fails; any other run that is not assigned yet goes to the next process. Once
// ending is set, the process gets no more runs. Messages of a former process may arrive late; hello, done and
// pipeClosed ignore them.
type processRunner struct {
	*shard
	count    int // number of processes that were started so far
	process  *process
	resident bool // the process has sent its hello
	ending   bool // the runner has asked the process to end, or can't reach it any more

	current atomic.Int64 // number of the current run, 0 if there is none; the goroutine of the pipe reads it

	run      *daemon.Run // the run that is not finished yet
	assigned bool        // the process got the run at its start or over its pipe
	mark     output.Mark // where the run's output begins

	restarts daemon.Restarts
	restart  *time.Timer // set while the restart of a resident process is pending; else nil
}

// maxRestartBacklog is how many updates of a task may wait for their acknowledgement when a restart is reported.
const maxRestartBacklog = 64

func (r *processRunner) active() bool {
	if r.restart != nil {
		r.restart.Stop() // the task is killed, so no process is started any more
	}
	return r.process != nil
}

// ready is false while a restart is pending, and while the runner waits for the end of a process that gets no more
// runs.
func (r *processRunner) ready() bool { return r.restart == nil && (r.process == nil || !r.ending) }

// start passes the run to the resident process, or starts a process for it. If the process of the shard is about to end
// or to be restarted, the run waits.
func (r *processRunner) start(run daemon.Run) {
	r.run, r.assigned = &run, false
	r.current.Store(run.Number)
	switch {
	case r.process == nil && r.restart == nil:
		r.launch()
	case r.process == nil || r.ending: // the process has ended or is ending, so the next process gets the run
	case r.resident:
		r.assign()
	default:
		r.started() // a process was restarted; it must send its hello within the timeout of this run
	}
}

// launch starts a process. If a run is pending, the process gets it.
func (r *processRunner) launch() {
	if r.run != nil {
		r.mark = r.host.Outputs.Mark(r.number)
	}
	p, err := r.startProcess(r.specOf(r.run), r.handleMessage, func(p *process) { r.post(func() { r.pipeClosed(p) }) })
	switch {
	case err != nil && (r.killed() || errors.Is(err, supervisor.ErrLost)):
		return // shard.loop handles both cases
	case err != nil && r.run != nil:
		r.finish(daemon.Result{Cause: output.Readable(err.Error(), output.CauseLength)})
		return
	case err != nil:
		wait := r.restarts.Ended(0)
		r.reportRestart("the resident process could not be started: "+output.Readable(err.Error(), output.CauseLength),
			wait)
		r.scheduleRestart(wait)
		return
	}
	r.count++
	r.process, r.resident, r.ending = p, false, false
	r.waiting.Go(func() {
		exit, ok := p.wait()
		r.post(func() { r.exited(p, exit, ok) })
	})
	if r.run != nil {
		r.assigned = true
		r.started()
	}
}

// handleMessage handles a message of the process. The goroutine that reads the pipe calls it, so it passes all work on
// the runner's state to the shard's goroutine.
func (r *processRunner) handleMessage(p *process, m pipe.Message) {
	switch m.Type {
	case pipe.Progress:
		if n := r.current.Load(); n != 0 && (m.Run == "" || m.Run == strconv.FormatInt(n, 10)) {
			m.Message = r.secrets.redact(m.Message)
			r.host.reports.progress(r.id, m)
		}
	case pipe.Hello:
		r.post(func() { r.hello(p, m) })
	case pipe.Done:
		r.post(func() { r.done(p, m) })
	}
}

// hello handles the hello of a process: the process is resident from now on, and gets the pending run. If the process
// speaks an unknown version of the protocol, hello ends it and fails the run that it was started for.
func (r *processRunner) hello(p *process, m pipe.Message) {
	if p != r.process || r.resident || r.ending {
		return
	}
	if err := checkVersion(m); err != nil {
		r.terminate(p)
		if r.run != nil && r.assigned {
			r.finish(daemon.Result{Cause: err.Error()})
		}
		return
	}
	r.resident = true
	if r.run != nil {
		r.assign()
	}
}

// pipeClosed handles that a process has closed its pipe, usually because it ended. A resident process that still runs
// then has the kill grace to end by itself. After that the runner ends it, and its run fails, because no answer can
// arrive.
func (r *processRunner) pipeClosed(p *process) {
	if p != r.process || !r.resident || r.ending {
		return
	}
	time.AfterFunc(r.grace(), func() {
		r.post(func() {
			if p != r.process || r.ending {
				return
			}
			r.terminate(p)
			if r.run != nil && r.assigned {
				r.finish(daemon.Result{Cause: pipe.ErrClosed.Error() + p.ignored.text()})
			}
		})
	})
}

// assign sends the run to the resident process. The process may have been started for this run; then the run's output
// began with the process.
func (r *processRunner) assign() {
	if !r.assigned {
		r.mark = r.host.Outputs.Mark(r.number)
	}
	r.assigned = true
	if err := r.process.pipe.Send(runMessage(r.specOf(r.run), r.runID())); err != nil {
		r.terminate(r.process)
		r.finish(daemon.Result{Cause: err.Error()})
		return
	}
	r.started()
}

func (r *processRunner) runID() string { return strconv.FormatInt(r.run.Number, 10) }

// done handles the answer to a run, which ends the run. It ignores an answer to another run.
func (r *processRunner) done(p *process, m pipe.Message) {
	switch {
	case p != r.process || r.run == nil || !r.assigned:
		return
	case !r.resident:
		r.ignore(p, "a done before a hello")
		return
	case m.Run != r.runID():
		r.ignore(p, wrongRun(m, r.runID()))
		return
	}
	p.timedOut = false
	r.restarts.Answered()
	r.finish(daemon.Result{Cause: errorText(m), Note: memoryText(peakMemory(p.PID), p.memoryMB)})
}

// terminate asks a process to end. It gets no more runs.
func (r *processRunner) terminate(p *process) {
	r.ending = true
	if err := p.terminate(r.grace()); err != nil {
		r.log.Warn("process not killed", "error", err)
	}
}

func (r *processRunner) cancel(reason string) {
	if r.process == nil || r.run == nil {
		return
	}
	r.process.timedOut = true
	switch {
	case !r.assigned:
		r.terminate(r.process)
		r.finish(daemon.Result{Cause: "the process that was restarted for it sent no hello"})
	case !r.resident, r.process.pipe.Send(pipe.Cancel{Run: r.runID(), Reason: reason}) != nil:
		r.terminate(r.process)
	}
}

func (r *processRunner) stop() {
	if r.process == nil {
		return
	}
	r.ending = true
	if err := r.process.Kill(0); err != nil {
		r.log.Warn("process not killed", "error", err)
	}
}

// finish ends the run. Before it returns, it may begin the shard's next run, so its callers must not use the fields of
// the run after the call.
func (r *processRunner) finish(result daemon.Result) {
	r.run, r.assigned = nil, false
	r.current.Store(0)
	r.finished(result)
}

// exited handles the end of the process: it ends the run that the process had, and schedules a restart where a resident
// process is expected.
func (r *processRunner) exited(p *process, exit processExit, ok bool) {
	r.endedWithLease(exit)
	keep := r.keepOf(r.spec, r.number+"-"+strconv.Itoa(r.count), isFailure(exit, ok) || p.timedOut)
	if exit.Unkilled {
		r.kill(0, "its processes can't be killed") // no other process may be started beside them
		keep = workdir.Keep{}                      // its working folder stays where it is
	}
	p.release(keep)
	resident := r.resident
	r.process, r.resident = nil, false
	if !ok {
		return // loop returns ErrLost
	}
	text := exit.text() + p.ignored.text() + r.keptText(keep)
	if r.killed() {
		if r.forced(exit) {
			r.endedByForce = true
			text += "; it went on after SIGTERM until the end of its grace period"
		}
		if r.run != nil {
			r.finish(r.resultOf(exit, "killed: "+text))
		}
		return
	}
	lived := exit.At.Sub(p.Started)
	switch {
	case r.run != nil && r.assigned && !resident && exit.Status == 0 && exit.Signal == 0:
		r.finish(daemon.Result{ExitStatus: &exit.Status, Note: exit.note()})
	case r.run != nil && r.assigned && !resident:
		r.finish(r.resultOf(exit, text))
	case r.run != nil && r.assigned:
		r.scheduleRestart(r.restarts.Ended(lived)) // before finish, so that the next run waits for the restart
		r.finish(r.resultOf(exit, "the process ended during the run: "+text))
	case r.run != nil && !resident && !r.ending:
		r.scheduleRestart(r.restarts.Ended(lived))
		r.finish(r.resultOf(exit, "the process ended before it sent a hello: "+text))
	case r.run != nil: // the run is not assigned yet, so the next process gets it
		r.scheduleRestart(r.restarts.Ended(lived))
	case resident || !r.ending:
		wait := r.restarts.Ended(lived)
		r.reportRestart("the resident process ended: "+text, wait)
		r.scheduleRestart(wait)
	}
}

// scheduleRestart starts a process after wait, unless the task is killed before. If a run is pending then, the process
// gets it.
func (r *processRunner) scheduleRestart(wait time.Duration) {
	r.restart = time.AfterFunc(wait, func() {
		r.post(func() {
			if r.restart = nil; !r.killed() {
				r.launch()
			}
		})
	})
}

// reportRestart reports that a resident process without a run has ended or could not be started. It sends no update if
// too many updates of the task wait for their acknowledgement.
func (r *processRunner) reportRestart(reason string, wait time.Duration) {
	reason += fmt.Sprintf("; it will be restarted in %v", wait)
	r.log.Warn("resident process ended", "error", reason)
	if r.host.Ledger.Backlog(r.id) < maxRestartBacklog {
		r.update(agent.Running, reason, nil)
	}
}

// resultOf returns the result of a run that failed because its process ended.
func (r *processRunner) resultOf(exit processExit, text string) daemon.Result {
	status, signal := exitOf(exit)
	return daemon.Result{Cause: r.causeOf(text, r.mark), ExitStatus: status, Signal: signal}
}
