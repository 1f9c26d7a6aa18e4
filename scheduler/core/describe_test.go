package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// large gives a job 20 shards that share about 40 KiB of settings. Items 0 and 7 also have their own parameters.
func large(j *jobs.Config) {
	j.JobParameter = strings.Repeat("p", 20<<10)
	j.Env = document.Texts{"A": {Value: strings.Repeat("a", 20<<10)}}
	j.ShardingTotalCount, j.CPUCount, j.ShardingItemParameters = 20, 0.1, "0=x,7="+strings.Repeat("y", 1000)
}

// TestL1L3LaunchesStayWithinOneCall checks that no ACCEPT exceeds its limit. The shards of a first launch that do not
// fit into one call must follow as soon as their agent is offered again. The shards of one call must share one copy of
// the common part of their description.
func TestL1L3LaunchesStayWithinOneCall(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.LaunchBytes = 256 << 10
	s.restart()
	s.app()
	s.job(large)
	s.trigger()
	var launches []cluster.TaskLaunch
	var lastLaunch time.Time
	for round := 0; len(launches) < 20; round++ {
		if round == 5 {
			t.Fatalf("%d shards launched: %+v", len(launches), s.explain("my_job"))
		}
		if round > 0 {
			if x := s.explain("my_job"); len(x.Waiting) == 0 || x.Waiting[0].Since.IsZero() ||
				!strings.Contains(x.Waiting[0].Reason,
					"shards follow with the next launch: each is sent 43 KiB of settings, and one call to an agent holds 256 KiB") {
				t.Errorf("explain: %+v", x.Waiting)
			}
			s.runFor(time.Second)
			if s.core.placement.RevivedAt().Before(lastLaunch) {
				t.Fatal("the offers of the agent are not requested for the other shards")
			}
		}
		s.offer("S1", 8, 8192)
		for _, a := range s.accepts {
			if n := a.Launch.Size(); n > s.opt.LaunchBytes {
				t.Errorf("an ACCEPT of %d bytes", n)
			}
		}
		lastLaunch = s.now
		launches = append(launches, s.answerAccepts()...)
	}
	for i, l := range launches {
		if &l.Shared[0] != &launches[i-i%5].Shared[0] {
			t.Errorf("shard %d has a separate copy of the common part", i)
		}
		described, err := l.Description()
		task := l.Task
		if err != nil || len(described) > l.Size || task.Item != i || len(task.JobParameter) != 20<<10 ||
			len(task.Env["A"]) != 20<<10 || task.TaskID != l.TaskID || task.Total != 20 {
			t.Fatalf("shard %d: %v %.200s", i, err, described)
		}
		if want := map[int]int{0: 1, 7: 1000}[i]; len(task.ShardingParameter) != want {
			t.Errorf("shard %d has a parameter of %d bytes", i, len(task.ShardingParameter))
		}
	}
}

