package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestFewLargeLaunchesAreSentAtOnce: however many agents get large launches, only a few launches are encoded and sent
// at once. The others follow when those are answered.
func TestFewLargeLaunchesAreSentAtOnce(t *testing.T) {
	t.Parallel()
	const agents, atOnce = 5, 2
	var open chan struct{}
	var sending, sent atomic.Int64
	onStage(t, func(s *stage) {
		open = make(chan struct{})
		s.cluster.agent = false
		s.cluster.onCall = func(_ context.Context, name string) error {
			if name == "ACCEPT" {
				if sending.Add(1) > atOnce {
					t.Error("one more is sent")
				}
				<-open
				sending.Add(-1)
				sent.Add(1)
			}
			return nil
		}
	}, func(t *testing.T, s *stage) {
		s.start(t, s.Lead)
		eventually(t, "it leads and is subscribed", func() bool { return s.Health().Subscribed })
		publish(t, s.Scheduler)
		for n := range agents {
			j := jobs.Default()
			j.JobName, j.AppName, j.JobExecutionType = fmt.Sprint("large", n), "my_app", jobs.Transient
			j.ShardingTotalCount, j.CPUCount, j.MemoryMB = 240, 0.03, 1 // one agent holds one of them
			j.Env = document.Texts{"A": {Value: strings.Repeat("x", 62_000)}}
			if _, err := s.RegisterJob(t.Context(), explain.All(), j); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Trigger(t.Context(), explain.All(), j.JobName, ""); err != nil {
				t.Fatal(err)
			}
		}
		for n := range agents {
			s.cluster.offer(fmt.Sprint("S", n))
		}
		eventually(t, "some are sent", func() bool { return sending.Load() == atOnce })
		synctest.Wait()
		close(open)
		eventually(t, "all are sent", func() bool { return sent.Load() == agents })
	})
}
