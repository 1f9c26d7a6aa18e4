package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestK5ProcessesThatCantBeEndedBlockUntilAnOperatorConfirmsTheirEnd checks that processes that can't be ended block
// their shard for longer than the lease, also under a new leader, until an operator confirms their end. Their machine
// must be cordoned.
func TestK5ProcessesThatCantBeEndedBlockUntilAnOperatorConfirmsTheirEnd(t *testing.T) {
	t.Parallel()
	s, n := newStage(t), leaseNumber(0)
	l := s.runJobOn("S1", exclusive)
	n.request(s, l)
	s.update(l, cluster.Failed, func(u *cluster.Update) {
		u.Status = &wire.Status{StartTime: s.now, SupervisorLost: true, Unkilled: true}
	})
	s.runFor(time.Hour)
	s.restart()
	s.update(l, cluster.Lost, fromMaster(cluster.ReasonReconciliation))
	s.runFor(time.Hour)
	s.offer("S2", 8, 8192)
	if got := s.answerAccepts(); len(got) > 0 || !s.core.machines.IsCordoned("S1") {
		t.Fatalf("%d launches; S1 is cordoned: %t", len(got), s.core.machines.IsCordoned("S1"))
	}
	if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why, "can't be ended") {
		t.Errorf("it waits because %s", why)
	}
	s.step(Request{Token: 3, Event: operator.ForgetRequested{TaskID: l.TaskID}})
	s.offer("S2", 8, 8192)
	if got := s.answerAccepts(); len(got) != 1 {
		t.Errorf("%d launches after an operator confirmed the end, want 1", len(got))
	}
}

// TestK5AMachineWithProcessesThatCantBeEndedStaysCordoned checks that a cordon that ends by itself does not replace the
// one for processes that can't be ended, also if the attempt has been given up and replaced by a later run.
func TestK5AMachineWithProcessesThatCantBeEndedStaysCordoned(t *testing.T) {
	t.Parallel()
	unkilled := func(u *cluster.Update) { u.Status = &wire.Status{StartTime: u.Timestamp, Unkilled: true} }
	for name, before := range map[string]func(*stage, cluster.TaskLaunch){
		"it is not cordoned": func(*stage, cluster.TaskLaunch) {},
		"an operator's cordon ends": func(s *stage, _ cluster.TaskLaunch) {
			s.step(Request{Token: 3, Event: operator.CordonRequested{Machine: "S1", Reason: "a disk",
				Until: s.now.Add(time.Hour)}})
		},
		"the cordon of a machine that flaps ends": func(s *stage, _ cluster.TaskLaunch) {
			s.core.machines.CordonFlapping("S1", 3, s.now.Add(10*time.Minute))
		},
		"the attempt was given up, and can't be taken back": func(s *stage, l cluster.TaskLaunch) {
			s.reportUnreachable(l)
			s.runFor(20 * time.Second)
			s.stepAndKill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := newStage(t), leaseNumber(0)
			l := s.runJobOn("S1", exclusive)
			n.request(s, l)
			before(s, l)
			s.update(l, cluster.Killed, unkilled)
			s.runFor(2 * time.Hour)
			if m, cordoned := s.core.machines.Get("S1"); !cordoned || !m.Until.IsZero() {
				t.Errorf("the cordon: %+v", m)
			}
			if !isOrphan(s.core, l.TaskID) {
				t.Error("the attempt does not block its shard")
			}
		})
	}
}

// TestK3AnExclusiveTaskHasTimeToReportThatItCantBeEnded checks that an executor is not shut down, even with --local,
// before it has reported that the processes of an exclusive task can't be killed.
func TestK3AnExclusiveTaskHasTimeToReportThatItCantBeEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change      func(*jobs.Config)
		early, late time.Duration // it is not shut down before early after the kill, but before late
	}{
		"exclusive": {exclusive, 80 * time.Second, 90 * time.Second},
		"any other": {func(j *jobs.Config) { exclusive(j); j.Exclusive = false }, 5 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.opt.KillAnswer = 5 * time.Second
			s.restart()
			l := s.runJobOn("S1", test.change)
			isClosing := func() bool { return s.core.executors.Get(l.Executor.ID).IsClosing() }
			s.step(Request{Token: 3, Event: operator.KillRequested{TaskID: l.TaskID}})
			if s.runFor(test.early); isClosing() {
				t.Errorf("shut down within %s", test.early)
			}
			if s.runFor(test.late - test.early); !isClosing() {
				t.Errorf("not shut down after %s", test.late)
			}
		})
	}
}
