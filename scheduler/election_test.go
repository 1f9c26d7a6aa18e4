package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

func TestTheLeadIsHandedOver(t *testing.T) {
	leading(t, nil, func(t *testing.T, first *stage) {
		second := first.another("second:2")
		second.start(t, second.Stand)
		defer func() { second.end() }()
		runToEnd(t, first.Scheduler)
		if l, ok := second.Leader(); !ok || l.Address != "me:1" || l.Self || second.Health().Leading {
			t.Fatalf("the second one sees %+v, %v", l, ok)
		}
		before := time.Now()
		first.stop()
		eventually(t, "the second one leads", func() bool { return second.Health().Leading })
		if took := time.Since(before); took > 500*time.Millisecond {
			t.Errorf("the hand-over took %s", took)
		}
		lines := first.diary.all()
		at := slices.Index(lines, "REGISTRY term 1 is resigned")
		if closed := slices.Index(lines, "close"); closed < 0 || closed > at ||
			slices.ContainsFunc(lines[closed:at], func(line string) bool { return strings.HasPrefix(line, "CALL") }) {
			t.Errorf("want the session closed before resigning and no call between: %q", lines)
		}
		if l, ok := second.Leader(); !ok || !l.Self || l.Address != "second:2" || l.Term != 2 {
			t.Errorf("it sees %+v, %v", l, ok)
		}
		if v := runToEnd(t, second.Scheduler); v.State != executions.Finished {
			t.Errorf("%+v", v)
		}
		if _, err := list(t.Context(), first.Scheduler, explain.Reader.Jobs); err == nil {
			t.Error("the first one still answers")
		}
	})
}

// standing is onStage with a scheduler that stands for election.
func standing(t *testing.T, set func(*stage), play func(t *testing.T, s *stage)) {
	t.Helper()
	onStage(t, set, func(t *testing.T, s *stage) {
		s.start(t, s.Stand)
		play(t, s)
	})
}

func TestItStandsForElectionAgainAfterItsTerm(t *testing.T) {
	t.Parallel()
	standing(t, nil, func(t *testing.T, s *stage) {
		eventually(t, "leading", func() bool { return s.Health().Leading })
		publish(t, s.Scheduler)
		s.registry.depose(true)
		eventually(t, "leading again", func() bool {
			l, ok := s.Leader()
			return ok && l.Self && l.Term == 3
		})
		if v := runToEnd(t, s.Scheduler); v.State != executions.Finished {
			t.Errorf("%+v", v)
		}
	})
}

func TestOnlyAnUnusableRegistryEndsStand(t *testing.T) {
	t.Parallel()
	fails := []error{errors.New("no connection"), errors.New("no connection yet"),
		fmt.Errorf("%w: no permission", registry.ErrUnusable)}
	standing(t, func(s *stage) {
		s.registry.onCampaign = func() error {
			err := fails[0]
			fails = fails[1:]
			return err
		}
	}, func(t *testing.T, s *stage) {
		if err := <-s.ended; !errors.Is(err, registry.ErrUnusable) || len(fails) > 0 {
			t.Errorf("%v, with %d tries left", err, len(fails))
		}
	})
}

func TestTermsThatEndAtOnceBackOff(t *testing.T) {
	t.Parallel()
	standing(t, func(s *stage) {
		s.registry.onCommit = func([]registry.Write) error { return errors.New("ZooKeeper denies permission") }
	}, func(t *testing.T, s *stage) {
		time.Sleep(time.Minute)
		if n := s.registry.begun(); n < 10 || n > 40 {
			t.Errorf("it led %d times in a minute", n)
		}
	})
}