// TestRunsThatAreTooLargeAreNotLaunched checks that the settings of all shards of a run together stay within their
// limit, in every way in which they can grow. A refusal must name the size and the limit.
func TestRunsThatAreTooLargeAreNotLaunched(t *testing.T) {
	t.Parallel()
	const tooLarge = "shards are given 421 KiB of jobParameter, env and props each, 165 MiB together, and may be given at most 64 MiB: use fewer shards"
	huge := func(j *jobs.Config) {
		j.ShardingTotalCount, j.Env = 400, document.Texts{}
		for i := range 7 {
			j.Env[fmt.Sprintf("V%d", i)] = document.Text{Value: strings.Repeat("x", 60<<10)}
		}
	}
	t.Run("stored", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(hourly)
		j := *s.core.config.Job("my_job").Config()
		huge(&j)
		s.stored[store.Under(store.PathJobs, "my_job")] = store.Encode(j)
		s.restart()
		if x := s.explain("my_job"); x.State != "FAULTY" || !strings.Contains(strings.Join(x.Notes, ";"), tooLarge) {
			t.Errorf("explain: %s %v", x.State, x.Notes)
		}
		if err := s.step(Request{Token: 1,
			Event: operator.TriggerRequested{Job: "my_job"}}).Replies[0].Err; err == nil {
			t.Error("a job with too large settings was triggered")
		}
		s.runFor(2 * time.Hour)
		s.offer("S1", 64, 64000)
		if len(s.accepts) > 0 {
			t.Error("a job with too large settings was launched")
		}
		// A server can lead even if an entry is larger than any document may be.
		s.stored[store.Under(store.PathJobs, "my_job")] = []byte(`{"jobName":"my_job","description":"` +
			strings.Repeat("x", 4<<20) + `"}`)
		s.restart()
		if x := s.explain("my_job"); x.State != "FAULTY" ||
			!strings.Contains(strings.Join(x.Notes, ";"), "at most 1048576 are read") {
			t.Errorf("explain: %s %v", x.State, x.Notes)
		}
	})
	t.Run("triggered", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { j.ShardingTotalCount = 400 })
		var o jobs.Config
		huge(&o)
		if err := s.step(Request{Token: 1, Event: operator.TriggerRequested{Job: "my_job",
			Overrides: jobs.Overrides{Env: o.Env}}}).Replies[0].Err; err == nil ||
			!strings.Contains(err.Error(), "400 "+tooLarge) {
			t.Errorf("triggered with too large overrides: %v", err)
		}
	})
	t.Run("grown since", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { j.CPUCount = 0.1 })
		var o jobs.Config
		huge(&o)
		reply := s.step(Request{Token: 1, Event: operator.TriggerRequested{Job: "my_job",
			Overrides: jobs.Overrides{Env: o.Env}}}).Replies[0]
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		s.updateJob("my_job", func(j *jobs.Config) { j.ShardingTotalCount = 400 })
		s.offer("S1", 64, 64000)
		if v := s.execution(reply.ExecutionID); len(s.accepts) > 0 || v.State != executions.Killed ||
			!strings.Contains(v.Reason, "400 "+tooLarge) {
			t.Errorf("%d ACCEPTs, %s %s", len(s.accepts), v.State, v.Reason)
		}
	})
	t.Run("launched in part by an earlier release", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { huge(j); j.ShardingTotalCount, j.CPUCount = 100, 0.1 })
		id := s.trigger()
		s.offer("S1", 64, 64000)
		first := s.answerAccepts()
		s.reportRunning(first)
		s.opt.RunBytes = 10 << 20
		s.restart()
		s.offer("S1", 64, 64000)
		s.runFor(time.Minute)
		if x := s.explain("my_job"); len(s.accepts) > 0 || len(x.Waiting) != 100-len(first) ||
			!strings.Contains(x.Waiting[0].Reason,
				"its 62 shards that wait are given 421 KiB of settings each, 26 MiB together, and at most 10 MiB can be launched") ||
			s.core.placement.Held().Len() > 0 {
			t.Errorf("%d ACCEPTs, %d offers, %d of %d wait: %+v", len(s.accepts), s.core.placement.Held().Len(),
				len(x.Waiting), 100-len(first), x.Waiting[:1])
		}
		s.step(Request{Token: 1, Event: operator.KillRequested{ExecutionID: id}})
		for _, l := range first {
			s.update(l, cluster.Killed)
		}
		if v := s.execution(id); v.State != executions.Killed {
			t.Errorf("killed on request, it is %s", v.State)
		}
	})
	t.Run("retried in part", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { huge(j); j.ShardingTotalCount, j.CPUCount, j.MaxRetries = 30, 0.1, 1 })
		s.trigger()
		s.offer("S1", 64, 64000)
		first := s.answerAccepts()
		s.reportRunning(first)
		s.opt.RunBytes = 10 << 20 // less than the 12 MiB of all shards, but more than those of 20
		s.restart()
		for _, l := range first[:20] {
			s.reportFailed(l)
		}
		s.runFor(time.Minute)
		s.offer("S1", 64, 64000)
		if again := s.answerAccepts(); len(first) != 30 || len(again) != 20 {
			t.Errorf("%d of 20 failed shards are launched again: %+v", len(again), s.explain("my_job").Waiting[:1])
		}
	})
	t.Run("grown with its app", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app(func(a *app.Config) { a.BootstrapScript = "bin/start.sh " + strings.Repeat("x", 60<<10) })
		s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = 10_000, 0.001 })
		s.trigger()
		s.offer("S1", 64, 1e6)
		if x := s.explain("my_job"); len(s.accepts) > 0 || len(x.Waiting) == 0 ||
			!strings.Contains(x.Waiting[0].Reason,
				"its 10000 shards are given 61 KiB of settings each, 589 MiB together, and at most 128 MiB can be launched") {
			t.Errorf("%d ACCEPTs, %+v", len(s.accepts), x.Waiting[:1])
		}
		s.apply(s.core.planUpdateApp("my_app",
			func(a app.Config) (app.Config, error) { a.BootstrapScript = "bin/start.sh"; return a, nil }))
		s.runFor(time.Second)
		s.offer("S1", 64, 1e6)
		if got := s.answerAccepts(); len(got) != 10_000 {
			t.Errorf("%d shards are launched with the smaller app, want 10,000", len(got))
		}
	})
}

