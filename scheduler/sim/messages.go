package sim

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// reportProgress makes the executors of some processes send reports while these run. Neither the content of a report
// nor its loss may change any decision. To check this, a world with Config.Deaf, in which reports arrive without
// content, must otherwise be the same.
func (a *agent) reportProgress(x *executor, p *process, t *task, duration time.Duration) {
	w := a.w
	if w.rng.IntN(4) > 0 {
		return
	}
	for range 1 + w.rng.IntN(3) {
		w.after(w.between(0, duration+time.Second), func() { // a report may come after the end of its task
			if x.stopped || x.dead || !a.up {
				return
			}
			data, wait := a.report(x, p), time.Duration(0)
			if w.roll(ReportGarbled) {
				data = a.garble(data)
			}
			if w.roll(ReportLate) {
				wait = w.between(time.Second, time.Minute)
			}
			message := cluster.Message{AgentID: a.id, ExecutorID: x.info.ID}
			if report, ours := wire.DecodeReport(data); ours {
				message.Report = &report
			}
			framework := t.launch.Executor.Framework
			w.after(wait, func() {
				a.toMaster(ReportLost, func(m platform) { m.message(framework, message) })
			})
		})
	}
}

// beats reports whether the executors of the world send heartbeats. In other worlds the executors are of an earlier
// release.
func (w *world) beats() bool { return !w.cfg.Pods && (w.cfg.Seed%4 == 1 || w.exclusive()) }

// beat sends a heartbeat of an executor, unless it is stopped, and goes on until it ends.
func (a *agent) beat(x *executor) {
	if x.dead || a.lost {
		return
	}
	a.w.after(wire.HeartbeatInterval, func() { a.beat(x) })
	if x.stopped || !a.up {
		return
	}
	beat := cluster.Message{AgentID: a.id, ExecutorID: x.info.ID, Heartbeat: true}
	a.toMaster(ReportLost, func(m platform) { m.message(x.info.Framework, beat) })
}

// report makes an executor's report about a task, and about others that may not be its own, with a clock that may be
// off.
func (a *agent) report(x *executor, p *process) []byte {
	w := a.w
	r := wire.Report{Time: w.wall().Add(a.clockOff)}
	for _, id := range []string{p.task, "nobody's", x.info.ID} {
		r.Tasks = append(r.Tasks, wire.TaskReport{TaskID: id,
			Progress: &wire.Progress{Fraction: w.rng.Float64()*2 - 0.5, Message: "of " + id, At: r.Time},
			Fire:     r.Time, Totals: &wire.Totals{Runs: w.rng.Int64(), Failed: -1}})
	}
	if len(a.tasks) > 0 { // possibly of another executor
		ids := sorted(a.tasks)
		r.Tasks[1].TaskID = ids[w.rng.IntN(len(ids))]
	}
	data, err := r.Encode()
	if err != nil {
		w.fail("a report can be encoded", "%v", err)
	}
	return data
}

func (a *agent) garble(data []byte) []byte {
	w := a.w
	switch w.rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return data[:w.rng.IntN(len(data))]
	case 2:
		return fmt.Appendf(nil, `{"v":%d,"time":"9999-12-31T23:59:59Z","tasks":[null,{}]}`, w.rng.Int64())
	}
	data[w.rng.IntN(len(data))] ^= 1 << w.rng.IntN(8)
	return data
}

// message forwards a message of an executor, if its framework is known.
func (m *master) message(framework string, e cluster.Message) {
	if m.agents[e.AgentID] == nil || m.w.removed[framework] != nil {
		return
	}
	if m.w.cfg.Deaf {
		e.Report = nil
	}
	m.send(e)
}

// ofReports reports whether notes of this kind result only from executors' reports, so that a Deaf world has none.
func ofReports(n *step.Note) bool {
	return n.Kind == step.NoteAgentClock || n.Kind == step.NoteExecutorQuiet
}
