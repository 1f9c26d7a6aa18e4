package executor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/container"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Run runs the task, and returns when nothing of it is left. When ctx ends, it is killed with its own grace. This
// process must be the container's first one, or at least have no children.
func (p Pod) Run(ctx context.Context, log *slog.Logger) Ending {
	c := container.Own(p.Folder, p.Begun)
	if err := container.BegunBefore(p.Begun); err != nil { // first of all: what could fail now must not be said of the task
		return NotStarted(err)
	}
	var err error
	if p.Task.Package.URL != "" {
		if c.Ready, err = p.prepared(); err != nil {
			return NotStarted(err)
		}
	}
	task := p.Task
	task.Package.Cache = false // for one task there is nothing to share, nor to keep
	data, err := task.Encode()
	if err != nil {
		return NotStarted(err)
	}
	config := Config{
		FrameworkID: "pod", ExecutorID: "pod", Sandbox: filepath.Join(p.Folder, "run"), Checkpoint: true,
		Recovery: time.Hour, BackoffMax: time.Second,
		ShutdownGrace: ShutdownGrace(time.Duration(task.KillGraceMillis) * time.Millisecond), Package: p.Package,
		Secrets: p.Secrets, container: c,
	}
	config.Cache = ownCache(config.Sandbox)
	// A container that was started before has left there what it was fetching.
	if err := errors.Join(pack.RemoveTree(config.Sandbox), os.MkdirAll(config.Sandbox, 0o755)); err != nil {
		return NotStarted(fmt.Errorf("make the folder that the task works in: %w; the image needs a folder %s that the container's user can write to, or give the pod a volume, with which it gets one there", err, p.Folder))
	}
	a := &podAgent{localAgent: newLocalAgent(task.TaskID, data), output: c.Output(), log: log}
	defer context.AfterFunc(ctx, func() { a.kill(nil) })()
	if p.Drain != "" && task.Daemon != nil {
		looking, stop := context.WithCancel(ctx)
		defer stop()
		go p.drainWhenAsked(looking, a)
	}
	err = runWith(context.WithoutCancel(ctx), config, a, log)
	ending, ended := a.ending()
	if !ended {
		return NotStarted(cmp.Or(err, errors.New("the task did not end in time, and was killed")))
	}
	if ending.Status.Run == nil {
		ending.Status.Run = a.last
	}
	return ending
}

// lookAtDrain is how often Pod.Drain is read, and drainTime how long the run under way may take: until somebody kills
// the pod.
const (
	lookAtDrain = time.Second
	drainTime   = 365 * 24 * time.Hour
)

func (p Pod) drainWhenAsked(ctx context.Context, a *podAgent) {
	ticker := time.NewTicker(lookAtDrain)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if text, err := os.ReadFile(p.Drain); err == nil && len(bytes.TrimSpace(text)) > 0 {
			a.kill(&mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: drainTime.Nanoseconds()}})
			return
		}
	}
}

// podAgent stands for the agent of a pod's one task. What must be known while the task runs it writes into the
// container's output: that its package is being fetched, and then no more; each run of a daemon's shard; and progress.
// All else follows from the container's own state.
type podAgent struct {
	*localAgent
	output *output.Streams
	log    *slog.Logger

	mu       sync.Mutex
	fetching bool
	last     *wire.Run
	progress time.Time // of the newest that was reported
}

// update writes what is to be known. What can't be written is not tried again: nobody reads the output then, and the
// end is said elsewhere.
func (a *podAgent) Update(ctx context.Context, u agent.Update) error {
	if err := a.tell(u); err != nil {
		a.log.Warn("update not written to the container's output", "error", err)
	}
	return a.localAgent.Update(ctx, u)
}

func (a *podAgent) tell(u agent.Update) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	status, _ := wire.DecodeStatus(u.Data)
	if status.Run != nil {
		a.last = status.Run
	}
	fetching := status.Phase == wire.PhaseFetch
	if u.State.Terminal() || status.Run == nil && fetching == a.fetching {
		return nil
	}
	a.fetching = fetching
	return a.output.Record(wire.PodRecord{Status: &status})
}

// message passes on new progress. Totals of daemons are in the records of their runs.
func (a *podAgent) Message(_ context.Context, data []byte) error {
	report, _ := wire.DecodeReport(data)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range report.Tasks {
		if t.Progress != nil && t.Progress.At.After(a.progress) {
			a.progress = t.Progress.At
			return a.output.Record(wire.PodRecord{Report: &report})
		}
	}
	return nil
}
