package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

func TestLaunch(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	if o := c.offer("node1", nil); o.Resources != resources.New(4, 1024) || o.Total != o.Resources ||
		o.MaxTasks != 10 || o.Hostname != "node1" {
		t.Fatalf("the offer is %+v", o)
	}
	if err := c.launch(0, 1); err != nil {
		t.Fatal(err)
	}
	left := c.offer("node1", func(o cluster.Offer) bool { return o.MaxTasks == 8 })
	if left.Resources != resources.New(3, 896) {
		t.Errorf("what is left is %s", left.Resources)
	}
	p := f.Pod("jobs", pod.Name(taskID(0)))
	if p.Spec.NodeName != "node1" || p.Labels[pod.LabelFramework] != "fw" || p.Spec.SchedulerName != pod.Scheduler {
		t.Errorf("the pod is %+v", p)
	}
	if !slices.Contains(p.Finalizers, pod.Finalizer) {
		t.Error("the pod has no finalizer before it was acknowledged")
	}
	if err := c.RequestOffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	running := c.until(taskID(0), cluster.Running)
	if st := running.Status; st == nil || st.Dir != "jobs/"+p.Name+"/"+string(p.UID) {
		t.Errorf("its output is at %+v", st)
	}
	f.ends(taskID(0), 3)
	if u := c.until(taskID(0), cluster.Failed); u.Source != cluster.FromExecutor || len(u.UUID) == 0 {
		t.Errorf("its end is %+v", u)
	}
	c.offer("node1", func(o cluster.Offer) bool { return o.MaxTasks == 9 })
	eventually.Works(t, "remove the finalizer", func() error {
		if slices.Contains(f.Pod("jobs", p.Name).Finalizers, pod.Finalizer) {
			return errors.New("the finalizer is still there")
		}
		return nil
	})
}

func TestLaunchOnAnOfferThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	o := c.offer("node1", nil)
	f.AddNode("node1", "2", "1Gi", "10", corev1.ConditionTrue)
	c.offer("node1", func(now cluster.Offer) bool { return now.ID != o.ID })
	if err := c.Launch(t.Context(), launchOf(o, 0)); err != nil {
		t.Fatal(err)
	}
	if u := c.update(taskID(0)); u.State != cluster.Dropped || u.Reason != cluster.ReasonInvalidOffers ||
		len(u.UUID) > 0 {
		t.Errorf("the task is reported as %+v", u)
	}
	if p := f.Pod("jobs", pod.Name(taskID(0))); p != nil {
		t.Error("the task has a pod")
	}
}

