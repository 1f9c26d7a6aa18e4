package core

import (
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// exclusive gives a job one exclusive shard. After the last request for its lease, the next attempt must wait for
// exclusiveWait.
func exclusive(j *jobs.Config) {
	j.ShardingTotalCount, j.Failover = 1, true
	j.Exclusive, j.LeaseSeconds, j.KillGraceSeconds, j.UnreachableSeconds = true, 10, 5, 15
}

// exclusiveWait is how long the next attempt of an exclusive job waits after the last request for the lease.
const exclusiveWait = 23 * time.Second

// leaseNumber is the number of the last request of a test's only lease holder.
type leaseNumber uint64

// request sends the next request for the lease of a task, and returns the answer.
func (n *leaseNumber) request(s *stage, l cluster.TaskLaunch) lease.Answer {
	s.t.Helper()
	*n++
	r := lease.Request{Holder: l.Task.Lease.Holder, Start: 1, Number: uint64(*n), Term: s.opt.Term,
		Tasks: []string{l.TaskID}}
	a := requestLease(s, r)
	if a == nil || a.Number != r.Number || a.Start != r.Start || a.Term != s.opt.Term {
		s.t.Fatalf("the request %+v got the answer %+v", r, a)
	}
	return *a
}

// requestLease sends a request for leases, and returns the answer, or nil if the core gives none.
func requestLease(s *stage, r lease.Request) *lease.Answer {
	s.t.Helper()
	d := s.step(Request{Token: 7, Event: LeaseRequested{Request: r}})
	if len(d.Replies) != 1 {
		s.t.Fatalf("%d replies to a request for leases, want 1", len(d.Replies))
	}
	return d.Replies[0].Lease
}

// TestK5TheNextAttemptWaitsForTheLease checks how long after the last request for its lease the next attempt of an
// exclusive shard is launched.
func TestK5TheNextAttemptWaitsForTheLease(t *testing.T) {
	t.Parallel()
	executorEnded := fromAgent(cluster.ReasonExecutorTerminated)
	for name, test := range map[string]struct {
		change func(*jobs.Config)
		end    func(*stage, cluster.TaskLaunch)
		want   time.Duration // the launch may come up to two seconds later
	}{
		"its executor reports that it was killed": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Killed)
		}, 0},
		"its agent says that its executor has ended": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Failed, executorEnded)
		}, exclusiveWait},
		"the master says that it is gone": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Gone, fromMaster(cluster.ReasonAgentRemoved))
		}, exclusiveWait},
		"only reconciliation says that it has ended": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Failed, fromMaster(cluster.ReasonReconciliation))
		}, max(exclusiveWait, step.DefaultOptions().EndUnclear)},
		"its agent is unreachable": {exclusive, func(s *stage, l cluster.TaskLaunch) { s.reportUnreachable(l) },
			exclusiveWait},
		"its agent is unreachable, and its lease is long": {func(j *jobs.Config) {
			exclusive(j)
			j.LeaseSeconds = 60
		}, func(s *stage, l cluster.TaskLaunch) { s.reportUnreachable(l) }, 83 * time.Second},
		"it is not exclusive": {func(j *jobs.Config) { exclusive(j); j.Exclusive = false },
			func(s *stage, l cluster.TaskLaunch) { s.update(l, cluster.Failed, executorEnded) }, 0},
		"an operator says that it has ended": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Failed, executorEnded)
			s.step(Request{Token: 3, Event: operator.ForgetRequested{TaskID: l.TaskID}})
		}, 0},
		"a new leader counts from its own election": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.runFor(5 * time.Second)
			s.restart()
			s.update(l, cluster.Failed, executorEnded)
		}, 5*time.Second + exclusiveWait},
		"a new leader has a shorter grace": {func(j *jobs.Config) {
			exclusive(j)
			j.KillGraceSeconds = 0
		}, func(s *stage, l cluster.TaskLaunch) {
			s.opt.KillGrace = time.Second
			s.restart()
			s.update(l, cluster.Failed, executorEnded)
		}, exclusiveWait},
		"new leaders add up the time that was waited": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Failed, executorEnded)
			for range 2 {
				s.runFor(11 * time.Second)
				s.restart()
			}
		}, exclusiveWait},
		"a new leader does not count time that was not stored": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Failed, executorEnded)
			s.runFor(8 * time.Second)
			s.restart()
		}, 8*time.Second + exclusiveWait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := newStage(t), leaseNumber(0)
			l := s.runJobOn("S1", test.change)
			if l.Task.Lease != nil {
				n.request(s, l)
			}
			requested := s.now
			test.end(s, l)
			for s.now.Sub(requested) < 20*time.Minute {
				s.offer("S2", 8, 8192)
				if next := s.answerAccepts(); len(next) > 0 {
					if waited := s.now.Sub(requested); waited < test.want || waited > test.want+2*time.Second {
						t.Errorf("launched after %s, want %s", waited, test.want)
					}
					return
				}
				s.runFor(500 * time.Millisecond)
			}
			t.Error("the next attempt is not launched")
		})
	}
}

