package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// someRuns returns a stage with three runs of my_job, of which the first finished, the second failed and the third is
// running, and a waiting run of other. ids has their ids in this order.
func someRuns(t *testing.T) (s *stage, ids [4]string) {
	t.Helper()
	s = newStage(t)
	s.app()
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "other" })
	for i := range 3 {
		ids[i] = s.trigger()
		s.offer("S1", 8, 8192)
		l := s.answerAccepts()
		s.reportRunning(l)
		switch s.stepAfter(time.Minute); i {
		case 0:
			s.reportFinished(l)
		case 1:
			s.reportFailed(l[0])
		}
		s.stepAfter(time.Second)
	}
	ids[3] = s.step(Request{Token: 2, Event: operator.TriggerRequested{Job: "other"}}).Replies[0].ExecutionID
	return s, ids
}

// TestExecutionsAreListed lists executions with each filter.
func TestExecutionsAreListed(t *testing.T) {
	t.Parallel()
	s, ids := someRuns(t)
	for name, c := range map[string]struct {
		filter views.ExecutionFilter
		want   []string
	}{
		"all":          {views.ExecutionFilter{Limit: 10}, []string{ids[3], ids[2], ids[1], ids[0]}},
		"newest":       {views.ExecutionFilter{Limit: 2}, []string{ids[3], ids[2]}},
		"none":         {views.ExecutionFilter{}, nil},
		"of a job":     {views.ExecutionFilter{Job: "my_job", Limit: 10}, []string{ids[2], ids[1], ids[0]}},
		"failed":       {views.ExecutionFilter{States: []executions.State{executions.Failed}, Limit: 10}, []string{ids[1]}},
		"under way":    {views.ExecutionFilter{States: []executions.State{executions.Waiting, executions.Running}, Limit: 10}, []string{ids[3], ids[2]}},
		"since":        {views.ExecutionFilter{Since: s.now.Add(-2 * time.Minute), Limit: 10}, []string{ids[3], ids[2]}},
		"before one":   {views.ExecutionFilter{Before: s.execution(ids[2]).FireTime, BeforeID: ids[2], Limit: 10}, []string{ids[1], ids[0]}},
		"before after": {views.ExecutionFilter{Before: s.execution(ids[1]).FireTime, BeforeID: ids[1] + "x", Limit: 1}, []string{ids[1]}},
		"before":       {views.ExecutionFilter{Before: s.execution(ids[1]).FireTime, Limit: 10}, []string{ids[0]}},
		"of none":      {views.ExecutionFilter{Job: "none", Limit: 10}, nil},
		"all together": {views.ExecutionFilter{Job: "my_job", States: []executions.State{executions.Finished, executions.Failed}, Since: s.now.Add(-time.Hour), Limit: 1}, []string{ids[1]}},
	} {
		list, err := s.core.views.Executions(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.ExecutionID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: the listed ids differ (-want +got): %s", name, diff)
		}
	}
	if _, err := s.core.views.Executions(views.ExecutionFilter{Job: "none", MustExist: true, Limit: 1}); err == nil {
		t.Error("the executions of an unknown job are listed, want an error")
	}
	// A deregistered job's runs are still listed.
	s.apply(s.core.planDeregisterJob("other"))
	list, err := s.core.views.Executions(views.ExecutionFilter{Job: "other", MustExist: true, Limit: 1})
	if err != nil || len(list) != 1 || list[0].State != executions.Killed {
		t.Errorf("the executions of the deregistered job are %+v, %v", list, err)
	}
}

// TestAListedExecutionIsShownAsItIs checks that the list shows the same about a run as GET /api/execution/{id}, also
// under another leader.
func TestAListedExecutionIsShownAsItIs(t *testing.T) {
	t.Parallel()
	s, ids := someRuns(t)
	check := func() {
		t.Helper()
		list, err := s.core.views.Executions(views.ExecutionFilter{Limit: 10})
		if err != nil || len(list) != 4 {
			t.Fatalf("listed %+v, %v, want four executions", list, err)
		}
		for _, e := range list {
			v := s.execution(e.ExecutionID)
			total := 0
			for _, shards := range e.Shards {
				total += shards
			}
			if v.State != e.State || v.Reason != e.Reason || !v.FireTime.Equal(e.FireTime) ||
				v.State != executions.Waiting && total != len(v.Shards) {
				t.Errorf("listed as %+v\nshown as %+v", e, v)
			}
		}
		failed := list[slices.IndexFunc(list, func(e views.ExecutionSummary) bool { return e.ExecutionID == ids[1] })]
		if !strings.Contains(failed.Reason, "boom") || failed.StartTime == nil || failed.CompleteTime == nil ||
			failed.CompleteTime.Sub(*failed.StartTime) != time.Minute {
			t.Errorf("the failed run is listed as %+v", failed)
		}
	}
	check()
	s.restart()
	check()
}

