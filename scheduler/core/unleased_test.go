package core

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// runUnleased runs the shard of an exclusive job on node S1 of a Kubernetes cluster whose pods can't request leases.
// Then the node is unreachable for longer than any time of rule E4.
func runUnleased(t *testing.T, change func(*jobs.Config)) (*stage, cluster.TaskLaunch) {
	t.Helper()
	s := newStageOfTaskExecutors(t)
	s.opt.LeaseURLs = nil
	s.restart()
	l := s.runJobOn("S1", change)
	s.reportUnreachable(l)
	s.runFor(time.Hour)
	return s, l
}

// storedKill makes an update say that the cluster has stored a kill of the task for its node.
func storedKill(u *cluster.Update) { u.KillStored = true }

// removedFromCluster makes an update say that the task was removed from the cluster, by an operator or with its node.
func removedFromCluster(u *cluster.Update) {
	u.Source, u.Reason, u.UUID = cluster.FromMaster, cluster.ReasonTaskRemoved, nil
}

// TestK5WithoutALeaseOnlyProofOfItsEndFreesTheShard checks after which events the shard of an exclusive attempt without
// a lease, whose node does not answer, is launched again: only after those that prove the end of the attempt. Some
// prove it only after a time in which its processes must have ended.
func TestK5WithoutALeaseOnlyProofOfItsEndFreesTheShard(t *testing.T) {
	t.Parallel()
	grace := 5 * time.Second // as exclusive sets it
	for name, test := range map[string]struct {
		change func(*jobs.Config)
		then   func(*stage, cluster.TaskLaunch)
		frees  bool          // the shard is launched again
		after  time.Duration // at the earliest
	}{
		"it stays away": {exclusive, func(*stage, cluster.TaskLaunch) {}, false, 0},
		"a new leader":  {exclusive, func(s *stage, _ cluster.TaskLaunch) { s.restart() }, false, 0},
		"a new leader, and it is still away": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.restart()
			s.reportUnreachable(l)
		}, false, 0},
		"its kill is requested, and stored": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.step(Request{Token: 3, Event: operator.KillRequested{TaskID: l.TaskID}})
			s.update(l, cluster.Unreachable, fromMaster(""), storedKill)
		}, false, 0},
		"its deletion by a user is stored": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Unreachable, fromMaster(cluster.ReasonReconciliation), storedKill)
		}, false, 0},
		"its job times out": {func(j *jobs.Config) { exclusive(j); j.TimeoutSeconds = 600 },
			func(*stage, cluster.TaskLaunch) {}, false, 0},
		"its node is removed, but not its pod": {exclusive, func(s *stage, _ cluster.TaskLaunch) {
			s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"}))
		}, false, 0},
		"its executor reports its end": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Lost)
		}, true, 0},
		"its kubelet reports its end": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.Lost, fromAgent(""))
		}, true, 0},
		"its pod is removed from the cluster": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.update(l, cluster.GoneByOperator, removedFromCluster)
		}, true, grace + executions.RefusedTimeout},
		"its pod was removed while no leader watched": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.restart()
			s.update(l, cluster.Gone, fromMaster(cluster.ReasonReconciliation))
		}, true, grace + executions.RefusedTimeout},
		"an operator declares its machine dead": {exclusive, func(s *stage, _ cluster.TaskLaunch) {
			s.step(Request{Token: 3, Event: operator.DeadRequested{Machine: "S1"}})
		}, true, 0},
		"an operator confirms its end": {exclusive, func(s *stage, l cluster.TaskLaunch) {
			s.step(Request{Token: 3, Event: operator.ForgetRequested{TaskID: l.TaskID}})
		}, true, 0},
		"it is not exclusive": {func(j *jobs.Config) { exclusive(j); j.Exclusive = false },
			func(s *stage, l cluster.TaskLaunch) {
				s.update(l, cluster.Unreachable, fromMaster(""), storedKill)
			}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := runUnleased(t, test.change)
			test.then(s, l)
			began := s.now
			for s.now.Sub(began) < time.Hour {
				s.offer("S2", 8, 8192)
				if next := s.answerAccepts(); len(next) > 0 {
					waited := s.now.Sub(began)
					if !test.frees || waited < test.after || waited > test.after+2*time.Second {
						t.Errorf("launched after %s", waited)
					}
					return
				}
				s.runFor(time.Second)
			}
			if test.frees {
				t.Error("the shard is not launched again")
			}
			if isOrphan(s.core, l.TaskID) {
				t.Error("the attempt was given up")
			}
		})
	}
}

