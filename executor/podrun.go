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

// Run runs the task, and returns when no process of the task is left. When ctx ends, the task is killed with its own
// grace. This process must be the first process of the container, or at least have no children.
func (p Pod) Run(ctx context.Context, log *slog.Logger) Ending {
	c := container.Current(p.Folder, p.Begun)
	// This check comes first, so that no later failure hides that the task has begun.
	if err := container.CheckBegun(p.Begun); err != nil {
		return NotStarted(err)
	}
	var err error
	if p.Task.Package.URL != "" {
		if c.Ready, err = p.prepared(); err != nil {
			return NotStarted(err)
		}
	}
	task := p.Task
	task.Package.Cache = false // with one task per pod, a cache has no use
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
	if task.Lease != nil { // it must end with its lease even if this process hangs (rule K5)
		config.Supervisor = p.Supervisor
	}
	config.Cache = privateCache(config.Sandbox)
	// An earlier start of this container may have left a part of a package there.
	if err := errors.Join(pack.RemoveTree(config.Sandbox), os.MkdirAll(config.Sandbox, 0o755)); err != nil {
		return NotStarted(fmt.Errorf("make the folder that the task works in: %w; the image needs a folder %s that the container's user can write to, or give the pod a volume, with which it gets one there", err, p.Folder))
	}
	a := &podAgent{localAgent: newLocalAgent(task.TaskID, data), output: c.Output(), log: log}
	defer context.AfterFunc(ctx, func() { a.kill(nil) })()
	if p.Drain != "" && task.Daemon != nil {
		watchCtx, stop := context.WithCancel(ctx)
		defer stop()
		go p.watchDrainFile(watchCtx, a)
	}
	err = runWith(context.WithoutCancel(ctx), config, a, log)
	ending, ended := a.ending()
	if !ended {
		return NotStarted(cmp.Or(err, errors.New("the task did not end in time, and was killed")))
	}
	if ending.Status.Run == nil {
		ending.Status.Run = a.lastRun
	}
	return ending
}

// drainCheckInterval is the interval at which Pod.Drain is read. drainTime is how long the current run may then take:
// so long that in practice it may run until the pod is killed.
const (
	drainCheckInterval = time.Second
	drainTime          = 365 * 24 * time.Hour
)

// watchDrainFile drains the task once Pod.Drain has content.
func (p Pod) watchDrainFile(ctx context.Context, a *podAgent) {
	ticker := time.NewTicker(drainCheckInterval)
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

// podAgent replaces the agent for a pod's one task. While the task runs, it writes records into the container's
// output: that the package is being fetched and that the fetch has ended, each run of a daemon's shard, and
// progress. Everything else follows from the container's own state.
type podAgent struct {
	*localAgent
	output *output.Streams
	log    *slog.Logger

	recordMu       sync.Mutex
	fetching       bool      // the last update was of a task whose package is being fetched
	lastRun        *wire.Run // the last run of a daemon's shard
	recordProgress time.Time // the time of the newest progress that was written
}

var _ agent.API = (*podAgent)(nil)

// Update acknowledges an update. Before that, it writes a record of the update if the fetch begins or ends with it, or
// if it reports a run. A failed write is not repeated: it means that no reader of the output is left. The exit status
// and the termination message still report the end.
func (a *podAgent) Update(ctx context.Context, u agent.Update) error {
	if err := a.record(u); err != nil {
		a.log.Warn("update not written to the container's output", "error", err)
	}
	return a.localAgent.Update(ctx, u)
}

func (a *podAgent) record(u agent.Update) error {
	a.recordMu.Lock()
	defer a.recordMu.Unlock()
	status, _ := wire.DecodeStatus(u.Data)
	if status.Run != nil {
		a.lastRun = status.Run
	}
	fetching := status.Phase == wire.PhaseFetch
	if u.State.Terminal() || status.Run == nil && fetching == a.fetching {
		return nil
	}
	a.fetching = fetching
	return a.output.Record(wire.PodRecord{Status: &status})
}

// Message writes a report that has new progress. A report without progress, such as the totals of a daemon's shard, is
// not written: the records of the runs have these totals, too.
func (a *podAgent) Message(_ context.Context, data []byte) error {
	report, _ := wire.DecodeReport(data)
	a.recordMu.Lock()
	defer a.recordMu.Unlock()
	for _, t := range report.Tasks {
		if t.Progress != nil && t.Progress.At.After(a.recordProgress) {
			a.recordProgress = t.Progress.At
			return a.output.Record(wire.PodRecord{Report: &report})
		}
	}
	return nil
}
