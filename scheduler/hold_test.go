package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// TestAHoldEndsAfterALongStandby: a held server says so from its start. If it has been a standby for long enough
// before it leads, it launches. If it loses the leadership and wins it again sooner, it is still held.
func TestAHoldEndsAfterALongStandby(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	held := func(s *stage) {
		s.opt.Core.Held, s.opt.HoldFor = "it was killed", limit
	}
	t.Run("it leads", func(t *testing.T) {
		t.Parallel()
		onStage(t, held, func(t *testing.T, s *stage) {
			const says = "becomes the leader, it launches nothing: it was killed; that ends when it has not led for 1m0s"
			if why := s.Held(); !strings.Contains(why, says) {
				t.Errorf("before it leads: %q", why)
			}
			time.Sleep(limit - 10*time.Second)
			s.start(t, s.Stand)
			for term := range int64(3) {
				eventually(t, "it leads", func() bool {
					l, ok := s.Leader()
					return ok && l.Self && l.Term > term && s.Health().Leading
				})
				if why := s.Held(); !strings.HasPrefix(why, "nothing is launched: it was killed; disable the job") {
					t.Errorf("%q", why)
				}
				time.Sleep(2 * limit)
				s.registry.depose(true)
			}
		})
	})
	t.Run("it stands by", func(t *testing.T) {
		leading(t, nil, func(t *testing.T, first *stage) {
			held(first)
			second := first.another("second:2")
			second.start(t, second.Stand)
			defer func() { second.end() }()
			time.Sleep(limit - time.Second)
			if second.Held() == "" {
				t.Error("it ends early")
			}
			time.Sleep(time.Second)
			if why := second.Held(); why != "" {
				t.Errorf("after a minute: %s", why)
			}
			first.stop()
			eventually(t, "the second one leads", func() bool { return second.Health().Subscribed })
			if v := runToEnd(t, second.Scheduler); v.State != executions.Finished || second.Held() != "" {
				t.Errorf("%+v, %q", v, second.Held())
			}
			second.registry.depose(true)
			eventually(t, "it leads again", func() bool {
				l, ok := second.Leader()
				return ok && l.Self && l.Term > 2
			})
			if second.Held() != "" {
				t.Error("the hold that has ended is in force again")
			}
		})
	})
}
