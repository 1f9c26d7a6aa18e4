package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// TestX8AShardKilledWhileTheServerStopsIsPlacedAgain kills a daemon's shard while the server stops. The shard must not
// be recorded as killed, so that the next server places it.
func TestX8AShardKilledWhileTheServerStopsIsPlacedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) {
		c.JobExecutionType, c.Cron, c.ShardingTotalCount = jobs.Daemon, "0/10 * * * * ?", 2
	})
	s.offer("S1", 8, 8192)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	s.step(Request{Token: 1, Event: operator.KillRequested{TaskID: launches[0].TaskID}})
	s.step(Drain{})
	for _, l := range launches {
		s.update(l, cluster.Killed)
	}
	e := s.core.executions.Standing("my_job")
	if e == nil {
		t.Fatal("the standing execution has ended")
	}
	for i := range e.NumShards() {
		if sh := e.Shard(i); sh.State() != executions.Waiting {
			t.Errorf("item %d is %s, %q; want it to wait for the next server", i, sh.State(), sh.Cause())
		}
	}
}

// TestTheOverviewNamesSilentDaemons checks that the overview shows a problem while a daemon sends no reports. The
// problem describes the shard that has been silent longest, and disappears with the next report.
func TestTheOverviewNamesSilentDaemons(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) {
		c.JobExecutionType, c.Cron, c.ShardingTotalCount = jobs.Daemon, "0/10 * * * * ?", 2
	})
	s.offer("S1", 8, 8192)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	silentDaemons := func() (found []views.Problem) {
		for _, p := range s.core.views.Facts().Problems {
			if p.Kind == views.ProblemDaemonSilent {
				found = append(found, p)
			}
		}
		return found
	}
	if got := silentDaemons(); len(got) != 0 {
		t.Fatalf("just after its launch: %+v", got)
	}
	for range 90 {
		s.stepAfter(time.Second)
	}
	got := silentDaemons()
	if len(got) != 1 || got[0].Job != "my_job" || got[0].App != "my_app" || got[0].Agent != "S1" ||
		got[0].Count != 2 || !got[0].Why.Is("executor_quiet") ||
		s.wall().Sub(got[0].Since) < time.Minute {
		t.Errorf("after 90 s: %+v", got)
	}
	s.sendReport(launches[0], wire.Report{Time: s.wall()})
	if got := silentDaemons(); len(got) != 0 {
		t.Errorf("after a report: %+v", got)
	}
}

// TestNotesOfFinishedRunsAreShown checks that a note about a finished run, such as the memory that it used, is shown
// with the shard. Explain shows it too, until the next run.
func TestNotesOfFinishedRunsAreShown(t *testing.T) {
	t.Parallel()
	const memoryNote = "it used up to 300 MB of memory"
	s := newStage(t)
	s.app()
	s.job(oneShard)
	for _, note := range []string{memoryNote, ""} {
		id, launches := s.launch()
		s.update(launches[0], cluster.Finished, func(u *cluster.Update) { u.Status = &wire.Status{Cause: note} })
		if got := s.execution(id).Shards[0]; got.Note != note || got.FailureCause != "" {
			t.Errorf("the shard is shown as %+v, want the note %q", got, note)
		}
		notes := strings.Join(s.explain("my_job").Notes, "; ")
		if strings.Contains(notes, "item 0: its last run") != (note != "") || !strings.Contains(notes, note) {
			t.Errorf("explain has the notes %q, want %q among them", notes, note)
		}
	}
}

