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

// shard drives a daemon's shard. The goroutine of its task waits for events, passes them to the state machine (package
// daemon), and carries out the decisions of the machine. Other goroutines may only call post.
type shard struct {
	*task
	spec    wire.Task
	began   time.Time
	machine *daemon.Shard
	runner  runner

	// events are functions that the shard's goroutine calls. closed is closed when it calls no more functions.
	events  chan func()
	closed  chan struct{}
	waiting sync.WaitGroup // goroutines that wait for the end of a process or a request

	next   *daemon.Run   // the run to begin once the runner is ready and its slot is granted
	slot   *slot         // belongs to the next or the current run
	cutOff daemon.Result // the result of the run that a kill interrupted
	// endedByForce says that the process of that run still ran at the end of the kill grace, so that SIGKILL ended it.
	endedByForce bool
}

// runner executes a shard's runs, one at a time, by processes or by requests. Only the shard's goroutine uses it. It
// calls shard.started when a run starts, and shard.finished when the run has ended.
type runner interface {
	// ready reports whether a run could begin now. When this becomes true, an event follows. The shard requests a slot
	// only if the runner is ready, so that no run holds a slot, which other shards could use, while it waits for its
	// runner.
	ready() bool
	// start begins a run. The previous run must have ended.
	start(daemon.Run)
	// cancel asks the current run to end early; stop forces it to end.
	cancel(reason string)
	stop()
	// active reports, after the task was killed, whether a process or request of the runner has not ended yet. When
	// this becomes false, an event follows.
	active() bool
}

// now reads the clocks for the state machine. Jobs may read the kernel's coarse clock; Lag is how far that clock is
// behind.
func (s *shard) now() daemon.Moment {
	now := time.Now()
	var coarse unix.Timespec
	lag := time.Duration(0)
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &coarse) == nil {
		lag = max(0, now.Sub(time.Unix(coarse.Unix())))
	}
	return daemon.Moment{Wall: now.Round(0), Lag: lag, Up: now.Sub(s.began), Backlog: s.host.Ledger.Backlog(s.id)}
}

// loop runs the shard until the task is killed and the process or request of its last run has ended. It returns
// supervisor.ErrLost if the supervisor is lost.
func (s *shard) loop() error {
	s.setDrainable(true)
	defer s.setDrainable(false)
	clockSet := make(chan struct{}, 1)
	defer s.host.clock.subscribe(clockSet)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var preciseFire <-chan struct{} // closed at the fire time; nil unless that is at most preciseLead away
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
		switch wait, ok := s.machine.Wait(s.now()); { // reads the clock again, because apply may have taken time
		case !ok: // nothing to wait for
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

// drainLimit returns when draining must end, as the time since the shard began, which is the time of the machine.
func (s *shard) drainLimit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drainDeadline.Sub(s.began)
}

// post passes f to the shard's goroutine, which calls it. If the shard has ended, post does nothing.
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

// started records that the current run has begun. The runner calls it.
func (s *shard) started() { s.machine.Began(s.now()) }

// finished records the result of the current run. The runner calls it.
func (s *shard) finished(result daemon.Result) {
	result.Cause, result.Note = s.secrets.redact(result.Cause), s.secrets.redact(result.Note)
	if s.killed() {
		if result.Cause != "" {
			s.cutOff = result // the kill has interrupted the run, so this is no failure
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

// killed reports whether the task is killed. Its current run may still be ending.
func (s *shard) killed() bool { return s.ctx.Err() != nil }

// releaseSlot releases the slot, or cancels the request for it, and forgets the run that waits to begin.
func (s *shard) releaseSlot() {
	if s.slot != nil {
		s.host.slots.release(s.slot)
	}
	s.slot, s.next = nil, nil
}

// statusWith returns the status for an update about run; nil means that the update is about no run.
func (s *shard) statusWith(run *wire.Run) wire.Status {
	status := s.status
	totals := s.machine.Totals()
	status.Run, status.Totals = run, &totals
	return status
}

// update sends an update about the shard, which is not its last.
func (s *shard) update(state agent.State, message string, run *wire.Run) {
	s.report(state, message, s.statusWith(run))
}

// specOf returns the task's description for this run. If run is nil, it returns the description for a process that has
// no run yet.
func (s *shard) specOf(run *daemon.Run) wire.Task {
	spec := s.spec
	spec.Source = ""
	if run != nil {
		spec.FireTime, spec.Source, spec.Attempt = run.Fire, run.Source, run.Attempt
		spec.ExecutionID = spec.JobName + "@" +
			run.Fire.UTC().Format("20060102T150405Z") // as in the scheduler's id of the fire's execution
	}
	return spec
}
