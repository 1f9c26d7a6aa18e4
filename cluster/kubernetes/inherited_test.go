package kubernetes_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

// TestEndsOfEarlierSessions: pods that ended in an earlier session may be deleted only after the core has asked about
// the tasks whose end it does not know, however long that takes.
func TestEndsOfEarlierSessions(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	w := witness{make(chan string, 100)}
	var ahead atomic.Int64
	later := func() { ahead.Add(int64(time.Hour)) }
	c := subscribeWith(t, f, func(o *kubernetes.Options) {
		o.Keeper, o.Recorder = w, w
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	if err := c.launch(0, 1); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	c.until(taskID(0), cluster.Running)
	f.withoutFinalizer(t, taskID(0))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f.ends(taskID(0), 0)
	c.subscribe()
	later()
	// The next sweep gives up the pod of task 1, and reports that at the end of the sweep.
	f.PutPod("jobs", pod.Name(taskID(1)), func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Container, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName", Message: "not a name"}}}}
	})
	for said := ""; !strings.HasPrefix(said, "given up "+taskID(1)); {
		if said = <-w.said; strings.HasPrefix(said, "ended "+taskID(0)) {
			t.Fatal("the keeper gets an end that the core may not know")
		}
	}
	if err := c.Reconcile(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	later()
	w.expect(t, "ended "+taskID(0)+" true")
}

// TestStartProblemsOfEarlierSessions: the time of a start problem that existed before the session counts from the
// problem's beginning, so that a change of leaders does not give the pod more time. The beginning comes from the pod's
// timestamps, which are by the API server's clock.
func TestStartProblemsOfEarlierSessions(t *testing.T) {
	t.Parallel()
	const ahead = 2 * time.Hour // how far the scheduler's clock is ahead
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	w := witness{make(chan string, 100)}
	c := subscribeWith(t, f, func(o *kubernetes.Options) {
		o.Recorder = w
		o.Now = func() time.Time { return time.Now().Add(ahead) }
	})
	if err := c.launch(0, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	ready := func(status corev1.ConditionStatus, since metav1.Time) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: corev1.PodReadyToStartContainers, Status: status, LastTransitionTime: since},
		}
	}
	unready := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(time.Now().Add(-ago))
			p.Status.Conditions = ready(corev1.ConditionFalse, p.CreationTimestamp)
		}
	}
	noImage := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
			p.Status.Conditions = ready(corev1.ConditionTrue, metav1.NewTime(time.Now().Add(-ago)))
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Container, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
			}}}
		}
	}
	for i, change := range []func(*corev1.Pod){
		unready(4 * time.Minute), unready(6 * time.Minute), noImage(0), noImage(31 * time.Second),
	} {
		f.PutPod("jobs", pod.Name(taskID(i)), change)
	}
	c.subscribe()
	for range 2 { // a pod that is not due is not given up by the same sweep
		said := <-w.said
		for !strings.HasPrefix(said, "given up ") {
			said = <-w.said
		}
		if !strings.HasPrefix(said, "given up "+taskID(1)) && !strings.HasPrefix(said, "given up "+taskID(3)) {
			t.Errorf("%s: too early", said)
		}
	}
}

// withoutFinalizer waits until a task's pod has no finalizer.
func (f *fakeAPI) withoutFinalizer(t *testing.T, task string) {
	t.Helper()
	eventually.Works(t, "remove the finalizer", func() error {
		if slices.Contains(f.Pod("jobs", pod.Name(task)).Finalizers, pod.Finalizer) {
			return errors.New("the finalizer is still there")
		}
		return nil
	})
}

// TestFinalizerAmongOthersWrites: the finalizer is removed even if other clients write the pod so often that the API
// server returns conflicts.
func TestFinalizerAmongOthersWrites(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	var refused atomic.Bool
	f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
		if r.Method != http.MethodPatch || refused.Swap(true) {
			return false
		}
		fakekubernetes.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict,
			"the object has been modified; please apply your changes to the latest version and try again")
		return true
	}
	c := subscribe(t, f)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	f.withoutFinalizer(t, taskID(0))
	if !refused.Load() {
		t.Error("no request was refused")
	}
}

// TestCopies: the end of a copy of a shard's pod is not the end of the shard.
func TestCopies(t *testing.T) {
	t.Parallel()
	f, c, _ := withOneRunning(t)
	original := f.Pod("jobs", pod.Name(taskID(0)))
	f.PutPod("jobs", "copy", func(p *corev1.Pod) {
		p.Labels, p.Annotations, p.Spec, p.Status.Phase = original.Labels, original.Annotations, original.Spec,
			corev1.PodSucceeded
	})
	f.ends(taskID(0), 3)
	for {
		if u := c.update(taskID(0)); u.State.Terminal() {
			if u.State != cluster.Failed {
				t.Errorf("the task is reported as %+v", u)
			}
			return
		}
	}
}

// TestPodsThatLostTheirLabel: the end of a pod is reported even if its labels and annotations were removed.
func TestPodsThatLostTheirLabel(t *testing.T) {
	t.Parallel()
	f, c, _ := withOneRunning(t)
	f.PutPod("jobs", pod.Name(taskID(0)), func(p *corev1.Pod) { p.Labels, p.Annotations = nil, nil })
	f.ends(taskID(0), 3)
	c.until(taskID(0), cluster.Failed)
}

// TestEndOnANodeThatIsGone: a kubelet's report of a task's end does not mean that its node exists.
func TestEndOnANodeThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f.ends(taskID(0), 0)
	f.With(func() { delete(f.Nodes, "node1") })
	c.subscribe()
	c.until(taskID(0), cluster.Finished)
	if gone, is := c.next().(cluster.Failure); !is || gone.AgentID != "node1" {
		t.Errorf("the event after the task's end is %+v", gone)
	}
}
