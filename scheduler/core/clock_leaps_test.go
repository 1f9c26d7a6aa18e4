package core

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// to2099 is the time from the beginning of a stage to the year 2099.
var to2099 = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).Sub(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))

// newStageOfLeaps returns a stage with an app. Its core keeps only one ended execution, so that only the fire cursor
// tells which fires were made.
func newStageOfLeaps(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.opt.MaxEnded = 1
	s.restart()
	s.app()
	return s
}

// named gives a job a name, a cron and one shard.
func named(name, cron string) func(*jobs.Config) {
	return func(j *jobs.Config) { j.JobName, j.Cron, j.ShardingTotalCount = name, cron, 1 }
}

// fireFor lets a duration pass, from fire to fire. It kills every execution as soon as it is created, so that no fire
// waits for an earlier one.
func (s *stage) fireFor(d time.Duration) {
	s.t.Helper()
	s.stepAndKill() // the clock may have been set
	for end := s.now.Add(d); s.now.Before(end); {
		at, fires := s.core.fires.Next()
		if at = at.Add(-s.skew); !fires || at.After(end) {
			at = end
		}
		if s.now = s.now.Add(time.Millisecond); at.After(s.now) {
			s.now = at
		}
		s.stepAndKill()
	}
}

// stepAndKill takes a step, and then kills all open executions.
func (s *stage) stepAndKill() {
	s.t.Helper()
	s.step()
	for _, id := range s.core.executions.OpenIDs() {
		s.step(Request{Token: 1, Event: operator.KillRequested{ExecutionID: id}})
	}
}

// createdOf returns the fire times of all executions that were created for a job, as their ids contain them.
func (s *stage) createdOf(job string) (fires []string) {
	for _, id := range s.created {
		if fire, isOfJob := strings.CutPrefix(id, job+"@"); isOfJob {
			fires = append(fires, fire)
		}
	}
	return fires
}

// checkOnce fails if an execution was created twice.
func (s *stage) checkOnce() {
	s.t.Helper()
	ids := slices.Sorted(slices.Values(s.created))
	for i := range ids {
		if i > 0 && ids[i] == ids[i-1] {
			s.t.Errorf("execution %s was created twice", ids[i])
		}
	}
}

// TestF4FiresGoOnAfterALeapOfTheClock sets the clock to 2099 for five seconds. Every fire of the true time must be made
// exactly once, even if the leader changes meanwhile.
func TestF4FiresGoOnAfterALeapOfTheClock(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(s *stage, moment string){
		"one leader":                 func(*stage, string) {},
		"another leader in the leap": func(s *stage, moment string) { restartIf(s, moment == "leap") },
		"another leader after it":    func(s *stage, moment string) { restartIf(s, moment == "back") },
	} {
		for _, misfire := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newStageOfLeaps(t)
				s.job(named("my_job", "0/10 * * * * ?"), func(j *jobs.Config) { j.Misfire = misfire })
				s.fireFor(time.Minute)
				s.skew = to2099
				restart(s, "leap")
				s.fireFor(5 * time.Second)
				s.skew = 0
				restart(s, "back")
				s.fireFor(time.Minute)
				s.checkOnce()
				for i := range 12 {
					want := time.Date(2026, 11, 21, 8, 0, 10*i+10, 0, time.UTC).Format("20060102T150405Z")
					if !slices.Contains(s.createdOf("my_job"), want) {
						t.Errorf("the fire of %s was not made", want)
					}
				}
			})
		}
	}
}

// restartIf restarts the core if a condition holds.
func restartIf(s *stage, condition bool) {
	if condition {
		s.restart()
	}
}

