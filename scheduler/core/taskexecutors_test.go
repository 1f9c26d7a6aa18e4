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

// newStageOfTaskExecutors returns a stage whose tasks bring their executors, as on Kubernetes.
func newStageOfTaskExecutors(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.opt.TaskExecutors = true
	s.restart()
	return s
}

// offerAgent makes an offer. It sets the id of the offer, and uses the id of the agent as its host name.
func (s *stage) offerAgent(o cluster.Offer) Decision {
	s.t.Helper()
	s.offerCount++
	o.ID, o.Hostname = "P"+o.AgentID+time.Duration(s.offerCount).String(), o.AgentID
	return s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{o}}))
}

// TestTasksThatBringTheirExecutors checks that a task that brings its executor takes only the resources of its shard,
// and that no record of an executor is written. The task must count as use of its agent, also under the next leader.
func TestTasksThatBringTheirExecutors(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job()
	s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(3, 192), Total: resources.New(4, 1000)})
	launches := s.answerAccepts()
	if len(launches) != 3 {
		t.Fatalf("%d of 3 shards were launched on resources that just fit", len(launches))
	}
	for _, l := range launches {
		if l.Executor.ID != "" || l.Resources != resources.New(1, 64) {
			t.Errorf("launched with an executor, or with other resources: %+v", l)
		}
	}
	for path := range s.stored {
		if strings.Contains(path, "executor") {
			t.Errorf("a record of an executor is written: %s", path)
		}
	}
	expectUse := func(when string, tasks int, used float64) {
		t.Helper()
		a, err := s.core.views.Agent("n1")
		if err != nil || a.Tasks != tasks || a.CPUs.Used != used {
			t.Errorf("%s the agent is shown as %+v, %v", when, a.AgentView, err)
		}
	}
	s.reportRunning(launches)
	expectUse("while the tasks run", 3, 3)
	s.restart()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(1, 808), Total: resources.New(4, 1000)})
	expectUse("under the next leader", 3, 3)
	if a, _ := s.core.views.Agent("n1"); a.CPUs.Total == nil || *a.CPUs.Total != 4 {
		t.Errorf("the CPUs of the agent are shown as %+v", a.CPUs)
	}
	s.reportFinished(launches)
	expectUse("after their end", 0, 0)
}

// TestTasksThatDoNotBegin checks that explain and the execution show why a task does not begin, until the cluster says
// that nothing prevents it, or it begins. Repeated updates must not bring the reason back.
func TestTasksThatDoNotBegin(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)})
	l := s.answerAccepts()[0]
	expectReason := func(want string, u cluster.Update) {
		t.Helper()
		u.TaskID, u.AgentID = l.TaskID, "n1"
		s.step(s.clusterEvent(u))
		x, err := s.core.views.Explain("my_job")
		if err != nil || len(x.Running) != 1 || x.Running[0].Reason != want {
			t.Errorf("explain shows %+v, %v, want the reason %q", x.Running, err, want)
		}
		if e, err := s.core.views.Execution(id); err != nil || e.Shards[0].Reason != want {
			t.Errorf("the execution shows %+v, %v, want the reason %q", e.Shards, err, want)
		}
	}
	starting := func(uuid, message string) cluster.Update {
		return cluster.Update{State: cluster.Starting, Source: cluster.FromAgent, UUID: []byte(uuid), Message: message}
	}
	expectReason("", starting("u1", ""))
	expectReason("no such image", starting("u2", "no such image"))
	expectReason("no such image", cluster.Update{State: cluster.Starting, Source: cluster.FromMaster,
		Reason: cluster.ReasonReconciliation, Message: "latest task state"})
	expectReason("", starting("u3", ""))
	expectReason("no such image", starting("u2", "no such image"))
	expectReason("", cluster.Update{State: cluster.Running, Source: cluster.FromExecutor, UUID: []byte("u4")})
}

// TestNotesOfJobsThatBringTheirExecutors checks that a job that just fits an agent has no note, because the resources
// of the app's executor do not count. A larger job has a note.
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

// TestNotesOfJobsWithTooLittleMemory checks that a job has a note if a shard has less memory than the executor that it
// brings needs. With a shared executor it has none.
func TestNotesOfJobsWithTooLittleMemory(t *testing.T) {
	t.Parallel()
	small := func(j *jobs.Config) { j.MemoryMB = 8 }
	s, shared := newStageOfTaskExecutors(t), newStage(t)
	for _, st := range []*stage{s, shared} {
		st.app()
		st.job(small)
	}
	if v, err := s.core.views.Job("my_job"); err != nil || len(v.Notes) != 1 ||
		!strings.Contains(v.Notes[0], "memoryMB is 8, and the executor that starts each shard needs 16") {
		t.Errorf("the job has the notes %q, %v", v.Notes, err)
	}
	if v, err := shared.core.views.Job("my_job"); err != nil || len(v.Notes) > 0 {
		t.Errorf("with a shared executor the job has the notes %q, %v", v.Notes, err)
	}
}