// TestK5AnAttemptThatNeverHadALeaseDelaysNothing checks that an attempt whose lease was never requested does not block
// its shard after its end, because it never began. It must get no lease later.
func TestK5AnAttemptThatNeverHadALeaseDelaysNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJobOn("S1", exclusive)
	s.update(l, cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
	if isOrphan(s.core, l.TaskID) {
		t.Error("the attempt blocks its shard")
	}
	var n leaseNumber
	if a := n.request(s, l); !slices.Equal(a.Ended, []string{l.TaskID}) {
		t.Errorf("a later request for its lease is answered with %+v", a)
	}
}

// TestK5WhoGetsALease checks for which tasks a lease is granted. For all others the answer must say that they have
// ended.
func TestK5WhoGetsALease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before  func(*stage, cluster.TaskLaunch)
		granted bool
	}{
		"a running task":             {func(*stage, cluster.TaskLaunch) {}, true},
		"under a new leader":         {func(s *stage, _ cluster.TaskLaunch) { s.restart() }, true},
		"while the cluster is away":  {func(s *stage, _ cluster.TaskLaunch) { s.unsubscribe() }, true},
		"given up, but not replaced": {giveUp, true},
		"not if a kill is requested": {func(s *stage, _ cluster.TaskLaunch) {
			s.step(Request{Token: 3, Event: operator.KillRequested{ExecutionID: s.created[0]}})
		}, false},
		"not after its end": {func(s *stage, l cluster.TaskLaunch) { s.update(l, cluster.Finished) }, false},
		"not if the cluster says it ended": {func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
		}, false},
		"not after it was replaced": {func(s *stage, l cluster.TaskLaunch) {
			giveUp(s, l)
			s.runFor(2 * exclusiveWait)
			runElsewhere(s)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := newStage(t), leaseNumber(0)
			l := s.runJobOn("S1", exclusive)
			n.request(s, l)
			test.before(s, l)
			a := n.request(s, l)
			if granted := slices.Contains(a.Granted, l.TaskID); granted != test.granted ||
				granted == slices.Contains(a.Ended, l.TaskID) {
				t.Errorf("the answer is %+v, want it granted: %v", a, test.granted)
			}
			if e := s.execution(s.created[0]); test.granted &&
				(e.Shards[0].State != executions.Running || e.Shards[0].TaskID != l.TaskID) {
				t.Errorf("with a lease, the shard is %+v", e.Shards[0])
			}
		})
	}
}

// giveUp makes the agent of an attempt unreachable until the attempt is given up.
func giveUp(s *stage, l cluster.TaskLaunch) {
	s.t.Helper()
	s.reportUnreachable(l)
	s.runFor(15*time.Second + step.SweepInterval)
	if !isOrphan(s.core, l.TaskID) {
		s.t.Fatal("the attempt was not given up")
	}
}

// TestK5AnAttemptIsNotGivenUpWhileItsLeaseIsRequested checks that an attempt on an unreachable agent is not given up
// while its executor requests the lease from the leader.
func TestK5AnAttemptIsNotGivenUpWhileItsLeaseIsRequested(t *testing.T) {
	t.Parallel()
	s, n := newStage(t), leaseNumber(0)
	l := s.runJobOn("S1", exclusive)
	s.reportUnreachable(l)
	for i := range 60 {
		if a := n.request(s, l); len(a.Granted) != 1 {
			t.Fatalf("the answer is %+v", a)
		}
		if i > 0 && len(s.last.Writes) > 0 { // the first request shows that the executor is alive, which is stored
			t.Fatalf("a renewal writes %v", s.last.Writes)
		}
		s.runFor(5 * time.Second)
	}
	s.runFor(15*time.Second + step.SweepInterval)
	if !isOrphan(s.core, l.TaskID) {
		t.Error("the attempt was not given up after the last request")
	}
}

// TestK5WhichRequestsRenewNothing checks that a lease is not renewed by a copy of a request, a late request, or a
// request of another holder.
func TestK5WhichRequestsRenewNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(r *lease.Request)
		answered bool
		granted  bool
	}{
		"the next request":             {func(r *lease.Request) { r.Number++ }, true, true},
		"of a holder that began again": {func(r *lease.Request) { r.Start, r.Number = 8, 1 }, true, true},
		"a copy of the first":          {func(*lease.Request) {}, false, false},
		"a late request":               {func(r *lease.Request) { r.Number-- }, false, false},
		"of another holder":            {func(r *lease.Request) { r.Holder = "y" }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			l := s.runJobOn("S1", exclusive)
			r := lease.Request{Holder: l.Task.Lease.Holder, Start: 5, Number: 3, Tasks: []string{l.TaskID}}
			if a := requestLease(s, r); a == nil {
				t.Fatal("the first request is not answered")
			}
			test.change(&r)
			a := requestLease(s, r)
			if (a != nil) != test.answered || a != nil && (len(a.Granted) == 1) != test.granted {
				t.Errorf("the answer is %+v", a)
			}
		})
	}
}

