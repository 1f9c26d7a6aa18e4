package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// fireDaemon makes a daemon's shard run its fires until its task ends. The fires are rare, so that they do not dominate
// the world.
func (a *agent) fireDaemon(x *executor, t *task, p *process) {
	w := a.w
	if !w.calm && w.chance(w.users.failing) {
		w.after(w.between(time.Second, w.users.longest), func() {
			if t.process == p && !p.lingers && !t.killing && !w.calm {
				a.processEnds(t)
				a.reportFromExecutor(t, cluster.Failed, "the daemon's command can't be started")
			}
		})
	}
	if cut := t.wire.Daemon.Rerun; !cut.IsZero() {
		w.count(DaemonRunCutOff)
		a.runDaemon(x, t, p, wire.Run{Fire: cut, Source: "FAILOVER"})
		return
	}
	a.nextRun(x, t, p)
}

func (a *agent) nextRun(x *executor, t *task, p *process) {
	w := a.w
	w.after(w.between(time.Second, time.Minute), func() {
		a.runDaemon(x, t, p, wire.Run{Fire: w.wall().Truncate(time.Second), Source: "NORMAL_TRIGGER"})
	})
}

func (a *agent) runDaemon(x *executor, t *task, p *process, run wire.Run) {
	w := a.w
	alive := func() bool { return t.process == p && !p.lingers && !t.killing && !t.state.Terminal() }
	if !alive() {
		return
	}
	if x.stopped {
		x.deferred = append(x.deferred, func() { a.runDaemon(x, t, p, run) })
		return
	}
	t.runs++
	run.Number, run.Attempt, run.State, run.Start = t.runs, 1, wire.RunRunning, w.wall()
	t.run = &run
	if w.rng.IntN(4) == 0 {
		t.totals.Skipped++
		t.totals.SkippedAt = run.Fire
	}
	w.after(runningDelay, func() {
		if alive() && t.run == &run {
			a.reportRun(t, run)
		}
	})
	w.after(w.between(time.Millisecond, 20*time.Second), func() {
		if !alive() || t.run != &run {
			return
		}
		t.run = nil
		run.State, run.Complete = wire.RunFinished, run.Start.Add(time.Second)
		if w.rng.IntN(8) == 0 {
			run.State, run.Cause = wire.RunFailed, "exit status 1"
			t.totals.Failed++
		}
		t.totals.Runs++
		a.reportRun(t, run)
		if t.drained != nil {
			w.count(DaemonDrained)
			t.drained()
			return
		}
		a.nextRun(x, t, p)
	})
}

// reportRun sends an update about a run.
func (a *agent) reportRun(t *task, run wire.Run) {
	if x := a.executors[t.executor]; x != nil && x.stopped {
		x.deferred = append(x.deferred, func() { a.reportRun(t, run) })
		return
	}
	totals := t.totals
	a.executorSends(t, cluster.Update{State: cluster.Running, Source: cluster.FromExecutor},
		wire.Status{Dir: "tasks/1", StartTime: t.start, Run: &run, Totals: &totals})
}

// cutRun returns the run that the end of a daemon's task cuts off.
func (t *task) cutRun(end cluster.State) *wire.Run {
	if t.run == nil || !end.Terminal() {
		return nil
	}
	run := *t.run
	run.State = wire.RunKilled
	return &run
}

// counts returns the totals of a daemon's task, nil for other tasks.
func (t *task) counts() *wire.Totals {
	if t.wire.Daemon == nil {
		return nil
	}
	totals := t.totals
	return &totals
}
