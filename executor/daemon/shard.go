package daemon

import (
	"fmt"
	"math"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/jobs/cron/cursor"
)

// Shard is the state of one daemon's shard. Only one goroutine at a time may use it.
type Shard struct {
	settings wire.Daemon
	schedule *cron.Schedule
	grace    time.Duration // the time that a cancelled run has to end

	cursor cursor.Cursor
	since  time.Time   // the time of the wall clock before which the shard has no fires
	next   time.Time   // the first fire after the cursor; zero if there is none
	queue  []time.Time // queued fires, the oldest first
	totals wire.Totals

	phase phase
	run   Run // the current run; valid unless idle
	state runState

	draining bool
	limit    time.Duration // the value of Up at which draining ends
}

// runState is the state of the current run.
type runState struct {
	sampled  bool
	reported bool // whether the start was reported
	start    time.Time
	begun    time.Duration // the value of Up at the start or, while backing off, at the start of the next attempt
	cancel   string        // why the run was cancelled; empty if it was not
	killed   bool
}

type phase int

const (
	idle    phase = iota
	waiting       // for the process, or until the executor may run another shard
	running
	backingOff // until the next attempt
)

// never is later than any moment.
const never = time.Duration(math.MaxInt64)

// New returns a shard that fires from now on, and at once if settings.Rerun is set. The first call must be Tick.
// grace is the time that a cancelled run has to end.
func New(schedule *cron.Schedule, settings wire.Daemon, grace time.Duration, now Moment) *Shard {
	s := &Shard{settings: settings, schedule: schedule, grace: grace, since: now.Wall, limit: never}
	s.advance(now.Wall)
	return s
}

// Totals returns the counts of runs and skipped fires.
func (s *Shard) Totals() wire.Totals { return s.totals }

// Fire returns the fire time of the current run; zero if there is none.
func (s *Shard) Fire() time.Time {
	if s.phase == idle {
		return time.Time{}
	}
	return s.run.Fire
}

// Wait returns the time until the next call of Tick is needed, unless another event happens before or the wall clock is
// set. It returns false if no call is needed.
func (s *Shard) Wait(now Moment) (time.Duration, bool) {
	due := s.limit
	switch s.phase {
	case backingOff:
		due = min(due, s.state.begun)
	case running:
		if !s.state.reported && now.Up < s.state.begun+shortRun {
			due = min(due, s.state.begun+shortRun)
		}
		due = min(due, s.deadline())
	}
	wait, needed := due-now.Up, due != never
	if !s.next.IsZero() && !s.draining {
		until := s.next.Sub(now.Wall)
		if until <= 0 && until+now.Lag > 0 {
			until = lagCheck
		}
		if !needed || until < wait {
			wait, needed = until, true
		}
	}
	return max(wait, 0), needed
}

// deadline returns the value of Up at which the current run must be cancelled or, if it was cancelled, killed.
func (s *Shard) deadline() time.Duration {
	timeout := time.Duration(s.settings.TimeoutMillis) * time.Millisecond
	switch {
	case timeout <= 0 || s.state.killed:
		return never
	case s.state.cancel != "":
		return s.state.begun + timeout + s.grace
	}
	return s.state.begun + timeout
}

// Tick handles the passing of time. The driver calls it after every event, and when the time of Wait is over.
func (s *Shard) Tick(now Moment) (d Decision) {
	if !s.settings.Rerun.IsZero() {
		s.start(&d, Run{Fire: s.settings.Rerun, Source: sourceFailover, Attempt: 1})
		s.settings.Rerun = time.Time{}
	}
	if !s.draining {
		d.ClockBack = s.takeBack(now.Wall)
		for _, fire := range s.due(now.Wall.Add(-now.Lag)) {
			s.fire(&d, fire)
		}
	}
	switch s.phase {
	case backingOff:
		if now.Up >= s.state.begun {
			s.start(&d, Run{Fire: s.run.Fire, Source: s.run.Source, Attempt: s.run.Attempt + 1})
		}
	case running:
		s.checkRun(&d, now)
	}
	d.Drained = now.Up >= s.limit
	return d
}