// TestTheNewestOfManyAreListed checks that a short list has the newest of many executions, in whatever order they were
// created.
func TestTheNewestOfManyAreListed(t *testing.T) {
	t.Parallel()
	c := New(step.DefaultOptions())
	c.executions.Observe(nil)
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for i := range 5000 {
		id := fmt.Sprintf("job%d@x", i)
		c.executions.Enqueue(executions.NewExecution{ID: id, Job: id,
			Fire: start.Add(time.Duration(i*7919%5000) * time.Second)})
	}
	list, err := c.views.Executions(views.ExecutionFilter{Limit: 3})
	if err != nil || len(list) != 3 || !list[0].FireTime.Equal(start.Add(4999*time.Second)) ||
		!list[2].FireTime.Equal(start.Add(4997*time.Second)) {
		t.Errorf("listed %+v, %v", list, err)
	}
}

// TestExplainShowsThePast checks that explain shows the last run with its reason, the last success, and the dropped
// and missed fires, also under another leader.
func TestExplainShowsThePast(t *testing.T) {
	t.Parallel()
	s, ids := someRuns(t)
	s.updateJob("my_job", func(j *jobs.Config) { j.Cron = "* * * * * ?" })
	for range 130 {
		s.stepAfter(time.Second) // each fire is dropped, because the third run is still running
	}
	// explain checks what must stay the same, and returns the explanation.
	explain := func() views.Explanation {
		t.Helper()
		x, err := s.core.views.Explain("my_job")
		if err != nil {
			t.Fatal(err)
		}
		if x.LastRun == nil || x.LastRun.ExecutionID != ids[1] ||
			!strings.Contains(x.LastRun.Reason, "shard 0 failed (1 of 1 shard did not finish): exit status 3") ||
			x.LastSuccess == nil || x.LastSuccess.ExecutionID != ids[0] {
			t.Fatalf("last run %+v, last success %+v", x.LastRun, x.LastSuccess)
		}
		if x.DroppedFires == nil || !strings.Contains(x.DroppedFires.Reason, "found execution "+ids[2]+" RUNNING") {
			t.Fatalf("dropped fires %+v", x.DroppedFires)
		}
		return x
	}
	if x := explain(); x.DroppedFires.Count != 130 || x.MissedFires != nil {
		t.Errorf("dropped fires %+v, missed fires %+v", x.DroppedFires, x.MissedFires)
	}
	s.now = s.now.Add(time.Hour) // without a leader
	s.restart()
	if x := explain(); x.DroppedFires.Count < 130-60 || x.MissedFires == nil || x.MissedFires.Count != 1 {
		t.Errorf("after an hour without a leader: dropped fires %+v, missed fires %+v", x.DroppedFires, x.MissedFires)
	}
	if x := s.explain("other"); x.LastRun != nil || x.LastSuccess != nil || x.DroppedFires != nil {
		t.Errorf("explain of a job without a past shows %+v", x)
	}
}

// TestJobsHaveTheirOwnMetrics checks the metrics of single jobs. At most Options.JobMetrics jobs have them. The
// metrics of the last run stay under another leader, and a deregistered job makes room for the metrics of another job.
func TestJobsHaveTheirOwnMetrics(t *testing.T) {
	t.Parallel()
	s, _ := someRuns(t)
	statsByJob := func() map[string]stats.JobStats {
		found := map[string]stats.JobStats{}
		for _, j := range s.core.views.Stats().OfJobs {
			found[j.Job] = j
		}
		return found
	}
	got := statsByJob()["my_job"]
	if len(statsByJob()) != 1 || got.Finished != 1 || got.Failed != 1 || got.LastSuccess.IsZero() ||
		got.LastDuration != time.Minute {
		t.Errorf("the metrics are %+v", statsByJob())
	}
	s.opt.JobMetrics = 1
	s.restart()
	if after := statsByJob()["my_job"]; !after.LastSuccess.Equal(got.LastSuccess) ||
		after.LastDuration != got.LastDuration || after.Finished != 0 {
		t.Errorf("under the next leader the metrics are %+v", after)
	}
	s.apply(s.core.planDisableJob("other", true)) // this ends its waiting executions
	if n := s.core.views.Stats().JobsWithoutMetrics; len(statsByJob()) != 1 || n != 1 {
		t.Errorf("the metrics are %+v, and %d jobs have none", statsByJob(), n)
	}
	s.apply(s.core.planDeregisterJob("my_job"))
	s.apply(s.core.planDisableJob("other", false))
	s.triggerJob("other")
	s.apply(s.core.planDisableJob("other", true))
	if n := s.core.views.Stats().JobsWithoutMetrics; statsByJob()["other"].Killed != 1 ||
		len(statsByJob()) != 1 || n != 0 {
		t.Errorf("with one job deregistered, the metrics are %+v, and %d jobs have none", statsByJob(), n)
	}
}