// TestK5WhichRequestTakesAnAttemptBack checks which request takes back an attempt that was given up: only one from the
// holder of its lease, which must know the present term.
func TestK5WhichRequestTakesAnAttemptBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*lease.Request)
		back   bool // the attempt is taken back
		ended  bool // the answer says that it has ended
	}{
		"its holder":                  {func(*lease.Request) {}, true, false},
		"its holder, in another term": {func(r *lease.Request) { r.Term-- }, false, false},
		"another holder":              {func(r *lease.Request) { r.Holder = "y" }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := newStage(t), leaseNumber(0)
			l := s.runJobOn("S1", exclusive)
			n.request(s, l)
			giveUp(s, l)
			r := lease.Request{Holder: l.Task.Lease.Holder, Start: 1, Number: 9, Term: s.opt.Term,
				Tasks: []string{l.TaskID}}
			test.change(&r)
			a := requestLease(s, r)
			if isOrphan(s.core, l.TaskID) == test.back || (len(a.Ended) == 1) != test.ended ||
				(len(a.Granted) == 1) != test.back {
				t.Errorf("the answer is %+v, orphans %v", a, orphanIDs(s.core))
			}
		})
	}
}

// TestK5AnOrphanThatWasSeenAliveBlocks checks that an orphan is kept if the master reports it as running after it
// reported it as gone.
func TestK5AnOrphanThatWasSeenAliveBlocks(t *testing.T) {
	t.Parallel()
	s, n := newStage(t), leaseNumber(0)
	l := s.runJobOn("S1", exclusive)
	n.request(s, l)
	s.update(l, cluster.Gone, fromMaster(cluster.ReasonAgentRemoved))
	s.update(l, cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.runFor(10 * exclusiveWait)
	if !isOrphan(s.core, l.TaskID) {
		t.Error("the orphan was removed although it was seen alive")
	}
}

// TestK5AnOrphanThatIsAddedAgainCountsOnce checks that an orphan that is added twice counts once for its executor.
// After the orphan has ended, the executor has no orphans, so that it gets tasks.
func TestK5AnOrphanThatIsAddedAgainCountsOnce(t *testing.T) {
	t.Parallel()
	s, n := newStage(t), leaseNumber(0)
	l := s.runJobOn("S1", func(j *jobs.Config) { exclusive(j); j.Failover = false })
	n.request(s, l)
	s.update(l, cluster.Gone, fromMaster(cluster.ReasonAgentRemoved))
	s.runFor(2 * exclusiveWait)
	if isOrphan(s.core, l.TaskID) || s.core.st.Orphans.ExistOn(l.Executor.ID) {
		t.Error("the executor still counts an orphan")
	}
}

// TestK5ExplainSaysThatNoLeaseWasRequested checks that explain shows it if the lease of a task was not requested
// within 15 s after the launch. The executor of the task may reach no server.
func TestK5ExplainSaysThatNoLeaseWasRequested(t *testing.T) {
	t.Parallel()
	s, n := newStage(t), leaseNumber(0)
	l := s.runJobOn("S1", exclusive)
	isExplained := func() bool {
		x := s.explain("my_job")
		return len(x.Running) == 1 && x.Running[0].ReasonCode == "lease_not_asked"
	}
	s.runFor(14 * time.Second)
	if isExplained() {
		t.Error("explained after only 14 s")
	}
	s.runFor(time.Second)
	if !isExplained() {
		t.Errorf("not explained after 15 s: %+v", s.explain("my_job").Running)
	}
	n.request(s, l)
	if isExplained() {
		t.Error("explained although the lease was requested")
	}
}

// TestM2AMachineWhosePodsAskForLeasesIsAlive checks that requests for leases keep the machine of pods from being
// declared dead.
func TestM2AMachineWhosePodsAskForLeasesIsAlive(t *testing.T) {
	t.Parallel()
	s, n := newStageOfTaskExecutors(t), leaseNumber(0)
	l := s.runJobOn("S1", exclusive)
	declare := func(when, want string) {
		t.Helper()
		code := ""
		if err := s.step(Request{Token: 3, Event: operator.DeadRequested{Machine: "S1"}}).Replies[0].Err; err != nil {
			code = err.Code
		}
		if code != want {
			t.Errorf("%s, the answer is %q, want %q", when, code, want)
		}
	}
	for range 12 {
		n.request(s, l)
		s.reportUnreachable(l)
		s.runFor(10 * time.Second)
	}
	declare("while its pods ask for leases", "machine_heard")
	s.restart()
	declare("after a change of the leader", "machine_unheard")
	s.runFor(time.Minute)
	declare("after a minute of silence", "")
}
