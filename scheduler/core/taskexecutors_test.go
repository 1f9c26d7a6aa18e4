package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// own is a stage whose tasks bring their executors, as on Kubernetes.
func newStageOfTaskExecutors(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.opt.TaskExecutors = true
	s.restart()
	return s
}

// offers makes an offer with everything that a cluster may report of an agent.
func (s *stage) offerAgent(o cluster.Offer) Decision {
	s.t.Helper()
	s.offerCount++
	o.ID, o.Hostname = "P"+o.AgentID+time.Duration(s.offerCount).String(), o.AgentID
	return s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{o}}))
}

// A task that brings its executor takes the resources of its shard and no more. No record of an executor is written,
// and its agent's account counts it, in the next term as well.
func TestTasksThatBringTheirExecutors(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job()
	s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(3, 192), Total: resources.New(4, 1000)})
	launched := s.answerAccepts()
	if len(launched) != 3 {
		t.Fatalf("%d of 3 shards were launched on just their own size", len(launched))
	}
	for _, l := range launched {
		if l.Executor.ID != "" || l.Resources != resources.New(1, 64) {
			t.Errorf("%+v", l)
		}
	}
	for path := range s.stored {
		if strings.Contains(path, "executor") {
			t.Errorf("%s is written", path)
		}
	}
	see := func(when string, tasks int, used float64) {
		t.Helper()
		a, err := s.core.views.Agent("n1")
		if err != nil || a.Tasks != tasks || a.CPUs.Used != used {
			t.Errorf("%s: %+v, %v", when, a.AgentView, err)
		}
	}
	s.reportRunning(launched)
	see("while they run", 3, 3)
	s.restart()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(1, 808), Total: resources.New(4, 1000)})
	see("in the next term", 3, 3)
	if a, _ := s.core.views.Agent("n1"); a.CPUs.Total == nil || *a.CPUs.Total != 4 {
		t.Errorf("%+v", a.CPUs)
	}
	s.reportFinished(launched)
	see("at their end", 0, 0)
}

// The reason why a task does not begin is shown until it begins.
func TestTasksThatDoNotBegin(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)})
	l := s.answerAccepts()[0]
	says := func(u cluster.Update, want string) {
		t.Helper()
		u.TaskID, u.AgentID = l.TaskID, "n1"
		s.step(s.clusterEvent(u))
		x, err := s.core.views.Explain("my_job")
		if err != nil || len(x.Running) != 1 || x.Running[0].Reason != want {
			t.Errorf("%+v, %v", x.Running, err)
		}
		if e, err := s.core.views.Execution(id); err != nil || e.Shards[0].Reason != want {
			t.Errorf("%+v, %v", e.Shards, err)
		}
	}
	starting := func(uuid, message string) cluster.Update {
		return cluster.Update{State: cluster.Starting, Source: cluster.FromAgent, UUID: []byte(uuid), Message: message}
	}
	says(starting("u1", ""), "")
	says(starting("u2", "no such image"), "no such image")
	says(cluster.Update{State: cluster.Starting, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation,
		Message: "latest task state"}, "no such image")
	says(starting("u3", ""), "")
	says(starting("u2", "no such image"), "no such image")
	says(cluster.Update{State: cluster.Running, Source: cluster.FromExecutor, UUID: []byte("u4")}, "")
}

// The resources of an app's executor are not accounted, so they make no job too large.
func TestNotesOfJobsThatBringTheirExecutors(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(3, 192), Total: resources.New(3, 192)})
	if v, err := s.core.views.Job("my_job"); err != nil || len(v.Notes) > 0 {
		t.Errorf("a job that just fits has the notes %q, %v", v.Notes, err)
	}
	s.job(func(j *jobs.Config) { j.JobName, j.CPUCount = "large", 4 })
	if v, err := s.core.views.Job("large"); err != nil || len(v.Notes) != 1 ||
		!strings.Contains(v.Notes[0], "it needs 4 CPU, 64 MB, the largest") {
		t.Errorf("a job that is too large has the notes %q, %v", v.Notes, err)
	}
}

// A shard needs memory for the executor that starts it, within its own.
func TestNotesOfJobsWithTooLittleMemory(t *testing.T) {
	t.Parallel()
	small := func(j *jobs.Config) { j.MemoryMB = 8 }
	s, shared := newStageOfTaskExecutors(t), newStage(t)
	for _, on := range []*stage{s, shared} {
		on.app()
		on.job(small)
	}
	if v, err := s.core.views.Job("my_job"); err != nil || len(v.Notes) != 1 ||
		!strings.Contains(v.Notes[0], "memoryMB is 8, and the executor that starts each shard needs 16") {
		t.Errorf("it has the notes %q, %v", v.Notes, err)
	}
	if v, err := shared.core.views.Job("my_job"); err != nil || len(v.Notes) > 0 {
		t.Errorf("with a shared executor it has the notes %q, %v", v.Notes, err)
	}
}

