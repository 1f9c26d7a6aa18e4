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

// large gives each shard about 40 KiB of common and further bytes of its own parameters.
func large(j *jobs.Config) {
	j.JobParameter = strings.Repeat("p", 20<<10)
	j.Env = document.Texts{"A": {Value: strings.Repeat("a", 20<<10)}}
	j.ShardingTotalCount, j.CPUCount, j.ShardingItemParameters = 20, 0.1, "0=x,7="+strings.Repeat("y", 1000)
}

// TestL1L3LaunchesStayWithinOneCall: each ACCEPT is bounded. The shards of a first launch that do not fit into one
// call follow as soon as their agent is offered again, and all shards share one copy of the common part of their
// description.
func TestL1L3LaunchesStayWithinOneCall(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.LaunchBytes = 256 << 10
	s.restart()
	s.app()
	s.job(large)
	s.trigger()
	var launches []cluster.TaskLaunch
	var launched time.Time
	for round := 0; len(launches) < 20; round++ {
		if round == 5 {
			t.Fatalf("%d shards launched: %+v", len(launches), s.explain("my_job"))
		}
		if round > 0 {
			if x := s.explain("my_job"); len(x.Waiting) == 0 || x.Waiting[0].Since.IsZero() ||
				!strings.Contains(x.Waiting[0].Reason,
					"shards follow with the next launch: each is sent 43 KiB of settings, and one call to an agent holds 256 KiB") {
				t.Errorf("%+v", x.Waiting)
			}
			s.runFor(time.Second)
			if s.core.placement.RevivedAt().Before(launched) {
				t.Fatal("the agent's offers are not asked for")
			}
		}
		s.offer("S1", 8, 8192)
		for _, a := range s.accepts {
			if n := a.Launch.Size(); n > s.opt.LaunchBytes {
				t.Errorf("an ACCEPT of %d bytes", n)
			}
		}
		launched = s.now
		launches = append(launches, s.answerAccepts()...)
	}
	for i, l := range launches {
		if &l.Shared[0] != &launches[i-i%5].Shared[0] {
			t.Errorf("shard %d has a copy of its own", i)
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

// TestRunsThatAreTooLargeAreNotLaunched: the descriptions of all shards together are bounded wherever they can grow,
// and a refusal names both numbers.
func TestRunsThatAreTooLargeAreNotLaunched(t *testing.T) {
	t.Parallel()
	const together = "shards are given 421 KiB of jobParameter, env and props each, 165 MiB together, and may be given at most 64 MiB: use fewer shards"
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
		if x := s.explain("my_job"); x.State != "FAULTY" || !strings.Contains(strings.Join(x.Notes, ";"), together) {
			t.Errorf("%s %v", x.State, x.Notes)
		}
		if err := s.step(Request{Token: 1,
			Event: operator.TriggerRequested{Job: "my_job"}}).Replies[0].Err; err == nil {
			t.Error("it was triggered")
		}
		s.runFor(2 * time.Hour)
		s.offer("S1", 64, 64000)
		if len(s.accepts) > 0 {
			t.Error("it was launched")
		}
		// An entry that is larger than any document prevents no server from leading, either.
		s.stored[store.Under(store.PathJobs, "my_job")] = []byte(`{"jobName":"my_job","description":"` +
			strings.Repeat("x", 4<<20) + `"}`)
		s.restart()
		if x := s.explain("my_job"); x.State != "FAULTY" ||
			!strings.Contains(strings.Join(x.Notes, ";"), "at most 1048576 are read") {
			t.Errorf("%s %v", x.State, x.Notes)
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
			!strings.Contains(err.Error(), "400 "+together) {
			t.Errorf("trigger: %v", err)
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
			!strings.Contains(v.Reason, "400 "+together) {
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
			t.Errorf("%s", v.State)
		}
	})
	t.Run("run again in part", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { huge(j); j.ShardingTotalCount, j.CPUCount, j.MaxRetries = 30, 0.1, 1 })
		s.trigger()
		s.offer("S1", 64, 64000)
		first := s.answerAccepts()
		s.reportRunning(first)
		s.opt.RunBytes = 10 << 20 // of 12 MiB
		s.restart()
		for _, l := range first[:20] {
			s.reportFailed(l)
		}
		s.runFor(time.Minute)
		s.offer("S1", 64, 64000)
		if again := s.answerAccepts(); len(first) != 30 || len(again) != 20 {
			t.Errorf("%d of 20 are run again: %+v", len(again), s.explain("my_job").Waiting[:1])
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
			t.Errorf("%d launched", len(got))
		}
	})
}

// TestWhoseCommandGetsTheContext: only a script job's command has the sharding context as an argument, unless the job
// says no. This replaces no daemons of an earlier release.
func TestWhoseCommandGetsTheContext(t *testing.T) {
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
			t.Errorf("%s: %v", name, task.PlainCommand)
		}
		e := s.core.executions.Get(task.ExecutionID)
		before := s.core.daemons.Describer().Fingerprint(e, 0)
		delete(e.Settings().Job.Props, jobs.PropScriptContext)
		if changed := s.core.daemons.Describer().Fingerprint(e, 0) != before; changed != (name == "without it") {
			t.Errorf("%s: other settings by the property that was removed: %v", name, changed)
		}
	}
}

// TestTheTimeZoneOfATask: an executor is told the zone of the job's cron. A daemon's description has it elsewhere, as
// before, so that no daemon is replaced.
func TestTheTimeZoneOfATask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zone string
		kind string
		want string
	}{
		{"Asia/Shanghai", jobs.Transient, "Asia/Shanghai"}, {"UTC", jobs.Transient, ""},
		{"", jobs.Transient, ""}, // the server's, which is UTC
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
			t.Errorf("%+v: %q, %+v", test, task.TimeZone, task.Daemon)
		}
	}
}
