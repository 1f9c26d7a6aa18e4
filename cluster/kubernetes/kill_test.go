package kubernetes_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func TestKill(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0, 1); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	c.until(taskID(0), cluster.Running)
	if err := c.Kill(t.Context(), cluster.Kill{TaskID: taskID(0), AgentID: "node1",
		Grace: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if p := f.Pod("jobs", pod.Name(taskID(0))); p.DeletionTimestamp == nil ||
		*p.DeletionGracePeriodSeconds != pod.Grace(5*time.Second) {
		t.Errorf("its pod is not deleted, or with a wrong grace: the deletion time is %v", p.DeletionTimestamp)
	}
	f.runs(taskID(1)) // after this update the session also knows that the other pod is being deleted
	c.until(taskID(1), cluster.Running)
	if err := c.Kill(t.Context(), cluster.Kill{TaskID: taskID(0), AgentID: "node1",
		Grace: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	f.ends(taskID(0), 143)
	if u := c.update(taskID(0)); u.State != cluster.Killed {
		t.Errorf("a repeated kill is answered with %+v, after which the core would repeat it endlessly", u)
	}
	if err := c.Kill(t.Context(), cluster.Kill{TaskID: taskID(7), AgentID: "node1"}); err != nil {
		t.Fatal(err)
	}
	if u := c.update(taskID(7)); u.State != cluster.Gone {
		t.Errorf("a task without a pod is reported as %+v", u)
	}
}

// TestDrain: a kill with a longer grace than the pod's asks a daemon's shard to drain. The pod is deleted only by a
// later kill with a shorter grace.
func TestDrain(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	const grace, drains = 5 * time.Second, 5*time.Second + 7*24*time.Hour
	l := launchOf(c.offer("node1", nil), 0, 1, 2)
	for i := range l.Tasks[:2] { // the last one is not a daemon
		l.Tasks[i].Task = wire.Task{TaskID: taskID(i), JobName: "my_job", Item: i, Total: 9,
			KillGraceMillis: grace.Milliseconds(),
			Command:         []string{"true"}, Daemon: &wire.Daemon{Cron: "* * * * * ?", TimeZone: "UTC"}}
	}
	if err := c.Launch(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	kill := func(task int, grace time.Duration, reason string) {
		t.Helper()
		if err := c.Kill(t.Context(), cluster.Kill{TaskID: taskID(task), AgentID: "node1", Grace: grace,
			Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
	for task := range l.Tasks {
		f.runs(taskID(task))
		c.until(taskID(task), cluster.Running)
		kill(task, drains, "the job is paused")
	}
	for task, drained := range []bool{true, true, false} {
		p := f.Pod("jobs", pod.Name(taskID(task)))
		if (p.Annotations[pod.AnnotationDrain] == "the job is paused") != drained ||
			(p.DeletionTimestamp == nil) != drained {
			t.Errorf("task %d: %v, deleted at %v", task, p.Annotations, p.DeletionTimestamp)
		}
	}
	// Once task 2 is seen to have ended, all earlier changes have been seen as well.
	f.ends(taskID(2), 143)
	c.until(taskID(2), cluster.Killed)
	kill(0, drains, "again")
	if p := f.Pod("jobs", pod.Name(taskID(0))); p.Annotations[pod.AnnotationDrain] != "the job is paused" {
		t.Errorf("the drain was requested a second time: %v", p.Annotations)
	}
	f.ends(taskID(0), 143)
	if u := c.update(taskID(0)); u.State != cluster.Killed {
		t.Errorf("a repeated drain is answered with %+v, after which the core would repeat it endlessly", u)
	}

	kill(1, grace, "the job is disabled")
	if p := f.Pod("jobs", pod.Name(taskID(1))); p.DeletionTimestamp == nil ||
		*p.DeletionGracePeriodSeconds != pod.Grace(grace) {
		t.Errorf("a drained pod that is killed is to end at %v", p.DeletionTimestamp)
	}
	f.ends(taskID(1), 143)
	c.until(taskID(1), cluster.Killed)
}

// TestKillSooner: the grace of a pod that is being deleted can be shortened but not extended.
func TestKillSooner(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0, 1); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	c.until(taskID(0), cluster.Running)
	for _, step := range []struct{ asked, want time.Duration }{{time.Hour, time.Hour}, {time.Minute, time.Minute},
		{2 * time.Minute, time.Minute}, {0, time.Minute}} {
		if err := c.Kill(t.Context(), cluster.Kill{TaskID: taskID(0), AgentID: "node1",
			Grace: step.asked}); err != nil {
			t.Fatal(err)
		}
		got := f.Pod("jobs", pod.Name(taskID(0))).DeletionGracePeriodSeconds
		if got == nil || *got != pod.Grace(step.want) {
			t.Errorf("after a kill with the grace %s the pod's grace is %v, want that of %s", step.asked, got, step.want)
		}
		if step.asked == time.Hour { // the next request is about a pod that is known to be deleted
			f.runs(taskID(1))
			c.until(taskID(1), cluster.Running)
		}
	}
}

// TestAKillIsKeptForANodeThatIsAway: this session and the next one report that the API server has stored the kill.
func TestAKillIsKeptForANodeThatIsAway(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionUnknown)
	away := c.until(taskID(0), cluster.Unreachable)
	if away.KillStored {
		t.Error("a kill that was never requested is reported as stored")
	}
	kill := cluster.Kill{TaskID: taskID(0), AgentID: "node1", Grace: 5 * time.Second}
	if err := c.Kill(t.Context(), kill); err != nil {
		t.Fatal(err)
	}
	u := c.update(taskID(0))
	if u.State != cluster.Unreachable || !u.KillStored || !u.UnreachableSince.Equal(away.UnreachableSince) {
		t.Errorf("after the kill: %+v", u)
	}
	_ = c.Close()
	c.subscribe()
	if err := c.Reconcile(t.Context(), []cluster.TaskRef{{TaskID: taskID(0), AgentID: "node1"}}); err != nil {
		t.Fatal(err)
	}
	if u := c.until(taskID(0), cluster.Unreachable); !u.KillStored {
		t.Errorf("the next session hears %+v", u)
	}
}