// Agents that take a limited number of tasks count for shards that start together, too.
func TestAgentsThatTakeFewTasks(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job()
	id := s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(30, 3000), MaxTasks: 2})
	if l := s.answerAccepts(); len(l) > 0 {
		t.Fatalf("%d launched", len(l))
	}
	x, err := s.core.views.Explain("my_job")
	if err != nil || len(x.Waiting) == 0 ||
		!strings.Contains(x.Waiting[0].Reason, "agent n1 (host n1) is full: it has as many tasks as it takes") {
		t.Errorf("%+v, %v", x.Waiting, err)
	}
	s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(30, 3000), MaxTasks: 1})
	if l := s.answerAccepts(); len(l) != 3 {
		t.Errorf("%d launched of %s", len(l), id)
	}
}

// Where the cluster's rules exclude an app from an agent, explain says so; when they change, it is placed.
func TestAgentsThatAreUnfit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	asked := 0
	unfit := func(on *cluster.Attributes) string {
		asked++
		if on.Labels["disk"] == "ssd" {
			return ""
		}
		return "it lacks the label disk=ssd"
	}
	s.opt.TaskExecutors, s.opt.Unfit = true, func(cluster.Container) func(*cluster.Attributes) string { return unfit }
	s.restart()
	s.app()
	s.job(oneShard)
	s.trigger()
	slow := &cluster.Attributes{}
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000), Attributes: slow})
	if l := s.answerAccepts(); len(l) > 0 {
		t.Fatalf("%d launched", len(l))
	}
	x, err := s.core.views.Explain("my_job")
	if err != nil || len(x.Waiting) != 1 ||
		!strings.Contains(x.Waiting[0].Reason, "agent n1 (host n1) is avoided: it lacks the label disk=ssd") {
		t.Errorf("%+v, %v", x.Waiting, err)
	}
	before := asked
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000), Attributes: slow})
	if asked != before {
		t.Error("the same attributes were looked at again")
	}
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000),
		Attributes: &cluster.Attributes{Labels: map[string]string{"disk": "ssd"}}})
	if l := s.answerAccepts(); len(l) != 1 {
		t.Errorf("%d launched", len(l))
	}
}

// If a cluster reports the same state of a task as before its agent went away, the agent is back: the task is not
// abandoned (S1).
func TestS1TheSameWordAgainAfterUnreachableIsNews(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard, withFailover)
	s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)})
	l := s.answerAccepts()[0]
	s.update(l, cluster.Running)
	s.stepAfter(time.Minute)
	s.reportUnreachable(l)
	s.stepAfter(time.Second)
	s.update(l, cluster.Running)
	s.runFor(s.opt.UnreachableAfter + time.Minute)
	if v := s.execution(s.core.executions.Ref(l.TaskID).Exec.ID()); v.Shards[0].State != executions.Running ||
		v.Shards[0].TaskID != l.TaskID {
		t.Errorf("%+v", v.Shards[0])
	}
}

// Progress comes from the task's agent where there is no executor to name.
func TestProgressOfTasksThatBringTheirExecutors(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)})
	l := s.answerAccepts()[0]
	s.update(l, cluster.Running)
	says := func(agent string) *executions.Progress {
		s.step(s.clusterEvent(cluster.Message{AgentID: agent,
			Report: &wire.Report{Tasks: []wire.TaskReport{{TaskID: l.TaskID,
				Progress: &wire.Progress{Fraction: 0.5}}}}}))
		return s.execution(id).Shards[0].Progress
	}
	if says("n2") != nil {
		t.Error("another agent says how far the task is")
	}
	if p := says("n1"); p == nil || p.Fraction != 0.5 {
		t.Errorf("%+v", p)
	}
	s.update(l, cluster.Finished, func(u *cluster.Update) {
		u.Source, u.Status = cluster.FromExecutor,
			&wire.Status{StartTime: s.wall(), Progress: &wire.Progress{Fraction: 1, Message: "all"}}
	})
	if p := s.execution(id).Shards[0].Progress; p == nil || p.Fraction != 1 || p.Message != "all" {
		t.Errorf("after the end: %+v", p)
	}
}

// An image that cannot be pulled keeps its app off the agent with growing delays, although each pod is bound, and
// fetches, before that (L6).
func TestAgentsThatFetchInVain(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1 })
	s.trigger()
	offer := cluster.Offer{AgentID: "n1", Resources: resources.New(3, 192)}
	fetches := &wire.Status{Phase: wire.PhaseFetch}
	for times := range 2 {
		s.offerAgent(offer)
		launched := s.answerAccepts()
		if len(launched) != 1 {
			t.Fatalf("%d launched", len(launched))
		}
		s.update(launched[0], cluster.Starting,
			func(u *cluster.Update) { u.Source, u.Status = cluster.FromAgent, fetches })
		s.update(launched[0], cluster.Failed, func(u *cluster.Update) {
			u.Source, u.Reason, u.Message = cluster.FromAgent, cluster.ReasonContainerLaunchFailed, "no such image"
		})
		s.stepAfter(300 * time.Millisecond) // its shard is ready again, its agent is not
		s.offerAgent(offer)
		if l := s.answerAccepts(); len(l) > 0 {
			t.Fatalf("it is launched there at once after %d failures", times+1)
		}
		x, err := s.core.views.Explain("my_job")
		if want := fmt.Sprintf("a task of the app failed to start there %d time", times+1); err != nil ||
			len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, want) {
			t.Errorf("it does not say that it %s: %+v, %v", want, x.Waiting, err)
		}
		s.stepAfter(time.Minute)
	}
}
