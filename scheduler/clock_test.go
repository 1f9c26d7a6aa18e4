package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// A clock that is an hour ahead opens a gap, and is set right while that is being crossed.
func TestF4AGapOfAClockThatWasAheadIsNotFinished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.FiresPerStep = 2
	s.restart()
	s.app()
	for i := range 10 {
		s.job(oneShard, everyFiveSeconds, func(j *jobs.Config) { j.JobName = fmt.Sprint("j", i) })
	}
	s.until(time.Minute)
	s.skew = time.Hour
	s.step()
	if s.core.missed == nil {
		t.Fatal("there is no gap, or it is crossed at once")
	}
	s.skew = 0
	s.step()
	made := s.core.Stats().Fires
	s.until(20 * time.Second)
	if mark := s.core.cursor.Time; mark.After(s.now) {
		t.Errorf("the mark is at %s, now it is %s", mark, s.now)
	}
	if s.core.Stats().Fires == made {
		t.Error("no fires in twenty seconds")
	}
}

// A leader reads its state while the clock is an hour ahead, which is set right before its first step.
func TestX9AnIdleExecutorIsNotKeptForAsLongAsTheClockWasAhead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.finish(l)
	s.skew = time.Hour
	s.core = s.load()
	s.skew = 0
	s.step()
	s.subscribed()
	s.until(s.opt.ExecutorIdle + time.Second)
	if x := s.core.executors[l[0].Executor.ID]; x != nil && !x.Closing {
		t.Errorf("idle for %s, and kept", s.opt.ExecutorIdle)
	}
}

// A clock that was ahead is set right, and a job whose fires of that time were made is disabled and enabled: they are not
// made again.
func TestF2FiresThatWereMadeAheadAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.FiresPerStep = 2
	s.restart()
	s.app()
	for i := range 10 {
		s.job(oneShard, everyFiveSeconds, func(j *jobs.Config) { j.JobName, j.Misfire = fmt.Sprint("j", i), true })
	}
	s.until(time.Minute)
	right := s.now
	s.skew = time.Hour
	s.step()
	since := s.core.jobs["j0"].since
	if s.core.missed == nil || !since.After(right) {
		t.Fatal("the first job's part of the gap is not crossed, or all of it is")
	}
	s.skew = 0
	s.step()
	s.apply(s.core.planDisableJob("j0", true))
	s.apply(s.core.planDisableJob("j0", false))
	if now := s.core.jobs["j0"].since; now.Before(since) {
		t.Errorf("fires are made from %s on, and were made up to %s", now, since)
	}
}

// The clock is set back while the fires of one moment are being made: no offer is held for the rest of them meanwhile.
func TestNoOfferIsHeldForFiresThatTheClockHasPutOff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.FiresPerStep = 2
	s.restart()
	s.app()
	for i := range 10 {
		s.job(oneShard, everyFiveSeconds, func(j *jobs.Config) { j.JobName = fmt.Sprint("j", i) })
	}
	for end := s.now.Add(time.Minute); s.core.due == nil; s.after(100 * time.Millisecond) {
		if s.now.After(end) {
			t.Fatal("no moment's fires take more than one step")
		}
	}
	if _, _, all := s.core.upcoming(s.now.Add(time.Second)); !all {
		t.Error("nothing is held for fires that are being made")
	}
	s.skew = -time.Hour
	s.step()
	if _, _, all := s.core.upcoming(s.now.Add(time.Second)); all || s.core.due == nil {
		t.Errorf("all offers are held: %v; fires are left of the moment: %v", all, s.core.due != nil)
	}
}
