package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestDroppedFiresTakeNoRoomInTheHistory checks that thousands of dropped fires of one job do not displace the ended
// executions of other jobs.
func TestDroppedFiresTakeNoRoomInTheHistory(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.MaxQueuedFires = 3
	s.restart()
	s.app()
	s.job(oneShard)
	id, l := s.launch()
	s.reportRunning(l)
	s.update(l[0], cluster.Finished)
	s.job(oneShard, withMisfire, func(j *jobs.Config) {
		j.JobName, j.Cron, j.CPUCount = "too_big", "* * * * * ?", 100
	})
	for range 2000 {
		s.stepAfter(time.Second)
	}
	s.restart()
	if v := s.execution(id); v.State != executions.Finished {
		t.Fatalf("the execution of the other job is %+v", v)
	}
	stored := 0
	for path := range s.stored {
		if strings.HasPrefix(path, store.PathExecution+"/too_big@") {
			stored++
		}
	}
	if stored > 3+2 { // three wait, one is the last that was dropped, and one is removed by the next step
		t.Errorf("the registry has %d executions of the job that can't run", stored)
	}
	got := s.core.config.Job("too_big").Stored().Fires
	if got.Dropped < 1900 || got.Dropped > 2000 || got.LastDropped.IsZero() ||
		!strings.Contains(got.DroppedWhy.String(), "3 fires wait already") {
		t.Errorf("the fires of the job are counted as %+v", got)
	}
}

// TestDroppedFiresAreWrittenOnceAMinute checks that the count of dropped fires is written about once a minute.
func TestDroppedFiresAreWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Cron = "* * * * * ?" })
	writes := 0
	for range 600 {
		for _, w := range s.stepAfter(time.Second).Writes {
			if w.Path == store.Under(store.PathJobState, "my_job") {
				writes++
			}
		}
	}
	if writes < 9 || writes > 11 {
		t.Errorf("the record was written %d times in 10 minutes", writes)
	}
	if got := s.core.config.Job("my_job").Stored().Fires.Dropped; got < 590 {
		t.Errorf("%d fires are counted as dropped", got)
	}
}
