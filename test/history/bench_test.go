package history_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history"
	"github.com/elasticjob-go/elasticjob/history/database"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/test/instantcluster"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// BenchmarkScheduleLatency measures the time from a trigger until the last shard is launched, at 1,000 shards a
// second: without a history and with one in MariaDB. The two alternate every second, so that other load of the
// machine affects both.
func BenchmarkScheduleLatency(b *testing.B) {
	db, err := database.OpenMySQL(mariadb.Start(b).Database(b), database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := history.Open(history.Options{Dir: filepath.Join(b.TempDir(), "outbox"), OutboxBytes: 1 << 30,
		Database: db, Days: 30, Rows: 1e9, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	without, with := lead(b, nil), lead(b, r)
	without.second(b) // to warm up
	with.second(b)
	without.took, with.took = nil, nil
	for b.Loop() {
		without.second(b)
		with.second(b)
	}
	without.end(b)
	with.end(b)
	stop()
	running.Wait()
	if st := r.Status(); st.Lost != (history.Lost{}) || st.Written == 0 {
		b.Errorf("the history is %+v", st)
	}
	if err := errors.Join(r.Close(context.Background()), db.Close()); err != nil {
		b.Error(err)
	}
	for name, took := range map[string][]time.Duration{"without": without.took, "with": with.took} {
		slices.Sort(took)
		for _, q := range []int{50, 90, 99} {
			b.ReportMetric(float64(took[len(took)*q/100].Microseconds())/1000, fmt.Sprintf("ms-%s-p%d", name, q))
		}
	}
}

const shards, jobCount = 100, 20 // shards of each job

// leader is a scheduler that leads.
type leader struct {
	*scheduler.Scheduler
	launched chan time.Time // when the last shard of a run was launched
	end      func(*testing.B)
	n        int             // the number of triggers so far
	took     []time.Duration // the time from each trigger until its last shard was launched
}

// lead starts a leader on an empty registry, with the jobs of the benchmark. A nil h records no history.
func lead(b *testing.B, h scheduler.History) *leader {
	reg, err := embedded.Open(filepath.Join(b.TempDir(), "registry.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var tasks atomic.Int64
	launched := make(chan time.Time, 1)
	driver := &instantcluster.Cluster{Agents: 20, Launched: func(n int) {
		if after := tasks.Add(int64(n)); after/shards > (after-int64(n))/shards {
			launched <- time.Now()
		}
	}}
	l := &leader{launched: launched, Scheduler: scheduler.New(scheduler.Options{Registry: reg, Driver: driver,
		Core: step.DefaultOptions(), Advertise: "bench", History: h})}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Lead(ctx) }()
	l.end = func(b *testing.B) {
		stop()
		if err := errors.Join(<-ended, reg.Close()); err != nil {
			b.Error(err)
		}
	}
	for !l.Health().Subscribed {
		<-time.After(time.Millisecond)
	}
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "app", "http://127.0.0.1/app.tar", "run"
	if _, err := l.RegisterApp(ctx, explain.All(), a); err != nil {
		b.Fatal(err)
	}
	for i := range jobCount {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType = fmt.Sprintf("load_%d", i), "app", jobs.Transient
		j.ShardingTotalCount, j.CPUCount, j.MemoryMB = shards, 0.01, 1
		if _, err := l.RegisterJob(ctx, explain.All(), j); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// second launches 100 shards every 100 ms, for a second.
func (l *leader) second(b *testing.B) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		begin := time.Now()
		if _, err := l.Trigger(b.Context(), explain.All(), fmt.Sprintf("load_%d", l.n%jobCount), ""); err != nil {
			b.Fatal(err)
		}
		l.n++
		l.took = append(l.took, (<-l.launched).Sub(begin))
	}
}