// takeBack takes the fire cursor back to before a leap of the wall clock, once the clock was set back. It returns true
// if it has moved the cursor.
func (s *Shard) takeBack(wall time.Time) bool {
	if !s.cursor.TakeBack(wall) {
		return false
	}
	if s.since.After(wall) {
		s.since = wall // the shard began while the clock was ahead
	}
	s.findNext()
	return true
}

// advance moves the fire cursor to a time.
func (s *Shard) advance(to time.Time) {
	s.cursor.Advance(cursor.Position{Time: to}, false)
	s.findNext()
}

// findNext finds the first fire after the cursor that was not run before the cursor was taken back.
func (s *Shard) findNext() {
	after := s.cursor.Time
	if s.since.After(after) {
		after = s.since
	}
	s.next = s.schedule.Next(after)
	for made, ok := s.cursor.MadeAt(s.next); ok && !s.next.IsZero(); made, ok = s.cursor.MadeAt(s.next) {
		s.next = s.schedule.Next(made.To)
	}
}

// due returns the fires that are due, the oldest first, and moves the fire cursor past them.
func (s *Shard) due(wall time.Time) (fires []time.Time) {
	if s.next.IsZero() || s.next.After(wall) {
		return nil
	}
	if oldest := wall.Add(-maxDelay); s.next.Before(oldest) {
		// Counting takes time, so at most this number of skipped fires is counted.
		const limit = 1000
		for _, fire := range s.schedule.Latest(s.next.Add(-time.Second), oldest, limit) {
			s.skip(fire)
		}
		s.advance(oldest)
	}
	for !s.next.IsZero() && !s.next.After(wall) {
		fires = append(fires, s.next)
		s.advance(s.next)
	}
	return fires
}

// fire starts a run for a fire, or queues or skips the fire if the shard is busy.
func (s *Shard) fire(d *Decision, fire time.Time) {
	switch {
	case s.phase == idle:
		s.start(d, Run{Fire: fire, Source: sourceNormal, Attempt: 1})
	case s.settings.Misfire:
		s.queue = append(s.queue, fire)
		if len(s.queue) > maxQueued {
			s.skip(s.queue[0])
			s.queue = s.queue[1:]
		}
	default:
		s.skip(fire)
	}
}

func (s *Shard) skip(fire time.Time) {
	s.totals.Skipped++
	s.totals.SkippedAt = fire.UTC()
}

func (s *Shard) start(d *Decision, run Run) {
	number := s.run.Number + 1
	s.run = run
	s.run.Number = number
	s.phase = waiting
	s.state = runState{sampled: s.settings.SamplingCount <= 1 || number%int64(s.settings.SamplingCount) == 0}
	started := s.run
	d.Start = &started
}

// checkRun decides whether the current run must be reported as begun, cancelled, or killed.
func (s *Shard) checkRun(d *Decision, now Moment) {
	isDue := !s.state.reported && now.Up >= s.state.begun+shortRun && now.Backlog <= successBacklog
	if isDue && (s.state.sampled || s.mustReport()) {
		s.state.reported = true
		d.Reports = append(d.Reports, s.report(wire.RunRunning))
	}
	if now.Up < s.deadline() {
		return
	}
	if s.state.cancel == "" {
		s.state.cancel = fmt.Sprintf("it took longer than %v (timeoutSeconds)",
			time.Duration(s.settings.TimeoutMillis)*time.Millisecond)
		d.Cancel = s.state.cancel
		return
	}
	s.state.killed = true
	d.Kill = true
}

// mustReport reports whether the start of the current run must be reported even if the run is not sampled.
func (s *Shard) mustReport() bool {
	return s.settings.Failover || s.run.Source == sourceFailover || s.run.Attempt > 1
}

// endReport returns the report of the end of the current run. If the run could not begin, its start is its end.
func (s *Shard) endReport(state string, now Moment, result Result) wire.Run {
	report := s.report(state)
	report.Complete, report.Cause = now.Wall.UTC(), result.Cause
	report.ExitStatus, report.Signal = result.ExitStatus, result.Signal
	if state == wire.RunFinished {
		report.Note = result.Note
	}
	if report.Start.IsZero() {
		report.Start = report.Complete
	}
	return report
}