// TestF2ChangesWhileTheClockWasAheadCountFromItsReturn registers, enables and changes jobs while the clock is ahead.
// They must fire as soon as the clock is right again, because none of their fires was made while it was ahead.
func TestF2ChangesWhileTheClockWasAheadCountFromItsReturn(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"years": to2099, "two days": 48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStageOfLeaps(t)
			s.job(named("enabled", "0/10 * * * * ?"))
			s.job(named("changed", "0 0 3 * * ?"))
			s.apply(s.core.planDisableJob("enabled", true))
			s.apply(s.core.planDisableJob("changed", false))
			s.skew = ahead
			s.step()
			s.apply(s.core.planDisableJob("enabled", false))
			s.updateJob("changed", func(j *jobs.Config) { j.Cron = "0/10 * * * * ?" })
			s.job(named("registered", "0/10 * * * * ?"))
			s.skew = 0
			s.step()
			s.fireFor(15 * time.Second)
			for _, job := range []string{"enabled", "changed", "registered"} {
				if fires := s.createdOf(job); !slices.Equal(fires, []string{"20261121T080010Z"}) {
					t.Errorf("%s has the fires %v, want only that of 8:00:10", job, fires)
				}
			}
		})
	}
}

// TestF4TheFirstTermBeginsInALeap checks that fires are made at the true time after the very first term began while the
// clock was ahead.
func TestF4TheFirstTermBeginsInALeap(t *testing.T) {
	t.Parallel()
	s := newStageOfLeaps(t)
	clear(s.stored)
	s.skew = to2099
	s.restart()
	s.app()
	s.job(named("my_job", "0/10 * * * * ?"))
	s.fireFor(20 * time.Second)
	s.skew = 0
	s.fireFor(20 * time.Second)
	s.checkOnce()
	if fires := s.createdOf("my_job"); !slices.Contains(fires, "20261121T080030Z") {
		t.Errorf("the fire of 8:00:30 is missing in %v", fires)
	}
}

// TestF4FiresMadeAheadAreMadeOnce lets the clock pass some days twice. The fires that were made while the clock was
// ahead must not be made a second time: neither as late fires of jobs with misfire, nor for a job that was removed and
// registered again, nor by another leader. All other fires must be made.
func TestF4FiresMadeAheadAreMadeOnce(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		s := newStageOfLeaps(t)
		s.job(named("plain", "0 0 0/3 * * ?"))
		s.job(named("late", "0 0 0/3 * * ?"), withMisfire)
		s.job(named("again", "0 0 0/3 * * ?"), withMisfire)
		s.fireFor(4 * time.Hour)
		s.skew = 72 * time.Hour
		s.fireFor(24 * time.Hour) // by the clock from the 24th, 12:00, to the 25th, 12:00
		s.skew = 0
		s.step()
		s.apply(s.core.planDeregisterJob("again"))
		s.fireFor(time.Hour)
		s.job(named("again", "0 0 0/3 * * ?"), withMisfire)
		for range 5 * 6 {
			if restarts {
				s.restart()
			}
			s.fireFor(4 * time.Hour)
		}
		s.checkOnce()
		for job, mayBeMissing := range map[string]func(time.Time) bool{
			// A job without misfire makes no late fires for the time in which the clock was ahead (rule F3).
			"plain": func(at time.Time) bool { return at.Day() < 22 || at.Day() == 22 && at.Hour() <= 9 },
			"late":  func(time.Time) bool { return false },
		} {
			for at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC); at.Before(s.now); at = at.Add(3 * time.Hour) {
				if !slices.Contains(s.createdOf(job), at.Format("20060102T150405Z")) && !mayBeMissing(at) {
					t.Errorf("%s did not make the fire of %s", job, at)
				}
			}
		}
	}
}

// TestF4WithoutALeapTheCursorStays sets the clock back although it was not ahead. If it goes back by less than a day,
// the fire cursor must not go back. No execution may be created twice in any case.
func TestF4WithoutALeapTheCursorStays(t *testing.T) {
	t.Parallel()
	s := newStageOfLeaps(t)
	s.job(named("my_job", "0 0 * * * ?"))
	s.fireFor(90 * time.Minute)
	for _, back := range []time.Duration{20 * time.Hour, 70 * time.Hour} {
		before := s.core.fires.MadeUpTo()
		s.skew -= back
		s.fireFor(time.Minute)
		if got := s.core.fires.MadeUpTo(); got.Before(before) && back < 24*time.Hour {
			t.Errorf("the cursor went from %s to %s", before, got)
		}
	}
	s.checkOnce()
}

