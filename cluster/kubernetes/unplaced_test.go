package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

func showUnplaced(o *kubernetes.Options) { o.ShowUnplaced = true }

// unplacedShard returns a shard that fits on no node.
func unplacedShard(item int, why string) cluster.Unplaced {
	return cluster.Unplaced{
		Execution: "my_job@1", Job: "my_job", Item: item, Resources: resources.New(2, 64), Why: why,
		Container: cluster.Container{Template: []byte(`{"spec":{"nodeSelector":{"pool":"batch"}}}`)},
	}
}

func (c *client) show(all ...cluster.Unplaced) error {
	c.t.Helper()
	on, can := c.Session.(cluster.Demander)
	if !can {
		c.t.Fatal("the session shows nothing")
	}
	return on.ShowUnplaced(c.t.Context(), all)
}

// shown returns the messages of the placeholder pods, in order.
func (f *fakeAPI) shown() (all []string) {
	f.With(func() {
		for _, p := range f.Pods {
			if !pod.IsUnplaced(p) {
				continue
			}
			why := "(no condition)"
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
					c.Reason == corev1.PodReasonUnschedulable {
					why = c.Message
				}
			}
			all = append(all, why)
		}
	})
	slices.Sort(all)
	return all
}

// shows repeats ShowUnplaced with these shards until these messages exist: the session learns through its watch which
// placeholder pods exist.
func (c *client) shows(f *fakeAPI, all []cluster.Unplaced, want ...string) {
	c.t.Helper()
	eventually.Works(c.t, "to show them", func() error {
		if err := c.show(all...); err != nil {
			return err
		}
		if got := f.shown(); !slices.Equal(got, want) {
			return fmt.Errorf("shown is %q, not %q", got, want)
		}
		return nil
	})
}

// Placeholder pods request the same as their shards' own pods, say why the shards wait, and are deleted when they are
// not needed any more. They do not affect tasks.
func TestShardsWithoutRoom(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribeWith(t, f, showUnplaced)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	free := c.offer("node1", nil).Resources
	c.shows(f, []cluster.Unplaced{unplacedShard(1, "full"), unplacedShard(2, "full")}, "full", "full")
	f.With(func() {
		for _, p := range f.Pods {
			if pod.IsUnplaced(p) && (p.Spec.SchedulerName != pod.Scheduler || p.Spec.NodeSelector["pool"] != "batch" ||
				pod.Requests(p) != resources.New(2, 64) || len(p.Finalizers) > 0) {
				t.Errorf("unexpected placeholder %+v", p)
			}
		}
	})
	c.shows(f, []cluster.Unplaced{unplacedShard(1, "full"), unplacedShard(2, "fuller")}, "full", "fuller")
	f.RemovePod("jobs", nameOfUnplaced(t, unplacedShard(1, "")))
	c.shows(f, []cluster.Unplaced{unplacedShard(1, "full"), unplacedShard(2, "fuller")}, "full", "fuller")
	if err := c.launch(3); err != nil { // the placeholder pods do not reduce its offer
		t.Fatal(err)
	}
	c.until(taskID(3), cluster.Starting)
	now := c.offer("node1", func(o cluster.Offer) bool { return o.Resources != free }).Resources
	if now != free.Minus(resources.New(0.5, 64)) {
		t.Errorf("free is %s, and was %s", now, free)
	}
	c.shows(f, nil)
	if p := f.Pod("jobs", pod.Name(taskID(0))); p == nil || p.DeletionTimestamp != nil {
		t.Errorf("a task's pod went with them: %+v", p)
	}
}

func nameOfUnplaced(t *testing.T, u cluster.Unplaced) string {
	t.Helper()
	p, err := pod.Settings{Namespace: "jobs", Image: "task:1"}.Unplaced(u, "fw")
	if err != nil {
		t.Fatal(err)
	}
	return p.Name
}

// A placeholder pod that was bound is replaced. A rejection by the API server is returned, and affects neither other
// placeholders nor jobs.
func TestShardsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribeWith(t, f, showUnplaced)
	name := nameOfUnplaced(t, unplacedShard(1, ""))
	c.shows(f, []cluster.Unplaced{unplacedShard(1, "full")}, "full")
	first := f.Pod("jobs", name)
	f.PutPod("jobs", name, func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "node1", corev1.PodFailed })
	eventually.Works(t, "to replace it", func() error {
		_ = c.show(unplacedShard(1, "full"))
		if p := f.Pod("jobs", name); p == nil || p.UID == first.UID || p.Spec.NodeName != "" {
			return errors.New("the bound pod was not made again")
		}
		return nil
	})

	refused := nameOfUnplaced(t, unplacedShard(2, ""))
	f.With(func() {
		f.Fault = func(w http.ResponseWriter, _ *http.Request, body runtime.Object) bool {
			if p, is := body.(*corev1.Pod); !is || p.Name != refused {
				return false
			}
			fakekubernetes.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota")
			return true
		}
	})
	err := c.show(unplacedShard(2, "full"), unplacedShard(1, "fuller"), unplacedShard(3, "full"))
	if err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("unexpected error %v", err)
	}
	if got := f.shown(); len(got) != 2 {
		t.Errorf("shown is %q", got)
	}
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	c.shows(f, nil)
}

// A closed session leaves no placeholder pods. If a session ends otherwise, the next one deletes those that it does
// not need and those that were bound or have ended.
func TestShardsShownByEarlierSessions(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribeWith(t, f, showUnplaced)
	c.shows(f, []cluster.Unplaced{unplacedShard(1, "full")}, "full")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := f.shown(); len(got) > 0 {
		t.Errorf("a closed session leaves %q", got)
	}
	if err := c.Session.(cluster.Demander).ShowUnplaced(context.Background(),
		[]cluster.Unplaced{unplacedShard(1, "full")}); err == nil || len(f.shown()) > 0 {
		t.Errorf("after its end it shows %q, %v", f.shown(), err)
	}
	leavePlaceholder := func(item int) {
		p, err := pod.Settings{Namespace: "jobs", Image: "task:1"}.Unplaced(unplacedShard(item, ""), "fw")
		if err != nil {
			t.Fatal(err)
		}
		f.PutPod("jobs", p.Name, func(on *corev1.Pod) {
			on.Labels, on.Annotations, on.Spec = p.Labels, p.Annotations,
				p.Spec
		})
	}
	leavePlaceholder(1)
	leavePlaceholder(2)
	c.subscribe()
	c.shows(f, []cluster.Unplaced{unplacedShard(2, "full")}, "full")

	plain := subscribe(t, f)
	if _, can := plain.Session.(cluster.Demander); can {
		t.Error("a session shows shards although that is disabled")
	}
	eventually.Works(t, "to delete what is left", func() error {
		if got := f.shown(); len(got) > 0 {
			return fmt.Errorf("left is %q", got)
		}
		return nil
	})
}