func (s *Shard) report(state string) wire.Run {
	return wire.Run{
		Number: s.run.Number, Fire: s.run.Fire.UTC(), Source: s.run.Source, Attempt: s.run.Attempt, State: state,
		Start: s.state.start, Sampled: s.state.sampled,
	}
}

// Began records that the run has begun, because its process has received it or its request was sent.
func (s *Shard) Began(now Moment) {
	if s.phase == waiting {
		s.phase, s.state.begun, s.state.start = running, now.Up, now.Wall.UTC()
	}
}

// Ended records the end of the current run. It does nothing if there is no run that could end: while the shard is idle
// or backing off.
func (s *Shard) Ended(now Moment, result Result) (d Decision) {
	if s.phase != waiting && s.phase != running {
		return d
	}
	state := wire.RunFinished
	switch {
	case s.state.cancel != "":
		state = wire.RunTimedOut
		if result.Cause != "" {
			result.Cause = s.state.cancel + "; then: " + result.Cause
		} else {
			result.Cause = s.state.cancel
		}
	case result.Cause != "":
		state = wire.RunFailed
	}
	failed := state != wire.RunFinished
	s.totals.Runs++
	if failed {
		s.totals.Failed++
	}
	report := s.endReport(state, now, result)
	backoff := s.backoff(s.run.Attempt)
	report.Retried = failed && s.run.Attempt <= s.settings.MaxRetries && now.Up+backoff < s.limit
	// The scheduler must get the end of a run if it knows that the run began, or that an earlier attempt failed.
	must := failed || s.state.reported || s.run.Attempt > 1 || s.run.Source == sourceFailover
	should := s.state.sampled || s.settings.Failover
	if must && now.Backlog < maxBacklog || should && now.Backlog <= successBacklog {
		d.Reports = append(d.Reports, report)
	}
	switch {
	case report.Retried:
		s.phase, s.state.begun = backingOff, now.Up+backoff
	case s.draining:
		s.phase = idle
		d.Drained = true
	case len(s.queue) > 0:
		fire := s.queue[0]
		s.queue = s.queue[1:]
		s.start(&d, Run{Fire: fire, Source: sourceMisfire, Attempt: 1})
	default:
		s.phase = idle
	}
	return d
}

// backoff returns how long the shard waits after a failed attempt; the wait doubles with each attempt.
func (s *Shard) backoff(attempt int) time.Duration {
	first := time.Duration(s.settings.RetryBackoffMillis) * time.Millisecond
	return doubled(first, attempt-1, max(first, maxBackoff))
}

// doubled returns a duration doubled the given number of times, at most limit.
func doubled(d time.Duration, times int, limit time.Duration) time.Duration {
	for ; times > 0 && d > 0 && d < limit; times-- {
		d *= 2
	}
	return min(d, limit)
}

// Drain stops the shard from firing. It skips the queued fires. The current run, with its further attempts, may
// continue until limit, a value of Moment.Up. A later call can only shorten that time.
func (s *Shard) Drain(now Moment, limit time.Duration) (d Decision) {
	s.draining = true
	s.limit = min(s.limit, limit)
	s.skipQueue()
	d.Drained = s.phase == idle || now.Up >= s.limit
	return d
}

func (s *Shard) skipQueue() {
	for _, fire := range s.queue {
		s.skip(fire)
	}
	s.queue = nil
}

// CutOff ends the shard, which then fires no more. It returns the report of the current run, in whatever phase that
// is, or nil if there is none.
func (s *Shard) CutOff(now Moment, result Result) *wire.Run {
	s.draining = true
	s.skipQueue()
	if s.phase == idle {
		return nil
	}
	report := s.endReport(wire.RunKilled, now, result)
	if s.phase != backingOff {
		s.totals.Runs++
	}
	s.phase = idle
	return &report
}
