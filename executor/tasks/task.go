package tasks

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// DefaultGrace is for tasks that name none.
const DefaultGrace = 5 * time.Second

// shortTask is how long a process runs before it is reported as running.
const shortTask = 25 * time.Millisecond

// task is one attempt at one shard, from its launch to its last update.
type task struct {
	host   *host
	log    *slog.Logger
	id     string
	data   []byte
	number string
	status wire.Status // what every update says

	ctx    context.Context // ends at a kill, with why it was killed
	cancel context.CancelCauseFunc

	fetched  pack.Package
	writes   bool     // there is room for its output
	releases []func() // give back what the task uses, the last one first
	endedAt  time.Time

	secrets concealment // no report has them

	drain chan struct{} // has room for one value, sent when drainBy has changed

	mu      sync.Mutex
	spec    wire.Task
	process *process
	wait    time.Duration // the grace of a kill
	fired   bool          // it is a daemon's shard, and ready to be fired
	drainBy time.Time
	reason  string // why it drains
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

func (t *task) grace() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ownGrace()
}

// ownGrace is called with mu held.
func (t *task) ownGrace() time.Duration {
	if ms := t.spec.KillGraceMillis; ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return DefaultGrace
}

// kill ends the task, wherever it is. Later calls can only shorten the grace. With more grace than the task's own a
// daemon's shard is drained first: its run under way may go on for the difference.
func (t *task) kill(grace time.Duration, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if spare := grace - t.ownGrace(); spare > 0 && t.fired && t.ctx.Err() == nil {
		if by := time.Now().Add(spare); t.drainBy.IsZero() || by.Before(t.drainBy) {
			t.drainBy, t.reason = by, why
		}
		select {
		case t.drain <- struct{}{}:
		default:
		}
		return
	}
	if t.ctx.Err() == nil {
		t.wait = grace
	}
	t.wait = min(t.wait, grace)
	t.cancel(errors.New(why))
	if t.process != nil {
		t.end(t.process)
	}
}

// end ends a process of the task that is killed. It is called with mu held.
func (t *task) end(p *process) {
	if err := p.end(t.wait); err != nil {
		t.log.Warn("kill failed", "error", err)
	}
}

// drained ends the task when its shard is drained.
func (t *task) drained() {
	t.mu.Lock()
	grace, why := t.ownGrace(), t.reason
	t.mu.Unlock()
	t.kill(grace, why)
}

// why the task was killed, nil if it wasn't.
func (t *task) why() error { return context.Cause(t.ctx) }

func (t *task) report(s agent.State, message string, status wire.Status) {
	t.deliver(s, message, status, nil)
}

// deliver reports a state, without the task's secrets, and closes delivered, unless that is nil, when the agent has
// the report.
func (t *task) deliver(s agent.State, message string, status wire.Status, delivered chan struct{}) {
	shown := func(text string) string { return t.host.Container.InWords(t.secrets.hide(text)) }
	message, status.Cause = shown(message), shown(status.Cause)
	if status.Run != nil {
		run := *status.Run
		run.Cause, status.Run = shown(run.Cause), &run
	}
	data, err := status.Encode()
	if err != nil {
		t.log.Error("task status not encoded", "error", err)
	}
	t.host.Ledger.Report(agent.Update{Task: t.id, UUID: uuid.New(), State: s, Message: message, Data: data,
		At: time.Now(), Delivered: delivered})
}

// causeOf is what happened, with the end of the output since the mark.
func (t *task) causeOf(what string, since output.Mark) string {
	return t.host.Outputs.Cause(t.number, what, since, t.secrets.hide)
}

// firstLine is a text for where there is room for one line; never empty.
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
