package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

// noHooks is the Follower, Keeper and Recorder of tests that need none. It does nothing.
type noHooks struct{}

func (noHooks) Running(context.Context, kubernetes.Pod, func(cluster.Event)) {}
func (noHooks) Gone(types.UID)                                               {}
func (noHooks) Ended(context.Context, kubernetes.Pod, bool, time.Time)       {}
func (noHooks) Launched(kubernetes.Pod, wire.Task)                           {}
func (noHooks) Killed(kubernetes.Pod, string)                                {}
func (noHooks) GivenUp(kubernetes.Pod, string)                               {}

// witness is a Follower, Keeper and Recorder that records all calls.
type witness struct{ said chan string }

func (w witness) Running(_ context.Context, p kubernetes.Pod, report func(cluster.Event)) {
	w.said <- "running " + p.TaskID
	go report(cluster.Message{AgentID: p.Node, Report: &wire.Report{}})
}
func (w witness) Gone(uid types.UID) { w.said <- "gone " + string(uid) }
func (w witness) Ended(_ context.Context, p kubernetes.Pod, good bool, _ time.Time) {
	w.said <- fmt.Sprintf("ended %s %t of %s", p.TaskID, good, p.Execution)
}
func (w witness) Launched(p kubernetes.Pod, t wire.Task) {
	w.said <- "launched " + p.TaskID + " of " + t.JobName
}
func (w witness) Killed(p kubernetes.Pod, why string)  { w.said <- "killed " + p.TaskID + ": " + why }
func (w witness) GivenUp(p kubernetes.Pod, why string) { w.said <- "given up " + p.TaskID + ": " + why }
func (w witness) expect(t *testing.T, want string) {
	t.Helper()
	for {
		select {
		case said := <-w.said:
			if strings.HasPrefix(said, want) {
				return
			}
		case <-time.After(waitTimeout):
			t.Fatalf("no call with %q", want)
		}
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	w := witness{make(chan string, 100)}
	c := subscribeWith(t, f, func(o *kubernetes.Options) { o.Follower, o.Keeper, o.Recorder = w, w, w })
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "launched "+taskID(0)+" of my_job")
	f.runs(taskID(0))
	w.expect(t, "running "+taskID(0))
	for {
		if m, ok := c.next().(cluster.Message); ok {
			if m.AgentID != "node1" || m.Report == nil {
				t.Errorf("the report is %+v", m)
			}
			break
		}
	}
	if err := c.Kill(t.Context(), cluster.Kill{TaskID: taskID(0), AgentID: "node1",
		Reason: "it was asked for"}); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "killed "+taskID(0)+": it was asked for")
	uid := string(f.Pod("jobs", pod.Name(taskID(0))).UID)
	f.ends(taskID(0), 143)
	w.expect(t, "gone "+uid)
	c.until(taskID(0), cluster.Killed) // the update is acknowledged as well
	w.expect(t, "ended "+taskID(0)+" false of my_job_1")
	eventually.Works(t, "the pod is removed", func() error {
		if f.Pod("jobs", pod.Name(taskID(0))) != nil {
			return errors.New("the pod that was killed is there")
		}
		return nil
	})
	w.expect(t, "gone "+uid)
}

// speaker is a Follower with which a test sends events of a pod's output.
type speaker struct{ report chan func(cluster.Event) }

func (s speaker) Running(_ context.Context, _ kubernetes.Pod, report func(cluster.Event)) {
	s.report <- report
}
func (s speaker) Gone(types.UID) {}

// TestOutputFromANodeThatIsNotReady: a pod whose node is not ready stays unreachable even if its output contains an
// event.
func TestOutputFromANodeThatIsNotReady(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	s := speaker{make(chan func(cluster.Event), 1)}
	c := subscribeWith(t, f, func(o *kubernetes.Options) { o.Follower = s })
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	c.until(taskID(0), cluster.Running)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionUnknown)
	since := c.until(taskID(0), cluster.Unreachable).UnreachableSince
	say := <-s.report
	say(cluster.Update{TaskID: taskID(0), AgentID: "node1", State: cluster.Running, Source: cluster.FromExecutor,
		UUID: []byte("a run")})
	c.until(taskID(0), cluster.Running)
	if u := c.update(taskID(0)); u.State != cluster.Unreachable || !u.UnreachableSince.Equal(since) ||
		len(u.UUID) > 0 {
		t.Errorf("after the event of its output the task is reported as %+v", u)
	}
}

