package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestAFinishedRunHasNoReason checks that a run has no reason if all its shards finished, even if its end was requested
// before.
func TestAFinishedRunHasNoReason(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*stage){
		"stop":    func(s *stage) { s.step(Drain{}) },
		"disable": func(s *stage) { s.apply(s.core.planDisableJob("my_job", true)) },
	} {
		s := newStage(t)
		s.app()
		s.job(oneShard)
		id, l := s.launch()
		s.reportRunning(l)
		end(s)
		s.update(l[0], cluster.Finished)
		if v := s.execution(id); v.State != executions.Finished || v.Reason != "" {
			t.Errorf("%s: the run is %s, and has the reason %q", name, v.State, v.Reason)
		}
		for _, n := range s.last.Notes {
			if n.Kind == step.NoteExecutionEnded && n.Text() != "FINISHED" {
				t.Errorf("%s: the log says %s", name, n.Detail)
			}
		}
	}
}

// TestARunThatCannotBeginWaits checks that a job is shown as waiting, with the reason that its agent reports, while
// none of its launched shards can begin. Explain and the job's row must agree. The job is shown as running as soon as
// one shard runs, or while not all shards have such a reason.
func TestARunThatCannotBeginWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	_, l := s.launch()
	state := func() string {
		t.Helper()
		row, _ := s.core.views.JobRow("my_job")
		x := s.explain("my_job")
		if row.State != x.State || row.Running != 3 || len(x.Running) != 3 {
			t.Errorf("the row shows the job as %s with %d shards, explain as %s with %d", row.State,
				row.Running, x.State, len(x.Running))
		}
		return x.State
	}
	if got := state(); got != "RUNNING" {
		t.Errorf("just launched, the job is %s", got)
	}
	const noImage = "its image can't be pulled"
	reportNoImage := func(l cluster.TaskLaunch) {
		s.update(l, cluster.Starting, fromAgent(""), func(u *cluster.Update) { u.Message = noImage })
	}
	reportNoImage(l[0])
	if got := state(); got != "RUNNING" {
		t.Errorf("although only one shard can't begin, the job is %s", got)
	}
	reportNoImage(l[1])
	reportNoImage(l[2])
	row, _ := s.core.views.JobRow("my_job")
	why := s.core.views.JobDetails([]string{"my_job"}, 0)[0].WaitingFor
	if got := state(); got != "WAITING" || why.String() != noImage || row.WaitingSince.IsZero() {
		t.Errorf("although no shard can begin, the job is %s: %q since %v", got, why, row.WaitingSince)
	}
	s.reportRunning(l[:1])
	if got := state(); got != "RUNNING" {
		t.Errorf("although one shard runs, the job is %s", got)
	}
}

// TestLostShardsOfARunUnderWayAreShown checks that explain lists not only the running shards of a run, but also those
// that ended without finishing, because they will make the run fail.
func TestLostShardsOfARunUnderWayAreShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob()
	s.update(l[1], cluster.Lost, fromAgent(""), func(u *cluster.Update) { u.Message = "its machine was switched off" })
	s.update(l[2], cluster.Finished)
	x := s.explain("my_job")
	if len(x.Running) != 1 || len(x.Ended) != 1 {
		t.Fatalf("explain shows %+v, want one running and one ended shard", x)
	}
	e := x.Ended[0]
	if e.ExecutionID != x.Running[0].ExecutionID || e.Item != 1 || e.TaskID != l[1].TaskID ||
		e.State != executions.Lost || e.Agent != "S1" || !strings.Contains(e.Reason, "switched off") {
		t.Errorf("explain shows the lost shard as %+v", e)
	}
	s.update(l[0], cluster.Finished)
	if x := s.explain("my_job"); len(x.Ended) != 0 || x.LastRun.State != executions.Failed {
		t.Errorf("after the end of the run, explain shows %+v", x)
	}
}

// TestShardsThatNeverFitTogetherAreNoted checks that a job has a note while the known agents have no room for all its
// shards together.
func TestShardsThatNeverFitTogetherAreNoted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	notes := func() string {
		t.Helper()
		v, err := s.core.views.Job("my_job")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(v.Notes, "; ")
	}
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 10_000 })
	if got := notes(); got != "" {
		t.Errorf("noted before any agent was seen: %s", got)
	}
	s.offer("S1", 8, 8192)
	s.offer("S2", 4.5, 8192)
	if got := notes(); !strings.Contains(got, "room for only 11 of its 10000 shards,") {
		t.Errorf("noted %q for too many shards", got)
	}
	s.updateJob("my_job", func(j *jobs.Config) { j.ShardingTotalCount = 11 })
	if got := notes(); got != "" {
		t.Errorf("noted %q for shards that fit", got)
	}
}

