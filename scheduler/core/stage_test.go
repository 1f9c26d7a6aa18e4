package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// stage simulates a cluster around one core, step by step. It stores the core's writes, so that the core can be
// restarted.
type stage struct {
	t    testing.TB
	core *Core
	opt  step.Options // the options of the next core
	rnd  rand.Source
	// now is the true time. The wall clock is ahead of it by skew.
	now  time.Time
	skew time.Duration
	// loadedAt is the true time at which the present term began. wallAtLoad is the time of the wall clock then.
	loadedAt, wallAtLoad time.Time
	stored               map[string][]byte // the registry: values by path
	last                 Decision          // the decision of the last step
	offerCount           int               // the number of offers made so far, which their ids contain
	actor                event.Actor       // who makes the requests
	// accepts are the ACCEPTs that the master has not answered yet.
	accepts []step.CallLaunch
	// created are the ids of all created executions, in the order of their creation.
	created []string
}

// reportFailed reports that a task has failed with exit status 3, after it ran for a minute.
func (s *stage) reportFailed(l cluster.TaskLaunch) {
	s.t.Helper()
	status := 3
	st := wire.Status{StartTime: s.now.Add(-time.Minute), CompleteTime: s.now, ExitStatus: &status,
		Cause: "exit status 3; end of stderr:\nboom"}
	data := &st
	s.update(l, cluster.Failed, func(u *cluster.Update) { u.Status = data })
}

// restart begins the next term with the stored state, and subscribes.
func (s *stage) restart() {
	s.t.Helper()
	s.core = s.load()
	s.step()
	s.answerSubscribe()
}

// load begins a term: it returns a new core that has loaded the stored state.
func (s *stage) load() *Core {
	s.t.Helper()
	core := New(s.opt)
	s.loadedAt, s.wallAtLoad = s.now, s.wall()
	if err := core.Load(s.wall(), Stored{Entries: s.entries()}); err != nil {
		s.t.Fatal(err)
	}
	return core
}

// wall returns the time of the wall clock.
func (s *stage) wall() time.Time { return s.now.Add(s.skew) }

// clocks returns the times that a step of the present term is given.
func (s *stage) clocks() clock.Now { return clock.Now{Wall: s.wall(), Elapsed: s.now.Sub(s.loadedAt)} }

// wake returns the true time of the next step that the core requested, or zero if it requested none.
func (s *stage) wake() time.Time {
	if s.last.Wake == 0 {
		return time.Time{}
	}
	return s.loadedAt.Add(s.last.Wake)
}

// entries returns the stored state in the order of its paths.
func (s *stage) entries() (all []registry.Entry) {
	for _, path := range step.SortedKeys(s.stored) {
		all = append(all, registry.Entry{Path: path, Value: s.stored[path]})
	}
	return all
}

// answerSubscribe answers the SUBSCRIBE of the last step.
func (s *stage) answerSubscribe() {
	s.t.Helper()
	number := int64(-1)
	for _, c := range s.last.Calls {
		if c, ok := c.(step.CallSubscribe); ok {
			number = c.Session
		}
	}
	if number < 0 {
		s.t.Fatalf("no SUBSCRIBE among %+v", s.last.Calls)
	}
	s.step(SessionBegan{Session: number, MasterID: "master-1"})
}

// step makes the core take a step with the events, and stores what the core writes.
func (s *stage) step(events ...Event) Decision {
	s.t.Helper()
	s.last = s.core.Step(s.clocks(), s.rnd, events)
	for _, w := range s.last.Writes {
		if w.Delete {
			delete(s.stored, w.Path)
		} else {
			s.stored[w.Path] = w.Value
		}
	}
	for _, n := range s.last.Notes {
		if n.Kind == step.NoteExecutionCreated {
			s.created = append(s.created, n.Execution)
		}
	}
	s.accepts = append(s.accepts, calls[step.CallLaunch](s.last)...)
	return s.last
}

