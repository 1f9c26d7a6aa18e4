package daemon

import (
	"fmt"
	"math"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// Shard is the state of one daemon's shard. It is for one goroutine at a time.
type Shard struct {
	settings wire.Daemon
	schedule *cron.Schedule
	grace    time.Duration // of a cancelled run

	next   time.Time   // the next fire; zero without one
	queue  []time.Time // fires that wait, oldest first
	totals wire.Totals

	phase phase
	run   Run // unless idle
	state runState

	draining bool
	limit    time.Duration // of draining
}

// runState is what is known of the run under way.
type runState struct {
	sampled  bool
	reported bool // its begin was
	start    time.Time
	begun    time.Duration // when it was; while resting, when the next attempt is due
	cancel   string        // why it was cancelled
	killed   bool
}

type phase int

const (
	idle    phase = iota
	waiting       // for its process, or its turn
	running
	resting // before the next attempt
)

// never is later than any moment.
const never = time.Duration(math.MaxInt64)

// New makes a shard that is fired from now on, and at once if a fire is to be run again. The first call is Tick. grace
// is the time that a cancelled run has to end.
func New(schedule *cron.Schedule, settings wire.Daemon, grace time.Duration, now Moment) *Shard {
	return &Shard{settings: settings, schedule: schedule, grace: grace, next: schedule.Next(now.Wall), limit: never}
}

// Totals counts what became of the fires.
func (s *Shard) Totals() wire.Totals { return s.totals }

// Fire is that of the run under way; zero without one.
func (s *Shard) Fire() time.Time {
	if s.phase == idle {
		return time.Time{}
	}
	return s.run.Fire
}

// Wait is how long until Tick is to be called, unless something else happens before or the wall clock is set; false if
// never.
func (s *Shard) Wait(now Moment) (time.Duration, bool) {
	due := s.limit
	switch s.phase {
	case resting:
		due = min(due, s.state.begun)
	case running:
		if !s.state.reported && now.Up < s.state.begun+shortRun {
			due = min(due, s.state.begun+shortRun)
		}
		due = min(due, s.endBy())
	}
	wait, some := due-now.Up, due != never
	if !s.next.IsZero() && !s.draining {
		if until := s.next.Sub(now.Wall); !some || until < wait {
			wait, some = until, true
		}
	}
	return max(wait, 0), some
}

// endBy is when the run under way is to be cancelled or, if it was, killed.
func (s *Shard) endBy() time.Duration {
	timeout := time.Duration(s.settings.TimeoutMillis) * time.Millisecond
	switch {
	case timeout <= 0 || s.state.killed:
		return never
	case s.state.cancel != "":
		return s.state.begun + timeout + s.grace
	}
	return s.state.begun + timeout
}

// Tick says that time has passed.
func (s *Shard) Tick(now Moment) (d Decision) {
	if !s.settings.Rerun.IsZero() {
		s.start(&d, Run{Fire: s.settings.Rerun, Source: sourceFailover, Attempt: 1})
		s.settings.Rerun = time.Time{}
	}
	if !s.draining {
		for _, fire := range s.due(now.Wall) {
			s.fire(&d, fire)
		}
	}
	switch s.phase {
	case resting:
		if now.Up >= s.state.begun {
			s.start(&d, Run{Fire: s.run.Fire, Source: s.run.Source, Attempt: s.run.Attempt + 1})
		}
	case running:
		s.look(&d, now)
	}
	d.Over = now.Up >= s.limit
	return d
}

// due takes the fires that are due, oldest first, and moves the cursor past them.
func (s *Shard) due(wall time.Time) (fires []time.Time) {
	if s.next.IsZero() || s.next.After(wall) {
		return nil
	}
	if oldest := wall.Add(-late); s.next.Before(oldest) {
		// Of how many there were, as many are counted as can be quickly.
		const most = 1000
		for _, fire := range s.schedule.Latest(s.next.Add(-time.Second), oldest, most) {
			s.skip(fire)
		}
		s.next = s.schedule.Next(oldest)
	}
	for !s.next.IsZero() && !s.next.After(wall) {
		fires = append(fires, s.next)
		s.next = s.schedule.Next(s.next)
	}
	return fires
}

func (s *Shard) fire(d *Decision, at time.Time) {
	switch {
	case s.phase == idle:
		s.start(d, Run{Fire: at, Source: sourceNormal, Attempt: 1})
	case s.settings.Misfire:
		s.queue = append(s.queue, at)
		if len(s.queue) > queued {
			s.skip(s.queue[0])
			s.queue = s.queue[1:]
		}
	default:
		s.skip(at)
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

// look sees whether the run under way is to be reported as begun, to be cancelled, or to be killed.
func (s *Shard) look(d *Decision, now Moment) {
	if !s.state.reported && now.Up >= s.state.begun+shortRun && now.Backlog <= backlogOfSuccesses &&
		(s.state.sampled || s.wanted()) {
		s.state.reported = true
		d.Reports = append(d.Reports, s.report(wire.RunRunning))
	}
	if now.Up < s.endBy() {
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

// wanted reports whether the scheduler waits to hear of the run under way, sampled or not.
func (s *Shard) wanted() bool {
	return s.settings.Failover || s.run.Source == sourceFailover || s.run.Attempt > 1
}

// endReport is the report of the end of the run under way. One that could not begin has begun when it ended.
func (s *Shard) endReport(state string, now Moment, result Result) wire.Run {
	report := s.report(state)
	report.Complete, report.ExitStatus, report.Signal, report.Cause = now.Wall.UTC(), result.ExitStatus, result.Signal,
		result.Cause
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

// Began says that the process has the run.
func (s *Shard) Began(now Moment) {
	if s.phase == waiting {
		s.phase, s.state.begun, s.state.start = running, now.Up, now.Wall.UTC()
	}
}

// Ended says how the run under way ended.
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
	rest := s.restAfter(s.run.Attempt)
	report.Retried = failed && s.run.Attempt <= s.settings.MaxRetries && now.Up+rest < s.limit
	// What the scheduler knows to have begun, and what failed before, it must hear the end of.
	must := failed || s.state.reported || s.run.Attempt > 1 || s.run.Source == sourceFailover
	if must && now.Backlog < backlogOfAll || (s.state.sampled || s.settings.Failover) &&
		now.Backlog <= backlogOfSuccesses {
		d.Reports = append(d.Reports, report)
	}
	switch {
	case report.Retried:
		s.phase, s.state.begun = resting, now.Up+rest
	case s.draining:
		s.phase = idle
		d.Over = true
	case len(s.queue) > 0:
		fire := s.queue[0]
		s.queue = s.queue[1:]
		s.start(&d, Run{Fire: fire, Source: sourceMisfire, Attempt: 1})
	default:
		s.phase = idle
	}
	return d
}

// restAfter is how long the shard rests after a failed attempt: twice as long each time.
func (s *Shard) restAfter(attempt int) time.Duration {
	first := time.Duration(s.settings.RetryBackoffMillis) * time.Millisecond
	return doubled(first, attempt-1, max(first, restAtMost))
}

// doubled is a duration doubled so many times, with a bound.
func doubled(d time.Duration, times int, most time.Duration) time.Duration {
	for ; times > 0 && d > 0 && d < most; times-- {
		d *= 2
	}
	return min(d, most)
}

// Drain says that the shard is not to be fired any more: what waits is skipped, and what is under way may go on,
// further attempts included, until the limit, in the time of Moment.Up. A later call can only bring the limit nearer.
func (s *Shard) Drain(now Moment, limit time.Duration) (d Decision) {
	s.draining = true
	s.limit = min(s.limit, limit)
	s.skipQueue()
	d.Over = s.phase == idle || now.Up >= s.limit
	return d
}

func (s *Shard) skipQueue() {
	for _, fire := range s.queue {
		s.skip(fire)
	}
	s.queue = nil
}

// CutOff ends the shard: nothing more is fired. It gives the run that was under way, in whatever phase, or nil.
func (s *Shard) CutOff(now Moment, result Result) *wire.Run {
	s.draining = true
	s.skipQueue()
	if s.phase == idle {
		return nil
	}
	report := s.endReport(wire.RunKilled, now, result)
	if s.phase != resting {
		s.totals.Runs++
	}
	s.phase = idle
	return &report
}
