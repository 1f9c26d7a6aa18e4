package tasks

import (
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/daemon"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// shard drives a daemon's shard: one goroutine, that of its task, waits for what happens, tells the state machine, and
// does what that decides. Nothing of it is used by another goroutine, but events.
type shard struct {
	*task
	spec    wire.Task
	began   time.Time
	machine *daemon.Shard
	runner  runner

	// events are functions to be called by the shard's goroutine; gone is closed when it takes no more.
	events  chan func()
	gone    chan struct{}
	waiting sync.WaitGroup // for the ends of processes

	next *daemon.Run   // is to be begun, once the runner is ready and it has its turn
	turn *turn         // of the run that waits for it, or is under way
	last daemon.Result // of the run that a kill has cut off
}

// runner makes a shard's runs, one at a time: each is a process, what a resident process does, or a request. It is
// used by the shard's goroutine only, and tells it by shard.started and shard.finished what becomes of a run.
type runner interface {
	// ready reports whether a run could begin now. One that has to wait for more than its turn must not hold the turn
	// of others; an event follows when it is ready.
	ready() bool
	// start begins a run. The last one has ended.
	start(daemon.Run)
	// cancel asks for the early end of the run under way; stop forces it.
	cancel(reason string)
	stop()
	// left reports whether something of the runner is left, once the task is killed; an event will follow when nothing
	// is.
	left() bool
}

func (s *shard) now() daemon.Moment {
	now := time.Now()
	return daemon.Moment{Wall: now.Round(0), Up: now.Sub(s.began), Backlog: s.host.Ledger.Backlog(s.id)}
}

// live goes on until the task is killed and nothing of its runs is left, or the supervisor is lost.
func (s *shard) live() error {
	s.setFired(true)
	defer s.setFired(false)
	set := make(chan struct{}, 1)
	defer s.host.clock.tell(set)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var moment <-chan struct{} // when the timer has come near
	kill := s.ctx.Done()
	for kill != nil || s.runner.left() {
		var turn chan struct{}
		if s.next != nil && s.turn == nil && s.runner.ready() {
			s.turn = s.host.turns.ask(s.spec.JobName, turnsFor(s.spec.Daemon.Concurrency))
		}
		if s.next != nil && s.turn != nil {
			turn = s.turn.granted
		}
		select {
		case <-timer.C:
		case <-moment:
		case <-set:
		case event := <-s.events:
			event()
		case <-turn:
			run := *s.next
			s.next = nil
			s.runner.start(run)
		case <-s.drain:
			s.do(s.machine.Drain(s.now(), s.drainLimit()))
		case <-kill:
			kill = nil
		case <-s.host.Supervisor.Lost():
			return supervisor.ErrLost
		}
		if s.killed() {
			timer.Stop() // nothing is begun any more
			continue
		}
		s.do(s.machine.Tick(s.now()))
		s.host.reports.shard(s.id, s.machine.Fire(), s.machine.Totals())
		moment = nil
		switch wait, some := s.machine.Wait(s.now()); { // later than Tick: a start takes its time
		case !some:
			timer.Stop()
		case wait > alarmLead:
			timer.Reset(wait - alarmLead)
		default:
			timer.Stop()
			moment = s.host.alarm.after(wait)
		}
	}
	return nil
}

// setFired says whether the shard can be drained.
func (s *shard) setFired(fired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fired = fired
}

// drainLimit is when draining has to end, in the machine's time.
func (s *shard) drainLimit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drainBy.Sub(s.began)
}

// post has the shard's goroutine call f, unless it takes no more.
func (s *shard) post(f func()) {
	select {
	case s.events <- f:
	case <-s.gone:
	}
}

// do does what the machine has decided.
func (s *shard) do(d daemon.Decision) {
	for _, run := range d.Reports {
		s.tell(agent.Running, "run of "+run.Fire.Format(time.RFC3339)+": "+run.State, &run)
	}
	if d.Start != nil {
		s.next = d.Start
	}
	if d.Cancel != "" {
		s.runner.cancel(d.Cancel)
	}
	if d.Kill {
		s.runner.stop()
	}
	if d.Over {
		s.drained()
	}
}

// started is told by the runner when the run under way has begun.
func (s *shard) started() { s.machine.Began(s.now()) }

// finished is told by the runner when it has ended.
func (s *shard) finished(result daemon.Result) {
	result.Cause = s.secrets.hide(result.Cause)
	if s.killed() {
		if result.Cause != "" {
			s.last = result // cut off, and not failed by itself
			return
		}
		s.machine.Drain(s.now(), 0) // nothing follows the run
	}
	s.giveTurnBack()
	if result.Cause != "" {
		s.log.Warn("run failed", "error", firstLine(result.Cause))
	}
	s.do(s.machine.Ended(s.now(), result))
}

// killed reports whether the task is killed: what ends now is cut off.
func (s *shard) killed() bool { return s.ctx.Err() != nil }

func (s *shard) giveTurnBack() {
	if s.turn != nil {
		s.host.turns.giveBack(s.turn)
	}
	s.turn, s.next = nil, nil
}

// statusWith is what an update says, with the run that it is about, if any.
func (s *shard) statusWith(run *wire.Run) wire.Status {
	status := s.status
	totals := s.machine.Totals()
	status.Run, status.Totals = run, &totals
	return status
}

// tell reports something of the shard, which goes on.
func (s *shard) tell(state agent.State, message string, run *wire.Run) {
	s.report(state, message, s.statusWith(run))
}

// specOf is the task as it is for one run, or for none.
func (s *shard) specOf(run *daemon.Run) wire.Task {
	spec := s.spec
	spec.Source = ""
	if run != nil {
		spec.FireTime, spec.Source, spec.Attempt = run.Fire, run.Source, run.Attempt
		spec.ExecutionID = spec.JobName + "@" +
			run.Fire.UTC().Format("20060102T150405Z") // as the core names a fire's execution
	}
	return spec
}
