package core

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// TestHistogram checks that the bounds of all histograms ascend, that values are counted in the right buckets, and
// that a copy is independent of its original.
func TestHistogram(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]stats.Histogram{"latencies": stats.NewLatencies(),
		"durations": stats.NewDurations(), "sizes": stats.NewSizes()} {
		for i := range h.Bounds[1:] {
			if h.Bounds[i+1] <= h.Bounds[i] {
				t.Errorf("%s: bound %v comes after %v", name, h.Bounds[i+1], h.Bounds[i])
			}
		}
	}
	h := stats.NewSizes()
	before := h
	for _, v := range []float64{0, 1, 1.5, 50_000, 50_001, 1e9} {
		h.Observe(v)
	}
	want := stats.Histogram{Bounds: h.Bounds, Sum: 2.5 + 50_000 + 50_001 + 1e9}
	want.Counts[0], want.Counts[1], want.Counts[15], want.Counts[16] = 2, 1, 1, 2
	if diff := cmp.Diff(want, h); diff != "" || h.Count() != 6 {
		t.Errorf("%d values are counted, want 6 (-want +got): %s", h.Count(), diff)
	}
	if before.Count() != 0 {
		t.Error("a copy changes with its original")
	}
}

// queues has the number of executions that can be launched (ready), of executions that wait for something other than
// resources (blocked), and of shards that wait for a task, by the cause of their wait.
type queues struct{ ready, blocked, failover, retry, daemon int }

// queues returns the lengths of all queues.
func (s *stage) queues() queues {
	st := s.core.views.Stats()
	return queues{st.Ready.Depth, st.ExecutionsBlocked, st.Failover.Depth, st.Retry.Depth, st.Daemon.Depth}
}

// TestQueuesAreMeasured checks the lengths of the queues while two runs of a job and a daemon wait, run, fail and are
// lost.
func TestQueuesAreMeasured(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	expect := func(when string, want queues) {
		t.Helper()
		if got := s.queues(); got != want {
			t.Errorf("%s: the queues are %+v, want %+v", when, got, want)
		}
	}
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.Failover, j.Misfire, j.MaxRetries = 2, true, true, 3 })
	s.job(func(j *jobs.Config) { j.JobName, j.JobExecutionType, j.Cron = "daemon", jobs.Daemon, "0/10 * * * * ?" })
	expect("a daemon waits", queues{daemon: 3})
	s.trigger()
	s.trigger()
	expect("the second run waits for the first", queues{ready: 1, blocked: 1, daemon: 3})
	s.stepAfter(time.Minute)
	if st := s.core.views.Stats(); st.Ready.Oldest != time.Minute || st.Daemon.Oldest != time.Minute ||
		st.Failover.Oldest != 0 || st.ExecutionsWaiting != 3 {
		t.Errorf("after a minute the statistics are %+v", st)
	}
	s.step(Request{Token: 7, Event: operator.PauseRequested{Job: "my_job", Paused: true}})
	expect("the job is paused", queues{blocked: 2, daemon: 3})
	s.step(Request{Token: 8, Event: operator.PauseRequested{Job: "my_job"}})
	s.offer("S1", 8, 8192)
	launches := s.answerAccepts()
	if len(launches) != 5 {
		t.Fatalf("%d tasks were launched, want 5", len(launches))
	}
	s.reportRunning(launches)
	expect("all run except the second run", queues{blocked: 1})
	var ofMyJob []cluster.TaskLaunch
	for _, l := range launches {
		if id, err := jobs.ParseTaskID(l.TaskID); err == nil && id.Job == "my_job" {
			ofMyJob = append(ofMyJob, l)
		} else {
			s.update(l, cluster.Lost, fromMaster(cluster.ReasonAgentRemoved))
		}
	}
	s.reportFailed(ofMyJob[0])
	s.update(ofMyJob[1], cluster.Lost, fromMaster(cluster.ReasonAgentRemoved))
	expect("all have ended, and wait to be run again", queues{blocked: 1, failover: 1, retry: 1, daemon: 3})
	st := s.core.views.Stats()
	if st.TasksLaunched != 5 || st.TasksRequeued != 5 || st.TasksRunning != 0 || st.ExecutionsRunning != 2 {
		t.Errorf("at the end the statistics are %+v", st)
	}
}

// TestDelaysAndDurationsAreMeasured checks that each delay and duration of a run is counted once: the delays at its
// launch and at the first report of its process, the durations at its end.
func TestDelaysAndDurationsAreMeasured(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, everyFiveSeconds, func(j *jobs.Config) { j.MaxRetries, j.Misfire = 1, true })
	s.runFor(5 * time.Second)
	s.stepAfter(20 * time.Millisecond)
	s.offer("S1", 8, 8192)
	first := s.answerAccepts()[0]
	began := s.now.Add(480 * time.Millisecond) // half a second after the fire
	report := func(l cluster.TaskLaunch, state cluster.State, status wire.Status) {
		t.Helper()
		s.update(l, state, func(u *cluster.Update) { u.Status, u.UUID = &status, []byte(s.now.String()) })
	}
	s.stepAfter(time.Second)
	report(first, cluster.Running, wire.Status{StartTime: began})
	s.stepAfter(time.Second)
	report(first, cluster.Running, wire.Status{StartTime: began})
	exit := 1
	s.stepAfter(8 * time.Second) // a fire waits for this run meanwhile, which must not count as a fire delay
	report(first, cluster.Failed, wire.Status{StartTime: began, CompleteTime: began.Add(9 * time.Second),
		ExitStatus: &exit})
	s.stepAfter(time.Minute)
	s.offer("S1", 8, 8192)
	second := s.answerAccepts()[0]
	report(second, cluster.Finished, wire.Status{StartTime: s.now, CompleteTime: s.now.Add(2 * time.Second)})
	s.offer("S1", 8, 8192)
	third := s.answerAccepts()[0]
	report(third, cluster.Finished, wire.Status{StartTime: s.now, CompleteTime: s.now.Add(3 * time.Second)})
	st := s.core.views.Stats()
	for name, c := range map[string]struct {
		got  stats.Histogram
		want []float64
	}{
		"fire delay":     {st.FireDelay, []float64{0.02}},
		"begin delay":    {st.BeginDelay, []float64{0.5}},
		"execution wait": {st.ExecutionWait, []float64{0.02, 60}},
		"task run":       {st.TaskRun, []float64{9, 2, 3}},
		"execution run":  {st.ExecutionRun, []float64{71.52, 3}}, // since the first process began, whose attempt failed
	} {
		want := stats.Histogram{Bounds: c.got.Bounds}
		for _, v := range c.want {
			want.Observe(v)
		}
		if diff := cmp.Diff(want.Counts, c.got.Counts); diff != "" {
			t.Errorf("%s: want %v, the sum is %v (-want +got): %s", name, c.want, c.got.Sum, diff)
		}
	}
}

// BenchmarkStats measures how long a scrape of the metrics delays the loop, with 10,000 jobs.
func BenchmarkStats(b *testing.B) {
	s := manyJobs(b, 10_000)
	for b.Loop() {
		s.core.views.Stats()
	}
}

// BenchmarkObserve measures how long a histogram takes to count a value.
func BenchmarkObserve(b *testing.B) {
	h := stats.NewLatencies()
	for b.Loop() {
		h.Observe(0.3)
	}
}