// stepAfter lets a duration pass without a step, and then takes one.
func (s *stage) stepAfter(d time.Duration, events ...Event) Decision {
	s.t.Helper()
	s.now = s.now.Add(d)
	return s.step(events...)
}

// moveClock moves the wall clock by a duration, forward or back, and takes a step.
func (s *stage) moveClock(by time.Duration) Decision {
	s.t.Helper()
	s.skew += by
	return s.step()
}

// runFor lets a duration pass. It takes a step whenever the core requests one, and another at the end.
func (s *stage) runFor(d time.Duration) {
	s.t.Helper()
	end := s.now.Add(d)
	for i := 0; ; i++ {
		if i > 100_000 {
			s.t.Fatal("the core keeps asking for steps while no time passes")
		}
		wake := s.wake()
		if wake.IsZero() || wake.After(end) {
			break
		}
		if wake.After(s.now) {
			s.now = wake
		} else {
			s.now = s.now.Add(time.Millisecond)
		}
		s.step()
	}
	s.now = end
	s.step()
}

// apply commits a planned change, and fails the test if the change was refused.
func (s *stage) apply(p *config.Planned, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.commit(p)
}

// app registers my_app with the given changes.
func (s *stage) app(change ...func(*app.Config)) {
	s.t.Helper()
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = "my_app", "http://127.0.0.1/p.tar",
		"bin/start.sh", 0.5, 128
	for _, f := range change {
		f(&a)
	}
	s.apply(s.core.planRegisterApp(a))
}

// job registers my_job, with the given changes. Without them it is a transient job of my_app with three shards of 1 CPU
// and 64 MB.
func (s *stage) job(change ...func(*jobs.Config)) {
	s.t.Helper()
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "my_job", "my_app",
		jobs.Transient, 3, 1, 64
	for _, f := range change {
		f(&j)
	}
	s.apply(s.core.planRegisterJob(j))
}

// clusterEvent returns an event of the present session.
func (s *stage) clusterEvent(e cluster.Event) Event {
	return ClusterEvent{Session: s.core.subscription.Number(), Event: e}
}

// offer makes the master offer CPUs and megabytes of memory of an agent on which the given executors run.
func (s *stage) offer(agent string, cpus, mem float64, executors ...string) Decision {
	s.t.Helper()
	s.offerCount++
	return s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{
		ID: fmt.Sprintf("O%d", s.offerCount), AgentID: agent, Hostname: agent, AgentURL: "http://" + agent + ":5051",
		Resources: resources.New(cpus, mem), ExecutorIDs: executors,
	}}}))
}

// offerAgents offers the same resources on each of the agents S1, S2 and so on, all at once, and returns their ids.
func (s *stage) offerAgents(n int, cpus, mem float64) (ids []string) {
	s.t.Helper()
	var offers []cluster.Offer
	for i := range n {
		id := fmt.Sprint("S", i+1)
		ids = append(ids, id)
		offers = append(offers, cluster.Offer{ID: "O" + id, AgentID: id, Hostname: id,
			Resources: resources.New(cpus, mem)})
	}
	s.step(s.clusterEvent(cluster.Offers{Offers: offers}))
	return ids
}

// answerAccepts answers all ACCEPTs with 202, and returns the launches that they contain.
func (s *stage) answerAccepts() []cluster.TaskLaunch {
	s.t.Helper()
	var launches []cluster.TaskLaunch
	var answers []Event
	for _, c := range s.accepts {
		launches = append(launches, c.Launch.Tasks...)
		answers = append(answers, LaunchAnswered{Session: s.core.subscription.Number(), Seq: c.Seq, OK: true})
	}
	s.accepts = nil
	if len(answers) > 0 {
		s.step(answers...)
	}
	return launches
}

