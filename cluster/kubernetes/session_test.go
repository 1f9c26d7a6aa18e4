package kubernetes_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

func TestNodesThatGo(t *testing.T) {
	t.Parallel()
	f, c, first := withOneRunning(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionUnknown)
	if u := c.until(taskID(0), cluster.Unreachable); u.UnreachableSince.IsZero() || u.Source != cluster.FromMaster {
		t.Errorf("the task is reported as %+v", u)
	}
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	if u := c.until(taskID(0), cluster.Running); len(u.UUID) == 0 || bytes.Equal(u.UUID, first.UUID) {
		t.Errorf("it is back with no uuid, or with the one that the core knows: %+v", u)
	}
	f.RemoveNode("node1")
	for {
		if e, ok := c.next().(cluster.Failure); ok {
			if e.AgentID != "node1" {
				t.Errorf("%+v", e)
			}
			break
		}
	}
	c.until(taskID(0), cluster.Unreachable)
	f.RemovePod("jobs", pod.Name(taskID(0)))
	c.until(taskID(0), cluster.GoneByOperator)
}

// TestClosedNodes: a node that accepts no pods is reported, with its resources and the reason, until it accepts them
// again.
func TestClosedNodes(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	f.With(func() { f.Nodes["node1"].Spec.Unschedulable = true })
	f.AddNode("full", "1", "1Gi", "10", corev1.ConditionTrue)
	f.PutPod("others", "big", func(p *corev1.Pod) {
		p.Spec = corev1.PodSpec{NodeName: "full",
			Containers: []corev1.Container{{Name: "big",
				Resources: corev1.ResourceRequirements{Requests: list("1", "1Mi")}}}}
	})
	c := subscribe(t, f)
	told := map[string]cluster.Closed{}
	see := func(node, why string) {
		t.Helper()
		for e, ok := told[node]; !ok || e.Why != why; e, ok = told[node] {
			if e, is := c.next().(cluster.Closed); is {
				told[e.AgentID] = e
			}
		}
	}
	see("node1", "it is cordoned")
	see("full", "its pods use all of its resources")
	if got, want := told["node1"].Total, resources.New(4, 1024); got != want {
		t.Errorf("it has %s, not %s", got, want)
	}
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionUnknown)
	see("node1", "it is not ready")
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	see("node1", "")
	c.offer("node1", nil)
	f.RemovePod("others", "big")
	see("full", "")
	c.offer("full", nil)
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0, 1, 2); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	c.until(taskID(0), cluster.Running)
	f.ends(taskID(1), 0)
	c.until(taskID(1), cluster.Finished)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f.ends(taskID(2), 0)
	f.RemovePod("jobs", pod.Name(taskID(1)))
	c.subscribe()
	refs := []cluster.TaskRef{{TaskID: taskID(0)}, {TaskID: taskID(1), AgentID: "node1"},
		{TaskID: taskID(3), AgentID: "node9"}}
	if err := c.Reconcile(t.Context(), refs); err != nil {
		t.Fatal(err)
	}
	got := map[string]cluster.Update{}
	for len(got) < 4 {
		if u, ok := c.next().(cluster.Update); ok {
			got[u.TaskID] = u
		}
	}
	for task, want := range map[int]cluster.State{0: cluster.Running, 1: cluster.Gone, 2: cluster.Finished,
		3: cluster.GoneByOperator} {
		if u := got[taskID(task)]; u.State != want {
			t.Errorf("task %d is reported as %+v, not %s", task, u, want)
		}
	}
	if u := got[taskID(0)]; len(u.UUID) > 0 || u.Reason != cluster.ReasonReconciliation {
		t.Errorf("the answer could be taken for a repeated update: %+v", u)
	}
	if u := got[taskID(2)]; len(u.UUID) == 0 {
		t.Error("the update about an end that was not reported before has no UUID")
	}
}

// TestExpiredWatch: changes that the watch missed are found by a list.
func TestExpiredWatch(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0, 1); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	f.With(func() {
		f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			if r.URL.Query().Get("watch") == "" {
				return false
			}
			fakekubernetes.Refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "starting")
			return true
		}
	})
	f.CutWatches()
	f.ends(taskID(0), 0)
	f.RemovePod("jobs", pod.Name(taskID(1)))
	f.Expire(0)
	f.With(func() { f.Fault = nil })
	got := map[string]cluster.State{}
	for len(got) < 2 {
		if u, ok := c.next().(cluster.Update); ok && u.State.Terminal() {
			got[u.TaskID] = u.State
		}
	}
	if got[taskID(0)] != cluster.Finished || got[taskID(1)] != cluster.GoneByOperator {
		t.Errorf("they are reported as %v", got)
	}
}

// TestNotReadySince: the time since when a node is silent does not come from the node's own clock.
func TestNotReadySince(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  corev1.ConditionStatus
		found   bool // before the session began
		asStamp bool // the time of the condition is used: the node controller has set it, not the node
	}{
		"seen":            {corev1.ConditionFalse, false, false},
		"seen as silent":  {corev1.ConditionUnknown, false, false},
		"found":           {corev1.ConditionFalse, true, false},
		"found as silent": {corev1.ConditionUnknown, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
			c := subscribe(t, f)
			if err := c.launch(0); err != nil {
				t.Fatal(err)
			}
			f.runs(taskID(0))
			c.until(taskID(0), cluster.Running)
			stamp := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
			away := func() {
				f.PutNode("node1", func(n *corev1.Node) {
					n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = tt.status, stamp
				})
			}
			if tt.found {
				_ = c.Close()
				away()
				c.subscribe()
				if err := c.Reconcile(t.Context(),
					[]cluster.TaskRef{{TaskID: taskID(0), AgentID: "node1"}}); err != nil {
					t.Fatal(err)
				}
			} else {
				away()
			}
			if u := c.until(taskID(0), cluster.Unreachable); u.UnreachableSince.Equal(stamp.Time) != tt.asStamp ||
				time.Since(u.UnreachableSince) > 59*time.Minute && !tt.asStamp {
				t.Errorf("unreachable since %s", u.UnreachableSince)
			}
		})
	}
}