// starting returns a cluster in which task 0 is starting, and the calls about its pod.
func starting(t *testing.T) (*fakeAPI, *client, witness) {
	t.Helper()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	w := witness{make(chan string, 100)}
	c := subscribeWith(t, f, func(o *kubernetes.Options) { o.Recorder = w })
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	return f, c, w
}

// withoutImage gives a pod the status of one whose image cannot be pulled.
func withoutImage(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Container, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName", Message: "not a name"}}}}
}

// TestGivenUp: a pod whose image cannot be pulled is given up. Its task fails only when the pod has ended.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	f, c, w := starting(t)
	name := pod.Name(taskID(0))
	f.PutPod("jobs", name, withoutImage)
	if u := c.until(taskID(0), cluster.Starting); !strings.Contains(u.Message, "not a name") {
		t.Errorf("the STARTING update says %q", u.Message)
	}
	w.expect(t, "given up "+taskID(0)+": container shard can't be started: InvalidImageName: not a name")
	if p := f.Pod("jobs", name); p == nil || p.DeletionTimestamp == nil {
		t.Fatal("its pod is not being deleted")
	}
	f.PutPod("jobs", name, func(p *corev1.Pod) { // as kubelets do
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	})
	if u := c.until(taskID(0), cluster.Failed); u.Source != cluster.FromAgent ||
		u.Reason != cluster.ReasonContainerLaunchFailed || !strings.Contains(u.Message, "not a name") {
		t.Errorf("the task is reported as %+v", u)
	}
}

// TestGivenUpAndNotOnRecord: a pod that was given up stays until the core has committed its end, so that the next
// leader learns of the end if this one could not commit it. Otherwise no record would remain that the shard never
// began.
func TestGivenUpAndNotOnRecord(t *testing.T) {
	t.Parallel()
	f, c, w := starting(t)
	name := pod.Name(taskID(0))
	f.withoutFinalizer(t, taskID(0))
	f.PutPod("jobs", name, withoutImage)
	w.expect(t, "given up "+taskID(0))
	c.until(taskID(0), cluster.Starting) // acknowledged as well, but it is not the end
	if err := c.Close(); err != nil {    // as if the registry were down
		t.Fatal(err)
	}
	f.PutPod("jobs", name, func(p *corev1.Pod) { // as kubelets do
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"},
		}
	})
	if f.Pod("jobs", name) == nil {
		t.Fatal("the pod is gone before its end was committed")
	}
	c.subscribe()
	u := c.until(taskID(0), cluster.Failed)
	if u.Source != cluster.FromAgent || u.Reason != cluster.ReasonContainerLaunchFailed ||
		!strings.Contains(u.Message, "not a name") {
		t.Errorf("the next session reports %+v", u)
	}
	eventually.Works(t, "the pod is removed", func() error {
		if f.Pod("jobs", name) != nil {
			return errors.New("its pod is there")
		}
		return nil
	})
}

// TestGivenUpAndBegan: a pod that begins at the moment when it is to be given up is left alone.
func TestGivenUpAndBegan(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	c.until(taskID(0), cluster.Starting)
	name, requested := pod.Name(taskID(0)), make(chan struct{}, 100)
	f.With(func() {
		f.Fault = func(_ http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, name) {
				f.runs(taskID(0))
				requested <- struct{}{}
			}
			return false
		}
	})
	f.PutPod("jobs", name, withoutImage)
	<-requested
	c.until(taskID(0), cluster.Running)
	if p := f.Pod("jobs", name); p == nil || p.DeletionTimestamp != nil {
		t.Error("it was deleted")
	}
}