// update sends a status update of a task. It comes from the executor, unless a change says otherwise.
func (s *stage) update(l cluster.TaskLaunch, state cluster.State, changes ...func(*cluster.Update)) Decision {
	s.t.Helper()
	id, err := jobs.ParseTaskID(l.TaskID)
	if err != nil {
		s.t.Fatal(err)
	}
	u := cluster.Update{TaskID: l.TaskID, AgentID: id.Agent, ExecutorID: l.Executor.ID, State: state,
		Source: cluster.FromExecutor, UUID: fmt.Appendf(nil, "%s-%s", state, l.TaskID), Timestamp: s.now}
	for _, f := range changes {
		f(&u)
	}
	return s.step(s.clusterEvent(u))
}

// reportRunning reports that tasks are running.
func (s *stage) reportRunning(launches []cluster.TaskLaunch) {
	s.t.Helper()
	for _, l := range launches {
		s.update(l, cluster.Running)
	}
}

// reportFinished reports that tasks have finished.
func (s *stage) reportFinished(launches []cluster.TaskLaunch) {
	s.t.Helper()
	for _, l := range launches {
		s.update(l, cluster.Finished)
	}
}

// trigger triggers my_job, and returns the id of the new execution.
func (s *stage) trigger() string {
	s.t.Helper()
	return s.triggerJob("my_job").Replies[0].ExecutionID
}

// execution returns the view of an execution.
func (s *stage) execution(id string) views.ExecutionView {
	s.t.Helper()
	v, err := s.core.views.Execution(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// newStage returns a stage whose core has subscribed, without apps and jobs.
func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, opt: step.DefaultOptions(), rnd: rand.NewPCG(1, 2), stored: map[string][]byte{},
		now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	s.opt.LeaseURLs = []string{"http://127.0.0.1:18899"}
	s.restart()
	return s
}

// fromMaster makes an update come from the master, with a reason. It needs no acknowledgement, so it has no UUID.
func fromMaster(reason cluster.Reason) func(*cluster.Update) {
	return func(u *cluster.Update) { u.Source, u.Reason, u.UUID = cluster.FromMaster, reason, nil }
}

// fromAgent makes an update come from an agent, with a reason.
func fromAgent(reason cluster.Reason) func(*cluster.Update) {
	return func(u *cluster.Update) { u.Source, u.Reason = cluster.FromAgent, reason }
}

// calls returns the calls of a decision that have the type C.
func calls[C step.Call](d Decision) []C {
	var out []C
	for _, c := range d.Calls {
		if c, ok := c.(C); ok {
			out = append(out, c)
		}
	}
	return out
}

// reportUnreachable makes the master report that the agent of a task is unreachable from now on.
func (s *stage) reportUnreachable(l cluster.TaskLaunch) {
	s.t.Helper()
	s.update(l, cluster.Unreachable, fromMaster(""), func(u *cluster.Update) { u.UnreachableSince = s.now })
}

// unsubscribe ends the session, and lets time pass until the core subscribes again.
func (s *stage) unsubscribe() {
	s.t.Helper()
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "the stream broke"})
	for len(calls[step.CallSubscribe](s.last)) == 0 {
		s.now = s.wake()
		s.step()
	}
}

// resubscribe ends the session, and begins the next.
func (s *stage) resubscribe() {
	s.t.Helper()
	s.unsubscribe()
	s.answerSubscribe()
}

// answerEarlierSubscribe answers a SUBSCRIBE that was sent before the last step.
func (s *stage) answerEarlierSubscribe() {
	s.t.Helper()
	s.step(SessionBegan{Session: s.core.subscription.Number(), MasterID: "master-1"})
}

// orphanIDs lists the task ids of all orphans.
func orphanIDs(c *Core) (ids []string) {
	for _, o := range c.orphans.All() {
		ids = append(ids, o.TaskID)
	}
	return ids
}

// isOrphan reports whether a task is an orphan.
func isOrphan(c *Core, task string) bool { return slices.Contains(orphanIDs(c), task) }
