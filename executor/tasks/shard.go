package tasks

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/daemon"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// shard drives a daemon's shard. One goroutine, that of its task, waits for events, passes them to the state
// machine (package daemon), and carries out its decisions. Other goroutines must call post and nothing else.
type shard struct {
	*task
	spec    wire.Task
	began   time.Time
	machine *daemon.Shard
	runner  runner

	// events are functions for the shard's goroutine to call; closed is closed when it calls no more of them.
	events  chan func()
	closed  chan struct{}
	waiting sync.WaitGroup // goroutines that wait for the end of a process or request

	next   *daemon.Run   // the run to begin once the runner is ready and its slot is granted
	slot   *slot         // belongs to the next or the current run
	cutOff daemon.Result // the result of the run that a kill interrupted
	// endedByForce says that its process went on after SIGTERM for the kill grace, so that SIGKILL ended it.
	endedByForce bool
}

// runner executes a shard's runs, one at a time: each is a process, a run of a resident process, or a request. Only
// the shard's goroutine uses it. It reports the start and the end of a run by shard.started and shard.finished.
type runner interface {
	// ready reports whether a run could begin now. The shard requests a slot only while it is true, so that a run
	// which waits for its runner does not keep a slot from other shards. An event follows when it becomes true.
	ready() bool
	// start begins a run. The previous run must have ended.
	start(daemon.Run)
	// cancel asks the run under way to end early; stop forces it to end.
	cancel(reason string)
	stop()
	// active reports whether a process or request of the runner is left after the task was killed. An event follows
	// when it becomes false.
	active() bool
}

// now reads the clocks for the state machine. Lag is how far the coarse clock, which jobs read, is behind.
func (s *shard) now() daemon.Moment {
	now := time.Now()
	var coarse unix.Timespec
	lag := time.Duration(0)
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &coarse) == nil {
		lag = max(0, now.Sub(time.Unix(coarse.Unix())))
	}
	return daemon.Moment{Wall: now.Round(0), Lag: lag, Up: now.Sub(s.began), Backlog: s.host.Ledger.Backlog(s.id)}
}

// loop runs the shard until the task is killed and nothing of its runs is left. It returns ErrLost if the
// supervisor is lost.
func (s *shard) loop() error {
	s.setDrainable(true)
	defer s.setDrainable(false)
	clockSet := make(chan struct{}, 1)
	defer s.host.clock.subscribe(clockSet)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var preciseFire <-chan struct{} // closed at the fire time, once the timer has come within preciseLead of it
	kill := s.ctx.Done()
	for kill != nil || s.runner.active() {
		var granted chan struct{}
		if s.next != nil && s.slot == nil && s.runner.ready() {
			s.slot = s.host.slots.request(s.spec.JobName, slotsFor(s.spec.Daemon.Concurrency))
		}
		if s.next != nil && s.slot != nil {
			granted = s.slot.granted
		}
		select {
		case <-timer.C:
		case <-preciseFire:
		case <-clockSet:
		case event := <-s.events:
			event()
		case <-granted:
			run := *s.next
			s.next = nil
			s.runner.start(run)
		case <-s.drain:
			s.apply(s.machine.Drain(s.now(), s.drainLimit()))
		case <-kill:
			kill = nil
		case <-s.host.Supervisor.Lost():
			return supervisor.ErrLost
		}
		if s.killed() {
			timer.Stop() // no run begins any more
			continue
		}
		s.apply(s.machine.Tick(s.now()))
		s.host.reports.shard(s.id, s.machine.Fire(), s.machine.Totals())
		preciseFire = nil
		switch wait, some := s.machine.Wait(s.now()); { // read the clock after Tick: to start a run takes time
		case !some:
			timer.Stop()
		case wait > preciseLead:
			timer.Reset(wait - preciseLead)
		default:
			timer.Stop()
			preciseFire = s.host.preciseTimer.after(wait)
		}
	}
	return nil
}

// setDrainable sets whether the shard can be drained.
func (s *shard) setDrainable(drainable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drainable = drainable
}

// drainLimit returns the time at which draining must end, in the machine's time.
func (s *shard) drainLimit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drainDeadline.Sub(s.began)
}

// post passes f to the shard's goroutine, which calls it, unless the shard has ended.
func (s *shard) post(f func()) {
	select {
	case s.events <- f:
	case <-s.closed:
	}
}

// apply carries out a decision of the machine.
func (s *shard) apply(d daemon.Decision) {
	if d.ClockBack {
		s.log.Warn("fire cursor set back", "reason", "the clock was corrected after a leap")
	}
	for _, run := range d.Reports {
		s.update(agent.Running, "run of "+run.Fire.Format(time.RFC3339)+": "+run.State, &run)
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
	if d.Drained {
		s.endDrained()
	}
}

// started records that the run under way has begun. The runner calls it.
func (s *shard) started() { s.machine.Began(s.now()) }

// finished records the result of the run under way. The runner calls it.
func (s *shard) finished(result daemon.Result) {
	result.Cause, result.Note = s.secrets.redact(result.Cause), s.secrets.redact(result.Note)
	if s.killed() {
		if result.Cause != "" {
			s.cutOff = result // the kill interrupted the run; it did not fail by itself
			return
		}
		s.machine.Drain(s.now(), 0) // no run follows this one
	}
	s.releaseSlot()
	if result.Cause != "" {
		s.log.Warn("run failed", "error", firstLine(result.Cause))
	}
	s.apply(s.machine.Ended(s.now(), result))
}

// killed reports whether the task is killed. A run that ends after that was cut off by the kill.
func (s *shard) killed() bool { return s.ctx.Err() != nil }

func (s *shard) releaseSlot() {
	if s.slot != nil {
		s.host.slots.release(s.slot)
	}
	s.slot, s.next = nil, nil
}

// statusWith returns the status for an update, with the run that the update is about; nil if it is about none.
func (s *shard) statusWith(run *wire.Run) wire.Status {
	status := s.status
	totals := s.machine.Totals()
	status.Run, status.Totals = run, &totals
	return status
}

// update sends an update about the shard while it goes on.
func (s *shard) update(state agent.State, message string, run *wire.Run) {
	s.report(state, message, s.statusWith(run))
}

// specOf returns the task's description for one run. With nil it returns the description for a process that has no run
// yet.
func (s *shard) specOf(run *daemon.Run) wire.Task {
	spec := s.spec
	spec.Source = ""
	if run != nil {
		spec.FireTime, spec.Source, spec.Attempt = run.Fire, run.Source, run.Attempt
		spec.ExecutionID = spec.JobName + "@" +
			run.Fire.UTC().Format("20060102T150405Z") // the name that the core gives the fire's execution
	}
	return spec
}
