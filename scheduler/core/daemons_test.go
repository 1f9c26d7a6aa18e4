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

// A daemon's shard that is killed while the server stops is not recorded as killed: the next server places it again.
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
		t.Fatal("there is no standing execution any more")
	}
	for i := range e.NumShards() {
		if sh := e.Shard(i); sh.State() != executions.Waiting {
			t.Errorf("item %d is %s, %q; want it to wait for the next server", i, sh.State(), sh.Cause())
		}
	}
}

// An overview names a daemon that sends no reports, by the shard that has been silent longest, until it reports again.
func TestAnOverviewNamesSilentDaemons(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) {
		c.JobExecutionType, c.Cron, c.ShardingTotalCount = jobs.Daemon, "0/10 * * * * ?", 2
	})
	s.offer("S1", 8, 8192)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	silent := func() (found []views.Problem) {
		for _, trouble := range s.core.views.Facts().Problems {
			if trouble.Kind == views.ProblemDaemonSilent {
				found = append(found, trouble)
			}
		}
		return found
	}
	if got := silent(); len(got) != 0 {
		t.Fatalf("it has just begun: %+v", got)
	}
	for range 90 {
		s.stepAfter(time.Second)
	}
	got := silent()
	if len(got) != 1 || got[0].Job != "my_job" || got[0].App != "my_app" || got[0].Agent != "S1" ||
		got[0].Count != 2 || !got[0].Why.Is("executor_quiet") ||
		s.wall().Sub(got[0].Since) < time.Minute {
		t.Errorf("after 90 s: %+v", got)
	}
	s.sendReport(launches[0], wire.Report{Time: s.wall()})
	if got := silent(); len(got) != 0 {
		t.Errorf("its executor was heard: %+v", got)
	}
}

// What is notable about a run that finished, such as its use of memory, is shown with the shard, and in explain as long
// as the run is the last one.
func TestWhatIsNotableOfFinishedRuns(t *testing.T) {
	t.Parallel()
	const used = "it used up to 300 MB of memory"
	s := newStage(t)
	s.app()
	s.job(oneShard)
	for _, note := range []string{used, ""} {
		id, launches := s.launch()
		s.update(launches[0], cluster.Finished, func(u *cluster.Update) { u.Status = &wire.Status{Cause: note} })
		if got := s.execution(id).Shards[0]; got.Note != note || got.FailureCause != "" {
			t.Errorf("%+v, want the note %q", got, note)
		}
		notes := strings.Join(s.explain("my_job").Notes, "; ")
		if strings.Contains(notes, "item 0: its last run") != (note != "") || !strings.Contains(notes, note) {
			t.Errorf("explain notes %q, want %q", notes, note)
		}
	}
}

// TestTheLastFailedRunOfADaemonIsShown with its reason, also after runs that finished since.
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

// The runs of a daemon's shards are shown until the job's next execution begins, and their ids lead to the execution
// that they belong to.
func TestRunsOfADisabledDaemon(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(c *jobs.Config) { c.JobExecutionType, c.Cron = jobs.Daemon, "0/10 * * * * ?" })
	started := func() (id string) {
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
			ofRun := executions.ID("my_job", fire)
			if _, err := s.core.views.Execution(ofRun); err == nil ||
				!strings.Contains(err.Error(), "GET /api/execution/"+id) {
				t.Errorf("disabled %t: the execution of run %s is not %s: %v", disabled, ofRun, id, err)
			}
		}
		return id
	}
	first := started()
	s.stepAfter(time.Minute)
	s.apply(s.core.planDisableJob("my_job", false))
	second := started()
	if d := s.execution(first).Shards[0].Daemon; d != nil {
		t.Errorf("the counts of %s are shown with %s: %+v", second, first, d)
	}
	if _, err := s.core.views.Execution(executions.ID("my_job",
		s.execution(first).FireTime.Add(time.Second))); err == nil ||
		!strings.Contains(err.Error(), first) {
		t.Errorf("a run of %s: %v", first, err)
	}
}