// TestLaunchDuringList: a pod that was bound after the moment that a list shows is not considered gone.
func TestLaunchDuringList(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	offer := c.offer("node1", nil)
	isPods := func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/api/v1/pods" }
	var once sync.Once
	launched, listed, goOn := make(chan error, 1), make(chan struct{}), make(chan struct{})
	f.With(func() {
		f.After = func(r *http.Request) bool {
			if isPods(r) {
				once.Do(func() { launched <- c.Launch(t.Context(), launchOf(offer, 0)) })
			}
			return false
		}
		f.Fault = func(_ http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			if isPods(r) && r.URL.Query().Get("watch") != "" && len(launched) > 0 {
				select {
				case <-listed:
				default:
					close(listed)
				}
				<-goOn
			}
			return false
		}
	})
	f.With(func() { f.Version++ }) // something else has changed
	f.Expire(0)
	<-listed
	if err := <-launched; err != nil {
		t.Fatal(err)
	}
	if err := c.Reconcile(t.Context(), []cluster.TaskRef{{TaskID: taskID(0), AgentID: "node1"}}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if u := c.update(taskID(0)); u.State != cluster.Starting {
		t.Errorf("the task is reported as %+v", u)
	}
}

// TestOthers: pods of other frameworks and namespaces use resources and are left alone.
func TestOthers(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	takes := func(framework, node string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels, p.Annotations = map[string]string{pod.LabelFramework: framework},
				map[string]string{pod.AnnotationTask: "theirs"}
			p.Spec = corev1.PodSpec{NodeName: node,
				Containers: []corev1.Container{{Name: "a",
					Resources: corev1.ResourceRequirements{Requests: list("1", "100Mi")}}}}
		}
	}
	f.PutPod("jobs", "a", takes("other", "node1"))
	f.PutPod("kube-system", "b", takes("fw", "node1"))
	f.PutPod("jobs", "c", takes("other", ""))
	c := subscribe(t, f)
	if o := c.offer("node1", nil); o.Resources != resources.New(2, 824) || o.MaxTasks != 8 {
		t.Errorf("the offer is %+v", o)
	}
	if err := c.Reconcile(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	f.PutPod("jobs", "a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	c.offer("node1", func(o cluster.Offer) bool { return o.Resources == resources.New(3, 924) && o.MaxTasks == 9 })
	if f.Pod("jobs", "c") == nil {
		t.Error("another framework's unbound pod was deleted")
	}
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	c.until(taskID(0), cluster.Running) // earlier questions are answered by now
	if len(c.updated) != 1 {
		t.Errorf("updates of tasks of others: %v", c.updated)
	}
}

func TestDeclinedOffers(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	f.AddNode("node2", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	one, two := c.offer("node1", nil), c.offer("node2", nil)
	if err := c.Decline(t.Context(), []string{one.ID, two.ID}, time.Hour); err != nil {
		t.Fatal(err)
	}
	clear(c.offers)
	f.AddNode("node1", "3", "1Gi", "10", corev1.ConditionTrue) // less than what was declined
	f.AddNode("node2", "5", "1Gi", "10", corev1.ConditionTrue)
	c.offer("node2", nil)
	if o, ok := c.offers["node1"]; ok {
		t.Errorf("what was declined is offered: %+v", o)
	}
	if err := c.RequestOffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := c.offer("node1", nil); o.Resources.CPUMilli != 3000 {
		t.Errorf("the offer is %+v", o)
	}
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
		if r.URL.Path != "/api/v1/pods" {
			return false
		}
		fakekubernetes.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "pods is forbidden")
		return true
	}
	c := subscribe(t, f)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)

	f.With(func() {
		f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			fakekubernetes.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "leases is forbidden")
			return true
		}
	})
	_, err := c.driver.Subscribe(t.Context(), cluster.Framework{ID: "fw"})
	var refused *cluster.Refused
	if !errors.As(err, &refused) || refused.Status != http.StatusForbidden ||
		!strings.Contains(err.Error(), "the Role and the ClusterRole of deploy/kubernetes") {
		t.Errorf("refused with %v", err)
	}
}

func TestClosedSession(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	l := launchOf(c.offer("node1", nil), 0)
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range c.Events() {
	}
	if !errors.Is(c.Err(), kubernetes.ErrClosed) {
		t.Errorf("it ended with %v", c.Err())
	}
	if err := c.Launch(context.Background(), l); !errors.Is(err, kubernetes.ErrClosed) {
		t.Errorf("a launch after its end: %v", err)
	}
}

// TestMarkedAsFailedOnASilentNode: if another client marks a pod as failed whose kubelet is silent, that does not prove
// that its container has ended. The removal of the node does.
func TestMarkedAsFailedOnASilentNode(t *testing.T) {
	t.Parallel()
	f, c, _ := withOneRunning(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionUnknown)
	c.until(taskID(0), cluster.Unreachable)
	f.PutPod("jobs", pod.Name(taskID(0)), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	if u := c.update(taskID(0)); u.State != cluster.Unreachable || !u.KillStored {
		t.Errorf("the task is reported as %+v", u)
	}
	f.RemoveNode("node1")
	if u := c.until(taskID(0), cluster.Lost); u.Reason != cluster.ReasonTaskRemoved || u.Source != cluster.FromMaster {
		t.Errorf("after the removal of its node: %+v", u)
	}
}