// TestTheLastFailedRunOfADaemonIsShown checks that the last failed run is shown with its reason, even after later runs
// have finished.
func TestTheLastFailedRunOfADaemonIsShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(c *jobs.Config) { c.JobExecutionType, c.Cron = jobs.Daemon, "0/10 * * * * ?" })
	s.offer("S1", 8, 8192)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	failed := s.wall().Add(10 * time.Second)
	for i, state := range []string{wire.RunFailed, wire.RunFinished} {
		s.stepAfter(10 * time.Second)
		fire := failed.Add(time.Duration(i) * 10 * time.Second)
		run := &wire.Run{Number: int64(i + 1), Fire: fire, State: state, Start: fire, Complete: fire}
		if state == wire.RunFailed {
			run.Cause = "no luck"
		}
		s.update(launches[0], cluster.Running, func(u *cluster.Update) {
			u.UUID, u.Status = []byte("run "+state), &wire.Status{Run: run}
		})
	}
	d := s.execution(s.core.executions.Standing("my_job").ID()).Shards[0].Daemon
	if d.LastRun == nil || d.LastRun.State != wire.RunFinished {
		t.Errorf("the last run is %+v", d.LastRun)
	}
	if f := d.LastFailure; f == nil || !f.FireTime.Equal(failed) || f.FailureCause != "no luck" {
		t.Errorf("the last failed run is %+v", f)
	}
	if f := s.explain("my_job").LastFailure; f == nil || !f.FireTime.Equal(failed) ||
		!strings.Contains(f.Reason, "no luck") {
		t.Errorf("explain: the last failed run is %+v", f)
	}
}

// TestRunsOfADisabledDaemon checks that the runs of a daemon's shards are shown until the job's next execution begins.
// A request for the id of a run must name the execution to which the run belongs.
func TestRunsOfADisabledDaemon(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(c *jobs.Config) { c.JobExecutionType, c.Cron = jobs.Daemon, "0/10 * * * * ?" })
	// runAndDisable runs the daemon once, disables it, and returns the id of its execution.
	runAndDisable := func() (id string) {
		s.offer("S1", 8, 8192)
		launches := s.answerAccepts()
		s.reportRunning(launches)
		fire := s.wall().Add(10 * time.Second)
		s.stepAfter(10 * time.Second)
		run := &wire.Run{Number: 1, Fire: fire, State: wire.RunFinished, Note: "it used up to 300 MB", Start: fire,
			Complete: fire}
		s.update(launches[0], cluster.Running, func(u *cluster.Update) {
			u.UUID, u.Status = []byte("run of "+launches[0].TaskID),
				&wire.Status{Run: run, Totals: &wire.Totals{Runs: 7, Failed: 2}}
		})
		id = s.core.executions.Standing("my_job").ID()
		for _, disabled := range []bool{false, true} {
			if disabled {
				s.apply(s.core.planDisableJob("my_job", true))
				s.update(launches[0], cluster.Killed)
			}
			d := s.execution(id).Shards[0].Daemon
			if d == nil || d.Runs != 7 || d.Failed != 2 || d.LastRun == nil ||
				d.LastRun.Note != "it used up to 300 MB" ||
				(d.NextFireTime == nil) != disabled {
				t.Errorf("disabled %t: %+v", disabled, d)
			}
			notes := strings.Join(s.explain("my_job").Notes, "; ")
			if strings.Contains(notes, "ended as FINISHED: it used up to 300 MB") == disabled {
				t.Errorf("disabled %t: explain notes %q", disabled, notes)
			}
			runID := executions.ID("my_job", fire)
			if _, err := s.core.views.Execution(runID); err == nil ||
				!strings.Contains(err.Error(), "GET /api/execution/"+id) {
				t.Errorf("disabled %t: for run %s the error does not name %s: %v", disabled, runID, id, err)
			}
		}
		return id
	}
	first := runAndDisable()
	s.stepAfter(time.Minute)
	s.apply(s.core.planDisableJob("my_job", false))
	second := runAndDisable()
	if d := s.execution(first).Shards[0].Daemon; d != nil {
		t.Errorf("the counts of %s are shown with %s: %+v", second, first, d)
	}
	runID := executions.ID("my_job", s.execution(first).FireTime.Add(time.Second))
	if _, err := s.core.views.Execution(runID); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("for run %s of the first execution the error does not name %s: %v", runID, first, err)
	}
}
