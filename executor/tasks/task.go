package tasks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// shortTask is how long a process or request runs before an update reports it as running.
const shortTask = 25 * time.Millisecond

// task is one attempt of one shard, from its launch to its last update.
type task struct {
	host   *host
	log    *slog.Logger
	id     string
	data   []byte
	number string      // its number among the executor's tasks; names its folders
	status wire.Status // the part that every update contains

	ctx    context.Context // cancelled by a kill, with the kill's reason as the cause
	cancel context.CancelCauseFunc

	fetched     pack.Package
	outputReady bool     // the folder for its output is prepared
	releases    []func() // release what the task uses; called in reverse order
	endedAt     time.Time

	secrets redactor // removed from every report

	drain chan struct{} // capacity one; gets a value when drainDeadline has changed

	mu            sync.Mutex
	spec          wire.Task
	process       *process
	leaseLost     bool          // the task was killed because it had no lease any more
	unkilled      bool          // processes of the task are left, because they can't be killed
	leaseEnds     time.Duration // the end of an exclusive task's lease, by lease.Now
	killGrace     time.Duration // the grace of a kill
	killedAt      time.Time     // when the first kill came that did not drain the task
	drainable     bool          // the task is a daemon's shard whose loop runs, so it can be drained
	drainDeadline time.Time
	drainReason   string // why the shard drains
}

func newTask(h *host, a agent.Assignment, number int) *task {
	t := &task{host: h, log: h.Log.With("task", a.ID), id: a.ID, data: a.Data, number: strconv.Itoa(number),
		drain: make(chan struct{}, 1)}
	if h.AgentSandbox != "" {
		t.status.Dir, t.status.Sandbox = output.Folder+"/"+t.number, h.AgentSandbox
	}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

// grace returns the task's own kill grace.
func (t *task) grace() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ownGrace()
}

// ownGrace is grace for a caller that holds mu.
func (t *task) ownGrace() time.Duration {
	if ms := t.spec.KillGraceMillis; ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return wire.DefaultKillGrace
}

// kill ends the task in any state. Later calls can only shorten the grace. If the grace exceeds the task's own, a
// daemon's shard is drained first: its current run may go on for the difference.
func (t *task) kill(grace time.Duration, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if spare := grace - t.ownGrace(); spare > 0 && t.drainable && t.ctx.Err() == nil {
		if deadline := time.Now().Add(spare); t.drainDeadline.IsZero() || deadline.Before(t.drainDeadline) {
			t.drainDeadline, t.drainReason = deadline, reason
		}
		select {
		case t.drain <- struct{}{}:
		default:
		}
		return
	}
	if t.ctx.Err() == nil {
		t.killGrace, t.killedAt = grace, time.Now()
	}
	t.killGrace = min(t.killGrace, grace)
	t.cancel(errors.New(reason))
	if t.process != nil {
		t.endProcess(t.process)
	}
}

// endProcess ends a process of a killed task with the grace of the kill. The caller holds mu.
func (t *task) endProcess(p *process) {
	if err := p.terminate(t.killGrace); err != nil {
		t.log.Warn("process not killed", "error", err)
	}
}

// endDrained ends the task after its shard was drained, with the task's own grace.
func (t *task) endDrained() {
	t.mu.Lock()
	grace, reason := t.ownGrace(), t.drainReason
	t.mu.Unlock()
	t.kill(grace, reason)
}

// forced reports whether the process still ran at the end of the kill's grace, so that SIGKILL ended it.
func (t *task) forced(exit processExit) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ctx.Err() != nil && t.killGrace > 0 && exit.Killed && exit.Signal == int(syscall.SIGKILL)
}

// timedOut reports whether a process that started at this time had exceeded the job's timeout when the kill came.
func (t *task) timedOut(started time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	timeout := time.Duration(t.spec.TimeoutMillis) * time.Millisecond
	return timeout > 0 && t.ctx.Err() != nil && t.killedAt.Sub(started) >= timeout
}

// killReason returns the reason of the kill; nil if the task was not killed.
func (t *task) killReason() error { return context.Cause(t.ctx) }

// report sends an update with a state, without the task's secrets.
func (t *task) report(s agent.State, message string, status wire.Status) {
	t.deliver(s, message, status, nil)
}

// deliver is report with a channel, which may be nil. The channel is closed when the agent has the update.
func (t *task) deliver(s agent.State, message string, status wire.Status, delivered chan struct{}) {
	clean := func(text string) string { return t.host.Container.Reword(t.secrets.redact(text)) }
	message, status.Cause = clean(message), clean(status.Cause)
	if status.Run != nil {
		run := *status.Run
		run.Cause, status.Run = clean(run.Cause), &run
	}
	t.mu.Lock()
	status.LeaseLost = t.leaseLost && s == agent.Killed
	status.Unkilled = status.Unkilled || t.unkilled
	t.mu.Unlock()
	data, err := status.Encode()
	if err != nil {
		t.log.Error("task status not encoded", "error", err)
	}
	t.host.Ledger.Report(agent.Update{Task: t.id, UUID: uuid.New(), State: s, Message: message, Data: data,
		At: time.Now(), Delivered: delivered})
}

// causeOf returns the text followed by the last lines of the output since the mark, without secrets.
func (t *task) causeOf(text string, since output.Mark) string {
	t.mu.Lock()
	charset := charsetOf(t.spec.Env)
	t.mu.Unlock()
	return t.host.Outputs.Cause(t.number, text, since, func(output []byte) string {
		return t.secrets.redact(textfile.Show(output, charset))
	})
}

// charsetOf returns the character encoding that a job's variables set for programs; "" if they set none.
func charsetOf(env map[string]string) string {
	_, charset, _ := strings.Cut(cmp.Or(env["LC_ALL"], env["LC_CTYPE"], env["LANG"]), ".")
	charset, _, _ = strings.Cut(charset, "@")
	return charset
}

// firstLine returns the first line of a text. It cuts the line to output.MessageLength bytes and an ellipsis, and
// returns "failed" instead of an empty line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(output.Readable(text, len(text)), "\n")
	if len(line) > output.MessageLength {
		line = strings.ToValidUTF8(line[:output.MessageLength], "") + "…"
	}
	if line == "" {
		return "failed"
	}
	return line
}