// TestTheEndOfAnExecutorIsExplained checks the failure cause of a task whose executor ended: it names the executor and
// the agent, and says where to find out more.
func TestTheEndOfAnExecutorIsExplained(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id, l := s.launch()
	s.reportRunning(l)
	s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated),
		func(u *cluster.Update) { u.ExecutorID, u.Message = "", "Executor terminated" })
	want := "its executor my_app@-@S1@-@1 on agent S1 ended before the task did (FAILED, EXECUTOR_TERMINATED: Executor terminated): it was killed, was over a limit, or had a fault; " +
		"its stderr (GET /api/operate/sandbox with the app's name) and that agent's log tell more"
	if v := s.execution(id); v.Shards[0].FailureCause != want {
		t.Errorf("the failure cause is %s\nwant %s", v.Shards[0].FailureCause, want)
	}
}

// TestReasonsCountWhatThisSchedulerUses checks that a shard is not called too large for an agent if it would fit there
// without the tasks of this scheduler.
func TestReasonsCountWhatThisSchedulerUses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	launches := s.runJob(func(j *jobs.Config) { j.ShardingTotalCount = 6 })
	s.restart()
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "two", 3 })
	s.triggerJob("two")
	for _, l := range launches {
		s.update(l, cluster.Running, fromMaster(cluster.ReasonReconciliation))
	}
	s.offer("S1", 1.5, 1024, launches[0].Executor.ID)
	for _, e := range s.core.executions.Launchable() {
		if e.Unplaced().Never {
			t.Fatalf("a shard of 3 CPUs never fits an agent of 8, by the reason %q", e.Unplaced().Why)
		}
	}
}

// TestNeverIsSaidOnlyIfNoKnownAgentIsLargeEnough occupies the only large agent with an idle executor, so that the
// agent makes no offers. The reason of a shard that needs this agent must not say that no agent can ever hold the
// shard, and the idle executor must be shut down for it.
func TestNeverIsSaidOnlyIfNoKnownAgentIsLargeEnough(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorIdle = time.Hour
	s.restart()
	s.app(func(a *app.Config) { a.CPUCount, a.MemoryMB = 3, 1024 })
	s.app(func(a *app.Config) { a.AppName, a.CPUCount = "other_app", 0.5 })
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 1 })
	s.job(oneShard, func(j *jobs.Config) {
		j.JobName, j.AppName, j.CPUCount, j.Cron = "other", "other_app", 2, "0/5 * * * * ?"
	})
	l := s.startWithCPUs(4)
	s.reportRunning(l)
	s.reportFinished(l)
	s.runFor(time.Second)
	s.now = s.now.Truncate(5 * time.Second).Add(3500 * time.Millisecond)
	s.step()
	s.offer("S2", 1, 8192) // held for the upcoming fire
	for range 30 {
		s.runFor(time.Second)
		if s.core.placement.Held().Len() == 0 {
			s.offer("S2", 1, 8192)
		}
	}
	x, err := s.core.views.Explain("other")
	if err != nil || len(x.Waiting) == 0 || strings.Contains(x.Waiting[0].Reason, "can ever hold") {
		t.Errorf("S1 has 4 CPU and runs no task, but explain shows %+v, %v", x.Waiting, err)
	}
	if !s.core.executors.Get(l[0].Executor.ID).IsClosing() {
		t.Error("the idle executor is not shut down for the waiting shard")
	}
}

// TestExplainWithoutASessionSaysThatItMayBeOutdated checks that explain has a note while the core has no session: the
// running shards are shown as they were last known.
func TestExplainWithoutASessionSaysThatItMayBeOutdated(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runJob(oneShard)
	noted := func() bool {
		x := s.explain("my_job")
		if len(x.Running) != 1 {
			t.Fatalf("explain shows %+v, want one running shard", x)
		}
		return strings.Contains(strings.Join(x.Notes, "\n"),
			"as they were last known: the scheduler has no connection to the cluster: connection refused")
	}
	if noted() {
		t.Error("noted during a session")
	}
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "connection refused"})
	if !noted() {
		t.Error("not noted without a session")
	}
}

// TestExplainOfADaemonWhoseCronHasEnded checks the note of a daemon whose cron never fires again: its shards stay, and
// it cannot be triggered.
func TestExplainOfADaemonWhoseCronHasEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobExecutionType, j.Cron = jobs.Daemon, "0 0 0 1 1 ? 2020" })
	if notes := strings.Join(s.explain("my_job").Notes, "; "); !strings.Contains(notes, "the shards stay") ||
		strings.Contains(notes, "on trigger") {
		t.Errorf("explain has the notes %s", notes)
	}
}

// TestIDOfADaemonsRun checks that a request for the id of a daemon's run, which users know from logs, explain and the
// environment of programs, names the execution of the run.
func TestIDOfADaemonsRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobExecutionType, j.Cron = jobs.Daemon, "* * * * * ?" })
	standing := s.core.executions.Standing("my_job").ID()
	if _, err := s.core.views.Execution("my_job@20261121T080000Z"); err == nil ||
		!strings.Contains(err.Error(), "GET /api/execution/"+standing) {
		t.Errorf("the error for a daemon's run is %v, want one that names %s", err, standing)
	}
	if _, err := s.core.views.Execution("other@20261121T080000Z"); err == nil ||
		!strings.Contains(err.Error(), "there is no execution") {
		t.Errorf("the error for a job that does not exist is %v", err)
	}
}