// TestALeaderWithoutACluster: the leader abdicates when the cluster has only refused it for RefusedTimeout, or when
// there is a standby that may reach the cluster. Otherwise it keeps the leadership.
func TestALeaderWithoutACluster(t *testing.T) {
	t.Parallel()
	refuses := error(&cluster.Refused{Status: 401,
		Message: "subscribe at m:5050: 401 Unauthorized (look at --mesos-credentials-file)"})
	away := errors.New("connection refused")
	always := func(err error) func(time.Duration) error { return func(time.Duration) error { return err } }
	for name, c := range map[string]struct {
		timeout time.Duration // RefusedTimeout
		standby bool
		err     func(since time.Duration) error // of an attempt to subscribe
		// ends, if not 0, is when the leader abdicates, within 20 seconds; permanently if refused is set.
		ends    time.Duration
		refused bool
	}{
		"only refused": {timeout: time.Minute, err: always(fmt.Errorf("subscribe: %w", refuses)), ends: time.Minute, refused: true},
		"refused, accepted in time": {timeout: time.Minute, err: func(d time.Duration) error {
			if d > 50*time.Second {
				return nil
			}
			return refuses
		}},
		"refused, at times away": {timeout: time.Minute, err: func(d time.Duration) error {
			switch {
			case d > 100*time.Second:
				return nil
			case d > 30*time.Second && d < 50*time.Second:
				return away
			}
			return refuses
		}},
		"not ready":             {timeout: time.Minute, err: always(&cluster.Refused{Status: 503, Message: "recovering"})},
		"refused, no timeout":   {err: always(refuses)},
		"away, with a standby":  {standby: true, err: always(away), ends: 3 * time.Minute},
		"away, with no standby": {err: always(away)},
		"away, back in time": {standby: true, err: func(d time.Duration) error {
			if d > 2*time.Minute {
				return nil
			}
			return away
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var began time.Time
			standing(t, func(s *stage) {
				began = time.Now()
				s.opt.RefusedTimeout, s.registry.standby = c.timeout, c.standby
				s.cluster.onSubscribe = func() error { return c.err(time.Since(began)) }
			}, func(t *testing.T, s *stage) {
				if c.ends == 0 {
					time.Sleep(10 * time.Minute)
					if n := s.registry.begun(); n != 1 || !s.Health().Leading {
						t.Errorf("after 10 minutes it leads for the %d. time: %+v", n, s.Health())
					}
					return
				}
				eventually(t, "the leader abdicates",
					func() bool { return s.diary.count("REGISTRY term 1 is resigned") == 1 })
				if took := time.Since(began); took < c.ends || took > c.ends+30*time.Second {
					t.Errorf("it abdicated after %s", took)
				}
				if !c.refused {
					eventually(t, "it stands for election again", func() bool { return s.registry.begun() == 2 })
					return
				}
				if err := <-s.ended; !errors.Is(err, scheduler.ErrRefused) ||
					!strings.Contains(err.Error(), "--mesos-credentials-file") {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// TestItsOwnAddressLeads: the log says what the likely reason is, and not that another server was found there.
func TestItsOwnAddressLeads(t *testing.T) {
	t.Parallel()
	standing(t, func(s *stage) {
		s.registry.leader = registry.Leader{Term: 4, Address: "me:1", Since: time.Now()}
		s.registry.seat <- struct{}{}
	}, func(t *testing.T, s *stage) {
		time.Sleep(5 * time.Minute)
		if s.log.count("duplicate address") != 1 || !s.log.has("an earlier run of it") || s.log.has("self=true") ||
			!strings.Contains(s.Health().Detail, "--advertise") {
			t.Errorf("after 5 minutes: %s; %+v", s.log, s.Health())
		}
	})
}

// TestALeaderLogsThatItLeads: the log says that this server leads, and does not call it another server.
func TestALeaderLogsThatItLeads(t *testing.T) {
	t.Parallel()
	standing(t, nil, func(t *testing.T, s *stage) {
		eventually(t, "it is logged", func() bool { return s.log.has(`msg="leader changed" self=true address=me:1`) })
		if s.log.has("self=false") {
			t.Error(s.log)
		}
	})
}

// TestTheErrorWithoutALeaderSaysWhatIsKnown: without a leader the log says what this server knows of the election.
func TestTheErrorWithoutALeaderSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	standing(t, func(s *stage) {
		s.registry.trouble = errors.New("ZooKeeper is away")
		s.registry.seat <- struct{}{}
	}, func(t *testing.T, s *stage) {
		time.Sleep(time.Minute)
		if s.log.count("no leader known") != 1 || !s.log.has("ZooKeeper is away") {
			t.Error(s.log)
		}
		if _, err := list(t.Context(), s.Scheduler, explain.Reader.Jobs); refused(err) == nil ||
			refused(err).Code != "not_leading" {
			t.Error(err)
		}
	})
}