// TestOnlyCommandsOfScriptJobsGetTheContext checks that only the command of a script job gets the sharding context as
// an argument, unless the property script.context.argument of the job is false. The fingerprint of a job without that
// property stays the same, so that the update to this release replaces no daemons.
func TestOnlyCommandsOfScriptJobsGetTheContext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		props document.Texts
		plain bool
	}{
		"the app's script": {nil, true},
		"its own command":  {document.Texts{jobs.PropScript: {Value: "clean"}}, false},
		"without it":       {document.Texts{jobs.PropScript: {Value: "clean"}, jobs.PropScriptContext: {Value: "false"}}, true},
		"a request":        {document.Texts{jobs.PropHTTPURL: {Value: "http://h/"}, jobs.PropHTTPMethod: {Value: "GET"}}, false},
	} {
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { j.Props = test.props })
		task := s.startWithCPUs(8)[0].Task
		if task.PlainCommand != test.plain {
			t.Errorf("%s: its command is plain: %v", name, task.PlainCommand)
		}
		e := s.core.executions.Get(task.ExecutionID)
		before := s.core.daemons.Describer().Fingerprint(e, 0)
		delete(e.Settings().Job.Props, jobs.PropScriptContext)
		if changed := s.core.daemons.Describer().Fingerprint(e, 0) != before; changed != (name == "without it") {
			t.Errorf("%s: removing the property changes the fingerprint: %v", name, changed)
		}
	}
}

// TestTheTimeZoneOfATask checks that the description of a task contains the time zone of the job's cron. The
// description of a daemon's task has the zone in another field, as in earlier releases, so that no daemon is replaced.
func TestTheTimeZoneOfATask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zone string
		kind string
		want string
	}{
		{"Asia/Shanghai", jobs.Transient, "Asia/Shanghai"}, {"UTC", jobs.Transient, ""},
		{"", jobs.Transient, ""}, // the zone of the server, which is UTC
		{"Asia/Shanghai", jobs.Daemon, ""},
	} {
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { j.TimeZone, j.JobExecutionType = test.zone, test.kind })
		if test.kind == jobs.Transient {
			s.trigger()
		}
		s.offer("S1", 8, 8192)
		task := s.answerAccepts()[0].Task
		if task.TimeZone != test.want || task.Daemon != nil && task.Daemon.TimeZone != test.zone {
			t.Errorf("%+v: the zone is %q, the daemon %+v", test, task.TimeZone, task.Daemon)
		}
	}
}