func TestRefusedPods(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		code    int
		reason  metav1.StatusReason
		message string
		want    cluster.State
	}{
		{"quota", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: exceeded quota: q, requested: pods=1`, cluster.Dropped},
		{"quota of what the pod does not name", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: failed quota: q: must specify limits.cpu for: fetch,shard`, cluster.Dropped},
		{"quota that is used up", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: exceeded quota: q, requested: limits.cpu=1, used: limits.cpu=4, limited: limits.cpu=4`, cluster.Dropped},
		{"OpenShift's range of users", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: unable to validate against any security context constraint: [provider "restricted-v2": .containers[0].runAsUser: Invalid value: 65532: must be in the ranges: [1000670000, 1000679999]]`, cluster.Error},
		{"quota of a scope", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: insufficient quota to match these scopes: [{PriorityClass In [high]}]`, cluster.Dropped},
		{"quota that is not known yet", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: status unknown for quota: q, resources: pods`, cluster.Dropped},
		{"a name that only sounds like it", 403, metav1.StatusReasonForbidden, `pods "failed-quota-0-x" is forbidden: violates PodSecurity "restricted"`, cluster.Error},
		{"its namespace is being deleted", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: unable to create new content in namespace jobs because it is being terminated`, cluster.Dropped},
		{"admission", 403, metav1.StatusReasonForbidden, `pods "x" is forbidden: violates PodSecurity "restricted"`, cluster.Error},
		{"webhook", 400, metav1.StatusReasonBadRequest, `admission webhook "w" denied the request: no`, cluster.Error},
		{"invalid", 422, metav1.StatusReasonInvalid, "spec.containers[0].image: Required value", cluster.Error},
		{"etcd is away", 500, metav1.StatusReasonInternalError, "etcdserver: request timed out", cluster.Dropped},
		{"busy", 429, metav1.StatusReasonTooManyRequests, "too many requests", cluster.Dropped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
			c := subscribe(t, f)
			refused := pod.Name(taskID(0))
			f.With(func() {
				f.Fault = func(w http.ResponseWriter, r *http.Request, body runtime.Object) bool {
					p, is := body.(*corev1.Pod)
					if is && p.Name == refused {
						fakekubernetes.Refuse(w, tt.code, tt.reason, tt.message)
					}
					return is && p.Name == refused
				}
			})
			if err := c.launch(0, 1); err != nil {
				t.Fatal(err)
			}
			u := c.update(taskID(0))
			if u.State != tt.want || u.Source != cluster.FromMaster || len(u.UUID) > 0 ||
				!strings.Contains(u.Message, tt.message) {
				t.Errorf("the task is reported as %+v", u)
			}
			for part, hint := range map[string]string{"must specify": "cpuLimit",
				"runAsUser": "--kubernetes-assigned-user"} {
				if strings.Contains(u.Message, hint) != strings.Contains(tt.message, part) {
					t.Errorf("the message %q contains the hint %s, or lacks it", u.Message, hint)
				}
			}
			if p := f.Pod("jobs", pod.Name(taskID(1))); p == nil || p.Spec.NodeName != "node1" {
				t.Error("the other task was not launched")
			}
			c.offer("node1", func(o cluster.Offer) bool { return o.MaxTasks == 9 })
		})
	}
}

// TestWebhooksThatChangePods: a pod is not launched if a webhook removed what it requires, because it could not be
// identified, or would run more than once.
func TestWebhooksThatChangePods(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for what, mutate := range map[string]func(*corev1.Pod){
		pod.LabelFramework:      func(p *corev1.Pod) { delete(p.Labels, pod.LabelFramework) },
		"restart policy":        func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure },
		"the restart policy of": func(p *corev1.Pod) { p.Spec.Containers[0].RestartPolicy = &always },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
			f.Mutate = mutate
			c := subscribe(t, f)
			if err := c.launch(0); err != nil {
				t.Fatal(err)
			}
			if u := c.update(taskID(0)); u.State != cluster.Error || !strings.Contains(u.Message, what) {
				t.Errorf("the task is reported as %+v", u)
			}
			if f.Pod("jobs", pod.Name(taskID(0))) != nil {
				t.Error("its pod was not deleted")
			}
		})
	}
}

// TestFence: a pod that was created by a session that has lost its Lease is never bound, and the next session deletes
// it, whether it lists the pods before or after the creation.
func TestFence(t *testing.T) {
	t.Parallel()
	for _, created := range []bool{false, true} {
		t.Run(fmt.Sprintf("created before the list: %t", created), func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
			old := subscribe(t, f)
			old.offer("node1", nil)
			var next *client
			bindings := 0
			moment := func(r *http.Request) bool {
				switch {
				case strings.HasSuffix(r.URL.Path, "/binding"):
					f.With(func() { bindings++ })
				case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") && next == nil:
					next = subscribe(t, f)
				}
				return false
			}
			f.With(func() {
				if created {
					f.After = moment
				} else {
					f.Fault = func(_ http.ResponseWriter, r *http.Request, _ runtime.Object) bool { return moment(r) }
				}
			})
			err := old.launch(0)
			var refused *cluster.Refused
			if err == nil || errors.As(err, &refused) {
				t.Fatalf("the launch ended with %v", err)
			}
			for range old.Events() {
			}
			if failed := (cluster.FrameworkError{}); !errors.As(old.Err(), &failed) || !failed.FailedOver {
				t.Errorf("the old session ended with %v", old.Err())
			}
			eventually.Works(t, "delete what the old session made", func() error {
				if p := f.Pod("jobs", pod.Name(taskID(0))); p != nil {
					return fmt.Errorf("its pod is there, bound to %q", p.Spec.NodeName)
				}
				return nil
			})
			f.With(func() {
				if bindings != 0 {
					t.Error("the old session bound its pod")
				}
			})
			if err := next.Reconcile(t.Context(),
				[]cluster.TaskRef{{TaskID: taskID(0), AgentID: "node1"}}); err != nil {
				t.Fatal(err)
			}
			if u := next.update(taskID(0)); u.State != cluster.Gone || u.Reason != cluster.ReasonReconciliation ||
				u.Source != cluster.FromMaster {
				t.Errorf("the task is reported as %+v", u)
			}
		})
	}
}

// TestAPodThatIsBoundWhileItIsDeletedCountsAsLaunched: a pod that the last session binds at the moment when the next
// one deletes it counts as launched.
func TestAPodThatIsBoundWhileItIsDeletedCountsAsLaunched(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	name := pod.Name(taskID(0))
	f.PutPod("jobs", name, func(p *corev1.Pod) {
		p.Labels, p.Annotations, p.Finalizers = map[string]string{pod.LabelFramework: "fw"},
			map[string]string{pod.AnnotationTask: taskID(0)}, []string{pod.Finalizer}
	})
	f.Fault = func(_ http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
		if r.Method == http.MethodDelete && f.Pod("jobs", name).Spec.NodeName == "" {
			f.PutPod("jobs", name, func(p *corev1.Pod) { p.Spec.NodeName = "node1" })
		}
		return false
	}
	c := subscribe(t, f)
	if u := c.update(taskID(0)); u.State != cluster.Starting || len(u.UUID) == 0 {
		t.Errorf("the task is reported as %+v", u)
	}
	if p := f.Pod("jobs", name); p.DeletionTimestamp != nil {
		t.Error("it was deleted")
	}
}

// TestRepeatedCreation: if the API server asks to repeat the creation of a pod that it has created, the repetition
// finds the pod. The pod is launched, once.
func TestRepeatedCreation(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	var requested atomic.Int64
	f.With(func() {
		f.Fault = func(w http.ResponseWriter, r *http.Request, body runtime.Object) bool {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pods") || requested.Add(1) > 1 {
				return false
			}
			f.Do(r, body)
			w.Header().Set("Retry-After", "0")
			fakekubernetes.Refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "later")
			return true
		}
	})
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	if u := c.update(taskID(0)); u.State != cluster.Starting {
		t.Errorf("the task is reported as %+v", u)
	}
	if p := f.Pod("jobs", pod.Name(taskID(0))); p == nil || p.Spec.NodeName != "node1" || requested.Load() != 2 {
		t.Errorf("asked for %d times, it is %+v", requested.Load(), p)
	}
}

// TestLostAnswersBeforeTheBinding: a pod that no request has tried to bind never begins, so an unknown outcome of its
// creation does not end the session.
func TestLostAnswersBeforeTheBinding(t *testing.T) {
	t.Parallel()
	is := func(method, part string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == method && strings.Contains(r.URL.Path, part) }
	}
	for name, tt := range map[string]struct {
		lost       func(*http.Request) bool
		done, slow bool // whether the request is executed, and whether the client gives up before that
		says       string
	}{
		"creation that was done":     {is(http.MethodPost, "/pods"), true, false, "did not answer in time when its pod was created"},
		"creation that was not done": {is(http.MethodPost, "/pods"), false, false, "did not answer in time when its pod was created"},
		"creation that takes long":   {is(http.MethodPost, "/pods"), true, true, "did not answer in time when its pod was created"},
		"secret":                     {is(http.MethodPost, "/secrets"), true, false, "did not answer in time when the Secret with its description was created"},
		"lease":                      {is(http.MethodGet, "/leases"), true, false, "its pod was not bound: read the Lease"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
			c := subscribe(t, f)
			l := launchOf(c.offer("node1", nil), 0)
			l.Tasks[0].Task = wire.Task{TaskID: taskID(0), JobName: "my_job", Total: 9, Command: []string{"true"},
				Env: map[string]string{"password": "secret"}}
			late := make(chan struct{})
			f.With(func() {
				if tt.done && !tt.slow {
					f.After = tt.lost
					return
				}
				f.Fault = func(_ http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
					if !tt.lost(r) {
						return false
					}
					if !tt.slow {
						panic(http.ErrAbortHandler)
					}
					<-r.Context().Done()
					<-late
					return false
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			if err := c.Launch(ctx, l); err != nil {
				t.Fatal(err)
			}
			close(late)
			clear(c.offers)
			if u := c.update(taskID(0)); u.State != cluster.Dropped || len(u.UUID) > 0 ||
				!strings.Contains(u.Message, tt.says) {
				t.Errorf("the task is reported as %+v", u)
			}
			f.With(func() { f.Fault, f.After = nil, nil })
			whole := c.offer("node1", func(o cluster.Offer) bool { return o.MaxTasks == 10 })
			if err := c.Launch(t.Context(), launchOf(whole, 1)); err != nil {
				t.Fatal(err)
			}
			c.until(taskID(1), cluster.Starting)
			eventually.Works(t, "delete the pod that was not bound", func() error {
				if p := f.Pod("jobs", pod.Name(taskID(0))); p != nil {
					return fmt.Errorf("it is there, bound to %q", p.Spec.NodeName)
				}
				return nil
			})
		})
	}
}

// TestLostAnswers: a Launch whose bindings get no answer returns an error that leaves the outcome open. The next
// session reports the pod that was bound.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c := subscribe(t, f)
	c.offer("node1", nil)
	f.With(func() { f.After = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/binding") } })
	err := c.launch(0)
	var refused *cluster.Refused
	if err == nil || errors.As(err, &refused) {
		t.Fatalf("the launch ended with %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f.With(func() { f.After = nil })
	c.subscribe()
	if u := c.update(taskID(0)); u.State != cluster.Starting {
		t.Errorf("the task is reported as %+v", u)
	}
}
