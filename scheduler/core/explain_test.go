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

// A run whose shards all finished has no reason, also when its end was requested meanwhile.
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
			t.Errorf("%s: %s: %s", name, v.State, v.Reason)
		}
		for _, n := range s.last.Notes {
			if n.Kind == step.NoteExecutionEnded && n.Text() != "FINISHED" {
				t.Errorf("%s: %s", name, n.Detail)
			}
		}
	}
}

// A run waits if its agent reports why none of its launched shards begins: in explain, in the job's row, and in the
// reason that the row shows. As soon as one shard runs, the job runs.
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
			t.Errorf("in its row it is %s with %d shards, in explain %s with %d",
				row.State, row.Running, x.State, len(x.Running))
		}
		return x.State
	}
	if got := state(); got != "RUNNING" {
		t.Errorf("nothing keeps it from beginning, and it is %s", got)
	}
	const noImage = "its image can't be pulled"
	held := func(l cluster.TaskLaunch) {
		s.update(l, cluster.Starting, fromAgent(""), func(u *cluster.Update) { u.Message = noImage })
	}
	held(l[0])
	if got := state(); got != "RUNNING" {
		t.Errorf("one shard can't begin, and it is %s", got)
	}
	held(l[1])
	held(l[2])
	row, _ := s.core.views.JobRow("my_job")
	why := s.core.views.JobDetails([]string{"my_job"}, 0)[0].WaitingFor
	if got := state(); got != "WAITING" || why.String() != noImage || row.WaitingSince.IsZero() {
		t.Errorf("no shard can begin, and it is %s: %q since %v", got, why, row.WaitingSince)
	}
	s.reportRunning(l[:1])
	if got := state(); got != "RUNNING" {
		t.Errorf("one shard runs, and it is %s", got)
	}
}

// explain lists the shards of a running execution that ended without finishing beside the running ones, because the
// run will fail.
func TestLostShardsOfARunUnderWayAreTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob()
	s.update(l[1], cluster.Lost, fromAgent(""), func(u *cluster.Update) { u.Message = "its machine was switched off" })
	s.update(l[2], cluster.Finished)
	x := s.explain("my_job")
	if len(x.Running) != 1 || len(x.Ended) != 1 {
		t.Fatalf("explain has %+v", x)
	}
	e := x.Ended[0]
	if e.ExecutionID != x.Running[0].ExecutionID || e.Item != 1 || e.TaskID != l[1].TaskID ||
		e.State != executions.Lost ||
		e.Agent != "S1" || !strings.Contains(e.Reason, "switched off") {
		t.Errorf("the lost shard is told as %+v", e)
	}
	s.update(l[0], cluster.Finished)
	if x := s.explain("my_job"); len(x.Ended) != 0 || x.LastRun.State != executions.Failed {
		t.Errorf("of a run that has ended explain has %+v", x)
	}
}

// Shards that can never start together are noted when the job is registered, and the note disappears with the
// shortage.
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
		t.Errorf("no agent was seen yet: %s", got)
	}
	s.offer("S1", 8, 8192)
	s.offer("S2", 4.5, 8192)
	if got := notes(); !strings.Contains(got, "room for only 11 of its 10000 shards,") {
		t.Error(got)
	}
	s.updateJob("my_job", func(j *jobs.Config) { j.ShardingTotalCount = 11 })
	if got := notes(); got != "" {
		t.Error(got)
	}
}

// The failure cause of a task whose executor ended names the executor, the agent, and where to look.
func TestAnExecutorsEndIsASentence(t *testing.T) {
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
		t.Errorf("%s\nwant %s", v.Shards[0].FailureCause, want)
	}
}

func TestReasonCountsWhatWeUseOurselves(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(func(j *jobs.Config) { j.ShardingTotalCount = 6 })
	s.restart()
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "two", 3 })
	s.triggerJob("two")
	for _, one := range l {
		s.update(one, cluster.Running, fromMaster(cluster.ReasonReconciliation))
	}
	s.offer("S1", 1.5, 1024, l[0].Executor.ID)
	for _, e := range s.core.executions.Launchable() {
		if e.Unplaced().Never {
			t.Fatalf("3 CPUs would fit the agent of 8 that is busy with our own tasks; reason %q", e.Unplaced().Why)
		}
	}
}

// The only large agent is occupied by an idle executor and so has nothing on offer.
func TestNeverIsSaidOnlyOfWhatNoKnownAgentCouldHold(t *testing.T) {
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
	s.offer("S2", 1, 8192) // held for the fire that is soon
	for range 30 {
		s.runFor(time.Second)
		if s.core.placement.Held().Len() == 0 {
			s.offer("S2", 1, 8192)
		}
	}
	x, err := s.core.views.Explain("other")
	if err != nil || len(x.Waiting) == 0 || strings.Contains(x.Waiting[0].Reason, "can ever hold") {
		t.Errorf("S1 has 4 CPU and runs nothing: %+v, %v", x.Waiting, err)
	}
	if !s.core.executors.Get(l[0].Executor.ID).IsClosing() {
		t.Error("the idle executor stays in its way")
	}
}

func TestExplainSaysThatWhatRunsMayBeOld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runJob(oneShard)
	noted := func() bool {
		x := s.explain("my_job")
		if len(x.Running) != 1 {
			t.Fatalf("%+v", x)
		}
		return strings.Contains(strings.Join(x.Notes, "\n"),
			"as they were last known: the scheduler has no connection to the cluster: connection refused")
	}
	if noted() {
		t.Error("said while subscribed")
	}
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "connection refused"})
	if !noted() {
		t.Error("not said without a subscription")
	}
}

// The shards of a daemon stay after its cron has fired for the last time; it cannot be triggered.
func TestExplainOfADaemonWhoseCronIsOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobExecutionType, j.Cron = jobs.Daemon, "0 0 0 1 1 ? 2020" })
	if notes := strings.Join(s.explain("my_job").Notes, "; "); !strings.Contains(notes, "the shards stay") ||
		strings.Contains(notes, "on trigger") {
		t.Errorf("notes: %s", notes)
	}
}

// The id that a daemon's run has in the log, in explain and in its program's environment leads to its execution.
func TestIDOfADaemonsRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobExecutionType, j.Cron = jobs.Daemon, "* * * * * ?" })
	standing := s.core.executions.Standing("my_job").ID()
	if _, err := s.core.views.Execution("my_job@20261121T080000Z"); err == nil ||
		!strings.Contains(err.Error(), "GET /api/execution/"+standing) {
		t.Errorf("%v; want a word of %s", err, standing)
	}
	if _, err := s.core.views.Execution("other@20261121T080000Z"); err == nil ||
		!strings.Contains(err.Error(), "there is no execution") {
		t.Errorf("%v", err)
	}
}