// TestAgentsThatTakeFewTasks checks that shards that start together are launched only when the agents take enough
// tasks, and that explain says when an agent is full.
func TestAgentsThatTakeFewTasks(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job()
	id := s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(30, 3000), MaxTasks: 2})
	if l := s.answerAccepts(); len(l) > 0 {
		t.Fatalf("%d of 3 shards are launched on an agent that takes 2 tasks", len(l))
	}
	x, err := s.core.views.Explain("my_job")
	if err != nil || len(x.Waiting) == 0 ||
		!strings.Contains(x.Waiting[0].Reason, "agent n1 (host n1) is full: it has as many tasks as it takes") {
		t.Errorf("explain shows %+v, %v", x.Waiting, err)
	}
	s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(30, 3000), MaxTasks: 1})
	if l := s.answerAccepts(); len(l) != 3 {
		t.Errorf("%d shards of %s are launched on two agents, want 3", len(l), id)
	}
}

// TestAgentsThatAreUnfit checks that explain says why the rules of the cluster exclude an app from an agent. The rules
// must be checked again only when the attributes of the agent change, and then the app is launched.
func TestAgentsThatAreUnfit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	checks := 0
	unfit := func(on *cluster.Attributes) string {
		checks++
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
		t.Fatalf("%d tasks are launched on an agent that does not fit", len(l))
	}
	x, err := s.core.views.Explain("my_job")
	if err != nil || len(x.Waiting) != 1 ||
		!strings.Contains(x.Waiting[0].Reason, "agent n1 (host n1) is avoided: it lacks the label disk=ssd") {
		t.Errorf("explain shows %+v, %v", x.Waiting, err)
	}
	before := checks
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000), Attributes: slow})
	if checks != before {
		t.Error("unchanged attributes were checked again")
	}
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000),
		Attributes: &cluster.Attributes{Labels: map[string]string{"disk": "ssd"}}})
	if l := s.answerAccepts(); len(l) != 1 {
		t.Errorf("%d tasks are launched on an agent that fits, want 1", len(l))
	}
}

// TestS1ARepeatedStateAfterUnreachableCounts checks that a task is not abandoned if the cluster reports the same
// state as before its agent went away, because then the agent is back (S1).
func TestS1ARepeatedStateAfterUnreachableCounts(t *testing.T) {
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
		t.Errorf("the shard is %+v, want the task still running", v.Shards[0])
	}
}

// TestProgressOfTasksThatBringTheirExecutors checks that the progress of a task is shown if its own agent reports it,
// also after the end of the task.
func TestProgressOfTasksThatBringTheirExecutors(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)})
	l := s.answerAccepts()[0]
	s.update(l, cluster.Running)
	// progressAfterReportOf returns the shown progress after a report from an agent.
	progressAfterReportOf := func(agent string) *executions.Progress {
		report := &wire.Report{Tasks: []wire.TaskReport{{TaskID: l.TaskID, Progress: &wire.Progress{Fraction: 0.5}}}}
		s.step(s.clusterEvent(cluster.Message{AgentID: agent, Report: report}))
		return s.execution(id).Shards[0].Progress
	}
	if progressAfterReportOf("n2") != nil {
		t.Error("progress is shown that another agent reported")
	}
	if p := progressAfterReportOf("n1"); p == nil || p.Fraction != 0.5 {
		t.Errorf("the progress that the agent reported is shown as %+v", p)
	}
	s.update(l, cluster.Finished, func(u *cluster.Update) {
		u.Source, u.Status = cluster.FromExecutor,
			&wire.Status{StartTime: s.wall(), Progress: &wire.Progress{Fraction: 1, Message: "all"}}
	})
	if p := s.execution(id).Shards[0].Progress; p == nil || p.Fraction != 1 || p.Message != "all" {
		t.Errorf("after the end the progress is shown as %+v", p)
	}
}

// TestAgentsThatFailToFetchAreAvoided checks that an agent that cannot pull the image of an app is avoided for the app
// with growing delays, although each pod is bound and begins to fetch before it fails (L6).
func TestAgentsThatFailToFetchAreAvoided(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1 })
	s.trigger()
	offer := cluster.Offer{AgentID: "n1", Resources: resources.New(3, 192)}
	fetching := &wire.Status{Phase: wire.PhaseFetch}
	for times := range 2 {
		s.offerAgent(offer)
		launched := s.answerAccepts()
		if len(launched) != 1 {
			t.Fatalf("%d tasks are launched, want 1", len(launched))
		}
		s.update(launched[0], cluster.Starting,
			func(u *cluster.Update) { u.Source, u.Status = cluster.FromAgent, fetching })
		s.update(launched[0], cluster.Failed, func(u *cluster.Update) {
			u.Source, u.Reason, u.Message = cluster.FromAgent, cluster.ReasonContainerLaunchFailed, "no such image"
		})
		s.stepAfter(300 * time.Millisecond) // the shard may be launched again, but not on this agent
		s.offerAgent(offer)
		if l := s.answerAccepts(); len(l) > 0 {
			t.Fatalf("launched on the same agent at once after %d failures", times+1)
		}
		x, err := s.core.views.Explain("my_job")
		if want := fmt.Sprintf("a task of the app failed to start there %d time", times+1); err != nil ||
			len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, want) {
			t.Errorf("explain does not say that %s: %+v, %v", want, x.Waiting, err)
		}
		s.stepAfter(time.Minute)
	}
}
