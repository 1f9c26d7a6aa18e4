package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// manyJobs returns a stage with n jobs that fire once a year, and my_job, which fires every second.
func manyJobs(b *testing.B, n int) *stage {
	b.Helper()
	begin := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	s := &stage{opt: step.DefaultOptions(), rnd: constantSource{}, stored: map[string][]byte{}, now: begin,
		loadedAt: begin}
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount = "my_app", "http://127.0.0.1/p.tar", "run", 0.1
	var stored Stored
	put := func(path string, v any) {
		stored.Entries = append(stored.Entries, registry.Entry{Path: path, Value: store.Encode(v)})
	}
	put(store.Under(store.PathApps, a.AppName), a)
	job := func(name, cron string) {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType, j.Cron, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = name,
			a.AppName, jobs.Transient, cron, 1, 0.1, 32
		put(store.Under(store.PathJobs, name), j)
	}
	for i := range n {
		job(fmt.Sprintf("job_%06d", i), fmt.Sprintf("%d %d 3 1 1 ?", i%60, i/60%60))
	}
	job("my_job", "* * * * * ?")
	s.core = New(s.opt)
	if err := s.core.Load(s.wall(), stored); err != nil {
		b.Fatal(err)
	}
	s.last = s.core.Step(s.clocks(), s.rnd, nil)
	s.last = s.core.Step(s.clocks(), s.rnd, []Event{SessionBegan{Session: 1, MasterID: "m"}})
	return s
}

// constantSource is a source of randomness that always returns the same number.
type constantSource struct{}

func (constantSource) Uint64() uint64 { return 0x1234567890abcdef }

// BenchmarkFire measures a step that makes one fire, which then waits or is dropped. The step must not take longer if
// there are more jobs.
func BenchmarkFire(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			s := manyJobs(b, n)
			for b.Loop() {
				s.now = s.now.Add(time.Second)
				s.core.Step(s.clocks(), s.rnd, nil)
			}
		})
	}
}

// BenchmarkRegister measures the registration of a job beside 100,000 others.
func BenchmarkRegister(b *testing.B) {
	s := manyJobs(b, 100_000)
	cfg := *s.core.config.Job("my_job").Config()
	i := 0
	for b.Loop() {
		i++
		cfg := cfg
		cfg.JobName = fmt.Sprintf("new_%d", i)
		s.core.Step(s.clocks(), s.rnd, []Event{config.JobChanged{Name: cfg.JobName, Config: &cfg}})
	}
}

// BenchmarkLoad measures how long a new leader takes to load 100,000 jobs.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		manyJobs(b, 100_000)
	}
}

// BenchmarkUpdate measures how long it takes to record a status update of one shard, and to write the record of its
// execution, which contains all shards.
func BenchmarkUpdate(b *testing.B) {
	c := New(step.DefaultOptions())
	e := launched(c, executions.NewExecution{ID: "my_job@20261121T080000Z", Job: "my_job",
		Fire: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}, store.InlineShards, func(item int) executions.NewTask {
		id := fmt.Sprintf("my_job@-@%d@-@READY@-@S0@-@0f8e1a2b-0000-4000-8000-000000000001", item)
		return executions.NewTask{TaskID: id, Agent: "S0", Executor: "my_app@-@S0@-@1"}
	})
	for b.Loop() {
		c.executions.RecordUpdate(e.Ref(7), nil)
		c.write()
	}
}

// BenchmarkLoadYAML measures how long a new leader takes to load 100,000 jobs from YAML documents.
func BenchmarkLoadYAML(b *testing.B) {
	a, j := app.Default(), jobs.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "my_app", "http://127.0.0.1/p.tar", "run"
	stored := Stored{Entries: []registry.Entry{{Path: store.Under(store.PathApps, a.AppName),
		Value: app.Schema.EncodeYAML(a)}}}
	for i := range 100_000 {
		j.JobName, j.AppName, j.JobExecutionType, j.Cron, j.ShardingTotalCount, j.CPUCount,
			j.MemoryMB = fmt.Sprintf("job_%06d", i), a.AppName, jobs.Transient,
			fmt.Sprintf("%d %d 3 * * ?", i%60, i/60%60), 1, 0.1, 32
		stored.Entries = append(stored.Entries,
			registry.Entry{Path: store.Under(store.PathJobs, j.JobName), Value: jobs.Schema.EncodeYAML(j)})
	}
	opt := step.DefaultOptions()
	opt.Documents = step.YAMLDocuments
	for b.Loop() {
		c := New(opt)
		if err := c.Load(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), stored); err != nil ||
			c.config.NumFaults() > 0 {
			b.Fatal(err, c.config.NumFaults())
		}
	}
}

// BenchmarkExecution measures an execution of one shard from its trigger to its end, without and with a history.
func BenchmarkExecution(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%v", recorded), func(b *testing.B) {
			s := newStage(b)
			s.opt.History, s.opt.Term = recorded, 1
			s.restart()
			s.app()
			s.job(oneShard)
			batches := int64(0)
			for b.Loop() {
				launches := s.startWithCPUs(4)
				s.reportRunning(launches)
				s.reportFinished(launches)
				if s.last.History.Number > 0 {
					batches = s.last.History.Number
				}
				s.step(HistoryStored{Batches: batches})
				s.now = s.now.Add(time.Second)
			}
		})
	}
}

// launched returns a new execution whose shards all run. task returns the task of an item.
func launched(c *Core, m executions.NewExecution, shards int,
	task func(item int) executions.NewTask) *executions.Execution {
	c.executions.Observe(nil)
	e := c.executions.Enqueue(m)
	settings := executions.Settings{App: app.Default(), Job: jobs.Default()}
	settings.Job.ShardingTotalCount = shards
	c.executions.LaunchFirst(e, &settings)
	for item := range shards {
		c.executions.Launch(e.Ref(item), task(item))
		c.executions.MarkRunning(e.Ref(item), m.Fire)
	}
	return e
}
