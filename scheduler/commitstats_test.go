package scheduler_test

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestCommitsAreMeasured: the durations, writes and events of commits are counted; a failed one is visible after the
// term that it has ended.
func TestCommitsAreMeasured(t *testing.T) {
	var commits slow
	leading(t, commits.set, func(t *testing.T, s *stage) {
		time.Sleep(time.Second)
		before := s.Stats()
		if before.CommitTime.Count() == 0 || before.CommitTime.Sum != 0 {
			t.Fatalf("%d commits took %v s", before.CommitTime.Count(), before.CommitTime.Sum)
		}
		commits.Store(int64(3 * time.Second))
		for range 2 { // the first is committed alone, the others together
			go func() { _, _ = s.Trigger(t.Context(), explain.All(), "my_job", "a key") }()
		}
		if _, err := s.Trigger(t.Context(), explain.All(), "my_job", "a key"); err != nil {
			t.Fatal(err)
		}
		commits.Store(0)
		time.Sleep(time.Minute)
		after := s.Stats()
		bucket := 0
		for after.CommitTime.Bounds[bucket] < 3 {
			bucket++
		}
		if n := after.CommitTime.Counts[bucket]; n == 0 || after.CommitTime.Sum != 3*float64(n) {
			t.Errorf("%d commits took 3 s, all together %v s", n, after.CommitTime.Sum)
		}
		made := after.CommitTime.Count() - before.CommitTime.Count()
		if n := after.CommitWrites.Count() - before.CommitWrites.Count(); n != made {
			t.Errorf("the writes of %d commits, want %d", n, made)
		}
		if n := after.CommitEvents.Count() - before.CommitEvents.Count(); n != made {
			t.Errorf("the events of %d commits, want %d", n, made)
		}
		if writes, events := after.CommitWrites.Sum-before.CommitWrites.Sum,
			after.CommitEvents.Sum-before.CommitEvents.Sum; writes < float64(made) || events < 3 {
			t.Errorf("%v writes and %v events in %d commits", writes, events, made)
		}

		s.registry.answerNext("unknown")
		if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err == nil {
			t.Error("a trigger was accepted without a commit")
		}
		<-s.ended
		if st := s.Stats(); st.Leading || st.Triggers != 0 || st.CommitsFailed != 1 ||
			st.CommitTime.Count() != after.CommitTime.Count()+1 {
			t.Errorf("%d commits failed, %d were made before and %d in all: %+v", st.CommitsFailed,
				after.CommitTime.Count(), st.CommitTime.Count(), st)
		}
	})
}