// TestAnOlderReleaseLeadsInBetween checks that a release that does not know about leaps can lead for a while. The
// cursor's record must have its older form. Leaps are stored in separate entries, which such a release neither reads
// nor writes.
func TestAnOlderReleaseLeadsInBetween(t *testing.T) {
	t.Parallel()
	s := newStageOfLeaps(t)
	s.job(named("my_job", "0/10 * * * * ?"))
	s.fireFor(time.Minute)
	s.skew = to2099
	s.fireFor(5 * time.Second)
	s.skew = 0
	s.fireFor(time.Minute)
	record := string(s.stored[store.PathCursor])
	if record != `{"time":"2026-11-21T08:02:00Z","job":"~"}` {
		t.Errorf("the record is %s", record)
	}
	// The older release makes the fires up to 8:03.
	s.stored[store.PathCursor] = []byte(`{"time":"2026-11-21T08:03:00Z","job":"~"}`)
	s.restart()
	s.skew = to2099
	s.fireFor(5 * time.Second)
	s.skew = 0
	s.fireFor(2 * time.Minute)
	s.checkOnce()
	if fires := s.createdOf("my_job"); !slices.Contains(fires, "20261121T080310Z") {
		t.Errorf("the fire of 8:03:10 is missing in %v", fires)
	}
}

// TestF4ARestoredCopyFiresWhenTheClockIsRight makes a copy of the registry before, during or after a leap, and restores
// it while the clock is ahead, or later. The fires after the leap must all be made.
func TestF4ARestoredCopyFiresWhenTheClockIsRight(t *testing.T) {
	t.Parallel()
	for _, copied := range []string{"before", "leap", "back"} {
		for _, restored := range []string{"leap", "back"} {
			t.Run(copied+" "+restored, func(t *testing.T) {
				t.Parallel()
				s := newStageOfLeaps(t)
				s.job(named("my_job", "0/10 * * * * ?"))
				s.fireFor(time.Minute)
				var backup map[string][]byte
				reach := func(moment string) {
					if moment == copied {
						backup = maps.Clone(s.stored)
					}
					if moment == restored && backup != nil {
						s.stored, s.created = maps.Clone(backup), nil
						s.restart()
					}
				}
				reach("before")
				s.skew = to2099
				s.fireFor(5 * time.Second)
				reach("leap")
				s.fireFor(5 * time.Second)
				s.skew = 0
				s.fireFor(10 * time.Second)
				reach("back")
				s.fireFor(30 * time.Second)
				fires := s.createdOf("my_job")
				for _, want := range []string{"20261121T080130Z", "20261121T080140Z", "20261121T080150Z"} {
					if !slices.Contains(fires, want) {
						t.Errorf("the fire of %s is missing in %v", want, fires)
					}
				}
			})
		}
	}
}

// TestF4AFaultyJobKeepsItsRecord checks that a job keeps its record, for instance its pause, if its document cannot be
// read when a leader finds that the clock was set back.
func TestF4AFaultyJobKeepsItsRecord(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.moveClock(48 * time.Hour)
	s.job(everyFiveSeconds)
	s.step(Request{Token: 1, Event: operator.PauseRequested{Job: "my_job", Paused: true}})
	s.stored[store.Under(store.PathJobs, "my_job")] = []byte("{junk")
	s.skew = 0
	s.restart()
	s.runFor(time.Minute)
	if record := s.stored[store.Under(store.PathJobState, "my_job")]; !strings.Contains(string(record), `"paused":true`) {
		t.Errorf("the record is %q", record)
	}
}