// TestK5WithoutAddressesNoTaskGetsALease checks that a task is launched without a lease while no addresses for lease
// requests are set, because a pod that can't request its lease would never begin. This must not change for the attempt
// when addresses are set later.
func TestK5WithoutAddressesNoTaskGetsALease(t *testing.T) {
	t.Parallel()
	s, l := runUnleased(t, exclusive)
	if l.Task.Lease != nil {
		t.Errorf("the task was launched with the lease %+v", l.Task.Lease)
	}
	s.opt.LeaseURLs = []string{"http://127.0.0.1:18899"}
	s.restart()
	s.reportUnreachable(l)
	s.runFor(time.Hour)
	if isOrphan(s.core, l.TaskID) {
		t.Error("the attempt was given up")
	}
	s.update(l, cluster.Running, fromMaster(cluster.ReasonReconciliation))
	if e := s.execution(s.created[0]); e.Shards[0].State != executions.Running || e.Shards[0].TaskID != l.TaskID {
		t.Errorf("after its node is back the shard is %+v", e.Shards[0])
	}
	s.update(l, cluster.Finished)
	if e := s.execution(s.created[0]); e.State != executions.Finished {
		t.Errorf("after the task has finished the execution is %+v", e)
	}
}

// TestK5AnUnreachableTaskWithoutALeaseIsExplained checks that explain and the execution say what the shard waits for.
// An operator can confirm the end of the task only while it is unreachable. The failure cause must then say so, and the
// task must be killed.
func TestK5AnUnreachableTaskWithoutALeaseIsExplained(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.opt.LeaseURLs = nil
	s.restart()
	l := s.runJobOn("S1", func(j *jobs.Config) { exclusive(j); j.Failover = false })
	forget := func() Reply {
		return s.step(Request{Token: 3, Event: operator.ForgetRequested{TaskID: l.TaskID}}).Replies[0]
	}
	if forget().Err == nil {
		t.Error("an operator can confirm the end of a running task")
	}
	s.reportUnreachable(l)
	s.runFor(2 * time.Minute)
	want := "task " + l.TaskID + " of this exclusive job may still run on agent S1"
	x, e := s.explain("my_job"), s.execution(s.created[0])
	if len(x.Running) != 1 || !strings.HasPrefix(x.Running[0].Reason, want) ||
		x.Running[0].ReasonCode != "exclusive_unreachable" {
		t.Errorf("explain shows %+v", x.Running)
	}
	if !strings.HasPrefix(e.Shards[0].Reason, want) {
		t.Errorf("the shard is shown as %+v", e.Shards[0])
	}
	reply := forget()
	if e := s.execution(s.created[0]); reply.Err != nil || e.Shards[0].State != executions.Lost ||
		e.Shards[0].FailureCause != "an operator confirmed that it had ended" {
		t.Errorf("the confirmation is answered with %v, and the shard is %+v", reply.Err, e.Shards[0])
	}
	if kills := calls[step.CallKill](s.last); len(kills) != 1 || kills[0].Kill.TaskID != l.TaskID {
		t.Errorf("the task is not killed, and may go on when its node is back: %+v", s.last.Calls)
	}
}

// TestK5OfEquallyLongSilencesTheSameOneIsAlwaysNamed checks which attempt the overview names if several have blocked a
// job for equally long: the one with the lowest task id, whatever the order in which attempts are visited.
func TestK5OfEquallyLongSilencesTheSameOneIsAlwaysNamed(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.opt.LeaseURLs = nil
	s.restart()
	s.app()
	s.job(func(j *jobs.Config) { exclusive(j); j.ShardingTotalCount, j.CPUCount = 4, 2 })
	s.trigger()
	s.offerAgents(4, 2, 1000)
	launches, since := s.answerAccepts(), s.now
	s.reportRunning(launches)
	for _, l := range launches {
		s.update(l, cluster.Unreachable, fromMaster(""),
			func(u *cluster.Update) { u.AgentID, u.UnreachableSince = agentOf(l), since })
	}
	s.runFor(2 * time.Minute)
	lowest := slices.MinFunc(launches, func(a, b cluster.TaskLaunch) int { return strings.Compare(a.TaskID, b.TaskID) })
	for range 20 {
		got := s.problemsOf(views.ProblemBlocked)
		if len(got) != 1 || !strings.Contains(got[0], lowest.TaskID) {
			t.Fatalf("the overview has %q, want task %s", got, lowest.TaskID)
		}
	}
}
