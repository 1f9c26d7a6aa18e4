package core

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestAgentsThatAreClosed checks why a shard waits if the only agent that is large enough takes no tasks now. The
// reason must not claim that no agent will ever have room. Once the agent takes tasks, the shard is launched.
func TestAgentsThatAreClosed(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 32 })
	s.trigger()
	expectReason := func(when, want string) {
		t.Helper()
		x, err := s.core.views.Explain("my_job")
		if err != nil || len(x.Waiting) != 1 || !strings.Contains(x.Waiting[0].Reason, want) {
			t.Errorf("%s explain shows %+v, %v, want %q", when, x.Waiting, err, want)
		}
	}
	closed := cluster.Closed{AgentID: "n2", Hostname: "n2", Total: resources.New(64, 8000), Why: "it is cordoned"}
	s.step(s.clusterEvent(closed))
	expectReason("with no other agent", "agent n2 takes no tasks now: it is cordoned")
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(4, 4000), Total: resources.New(4, 4000)})
	expectReason("with a small agent", "agent n2 could, but it is cordoned")
	if v, err := s.core.views.Job("my_job"); err != nil || len(v.Notes) > 0 {
		t.Errorf("the job has the notes %q, %v", v.Notes, err)
	}
	s.step(s.clusterEvent(cluster.Closed{AgentID: "n2", Hostname: "n2"}))
	s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(64, 8000), Total: resources.New(64, 8000)})
	if l := s.answerAccepts(); len(l) != 1 {
		t.Errorf("%d tasks are launched on the agent that takes tasks again, want 1", len(l))
	}
}

// TestAgentsThatAreClosedAreShown checks that an agent that takes no tasks is shown as CLOSED, with the reason,
// whether it has made offers or not.
func TestAgentsThatAreClosedAreShown(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(4, 4000), Total: resources.New(4, 4000)})
	closed := cluster.Closed{AgentID: "n1", Hostname: "n1", Total: resources.New(4, 4000), Why: "it is cordoned"}
	s.step(s.clusterEvent(closed))
	closed.AgentID, closed.Hostname, closed.Why = "n2", "n2", "it is not ready"
	s.step(s.clusterEvent(closed))
	expectShown := func(id, state, note string) {
		t.Helper()
		if v, err := s.core.views.Agent(id); err != nil || v.State == nil || *v.State != state || v.Note != note ||
			(note != "") != (v.NoteCode == "takes_no_tasks") {
			t.Errorf("%s: %+v, %v; want it to be %s: %s", id, v.AgentView, err, state, note)
		}
	}
	expectShown("n1", "CLOSED", "takes no tasks now: it is cordoned")
	expectShown("n2", "CLOSED", "takes no tasks now: it is not ready")
	if f := s.core.views.Facts().Agents; f.Total != 2 || f.Closed != 2 || f.Unreachable != 0 {
		t.Errorf("the overview shows %+v", f)
	}
	s.step(s.clusterEvent(cluster.Closed{AgentID: "n1", Hostname: "n1"}))
	expectShown("n1", "REGISTERED", "")
	if f := s.core.views.Facts().Agents; f.Total != 2 || f.Closed != 1 {
		t.Errorf("the overview shows %+v", f)
	}
}

// TestAgentsThatAreGoneDoNotCount checks that the note about a job that is too large does not count an agent that has
// left the cluster.
func TestAgentsThatAreGoneDoNotCount(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 32 })
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(4, 4000), Total: resources.New(4, 4000)})
	s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(64, 8000), Total: resources.New(64, 8000)})
	s.step(s.clusterEvent(cluster.Failure{AgentID: "n2"}))
	if v, err := s.core.views.Job("my_job"); err != nil || len(v.Notes) != 1 ||
		!strings.Contains(v.Notes[0], "the largest amounts seen are 4 CPU") {
		t.Errorf("the job has the notes %q, %v", v.Notes, err)
	}
}