// TestSecret: the description of a task with secrets is in a Secret that is deleted together with its pod.
func TestSecret(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	l := launchOf(c.offer("node1", nil))
	task := wire.Task{TaskID: taskID(0), JobName: "my_job", Total: 1, Command: []string{"true"},
		Env: map[string]string{"PASSWORD": "hunter2"}, Secrets: []string{"hunter2"}}
	l.Tasks = []cluster.TaskLaunch{{TaskID: task.TaskID, Resources: resources.New(0.5, 64), Task: task}}
	if err := c.Launch(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p := f.Pod("jobs", pod.Name(task.TaskID))
	if p == nil || p.Spec.NodeName != "node1" {
		t.Fatal("its pod is not bound")
	}
	f.With(func() {
		if len(f.Secrets) != 1 {
			t.Fatalf("there are %d Secrets", len(f.Secrets))
		}
		for _, s := range f.Secrets {
			if o := s.OwnerReferences; len(o) != 1 || o[0].UID != p.UID || o[0].Kind != "Pod" {
				t.Errorf("it belongs to %+v", o)
			}
		}
	})
	if strings.Contains(fmt.Sprintf("%+v", p), "hunter2") {
		t.Error("the pod contains the secret")
	}
}

// TestThrottled: the time to retry that the API server names is respected, and the deferral is counted.
func TestThrottled(t *testing.T) {
	t.Parallel()
	f, c, bindings := throttledBindings(t, "1", 1)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	if p := f.Pod("jobs", pod.Name(taskID(0))); p == nil || p.Spec.NodeName != "node1" {
		t.Error("its pod is not bound")
	}
	if n := c.driver.API().Throttled(); n != 1 || bindings.Load() != 2 {
		t.Errorf("%d of %d bindings were deferred, want 1 of 2", n, bindings.Load())
	}
}

// TestThrottledForTooLong: a request that is deferred beyond its deadline is known not to have been executed.
func TestThrottledForTooLong(t *testing.T) {
	t.Parallel()
	f, c, bindings := throttledBindings(t, "60", 1<<30)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	if u := c.update(taskID(0)); u.State != cluster.Dropped || !strings.Contains(u.Message, "too many requests") {
		t.Errorf("the task was reported as %+v", u)
	}
	if p := f.Pod("jobs", pod.Name(taskID(0))); p != nil {
		t.Error("its pod is still there")
	}
	if n := bindings.Load(); n != 1 {
		t.Errorf("its binding was requested %d times, want once", n)
	}
}

// throttledBindings returns a session at an API server that defers the first bindings.
func throttledBindings(t *testing.T, retryAfter string, first int64) (f *fakeAPI, c *client, bindings *atomic.Int64) {
	t.Helper()
	f = newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c, bindings = subscribe(t, f), &atomic.Int64{}
	c.offer("node1", nil)
	f.With(func() {
		f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			if !strings.HasSuffix(r.URL.Path, "/binding") || bindings.Add(1) > first {
				return false
			}
			w.Header().Set("Retry-After", retryAfter)
			fakekubernetes.Refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
				"too many requests")
			return true
		}
	})
	return f, c, bindings
}

// TestSilence: a session that cannot renew its Lease for too long ends with an error that says what to check.
func TestSilence(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	var ahead atomic.Int64
	c := subscribeWith(t, f, func(o *kubernetes.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	f.With(func() {
		f.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
			if r.Method != http.MethodPut {
				return false
			}
			ahead.Add(int64(time.Minute))
			fakekubernetes.Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError,
				"etcdserver: leader changed")
			return true
		}
	})
	for range c.Events() {
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "Lease") ||
		!strings.Contains(err.Error(), "leader changed") {
		t.Errorf("it ended with %v", err)
	}
	var failed cluster.FrameworkError
	if errors.As(c.Err(), &failed) {
		t.Errorf("it was taken for a takeover by another scheduler: %+v", failed)
	}
}
