package kubernetes_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func list(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: quantity(cpu), corev1.ResourceMemory: quantity(memory)}
}

// fakeAPI is a fake API server. Tests play the kubelets.
type fakeAPI struct{ *fakekubernetes.Server }

func newFakeAPI(t testing.TB) *fakeAPI { return &fakeAPI{fakekubernetes.Start(t)} }

// waitTimeout is longer than anything takes on a busy machine.
const waitTimeout = time.Minute

// client is a session together with what it has reported so far.
type client struct {
	t *testing.T
	cluster.Session
	driver  *kubernetes.Driver
	offers  map[string]cluster.Offer // by agent
	updated map[string]bool          // tasks for which there were updates
}

func subscribe(t *testing.T, f *fakeAPI) *client {
	t.Helper()
	return subscribeWith(t, f, func(*kubernetes.Options) {})
}

// withOneRunning returns a session whose first task runs on the only node; u is the update that reported it.
func withOneRunning(t *testing.T) (f *fakeAPI, c *client, u cluster.Update) {
	t.Helper()
	f = newFakeAPI(t)
	f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
	c = subscribe(t, f)
	if err := c.launch(0); err != nil {
		t.Fatal(err)
	}
	f.runs(taskID(0))
	return f, c, c.until(taskID(0), cluster.Running)
}

func subscribeWith(t *testing.T, f *fakeAPI, change func(*kubernetes.Options)) *client {
	t.Helper()
	o := kubernetes.Options{Config: f.Config(), Pods: pod.Settings{Namespace: "jobs", Image: "task:1"},
		Follower: noHooks{}, Keeper: noHooks{}, Recorder: noHooks{}}
	change(&o)
	d, err := kubernetes.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	c := &client{t: t, driver: d, offers: map[string]cluster.Offer{}, updated: map[string]bool{}}
	c.subscribe()
	return c
}

func (c *client) subscribe() {
	c.t.Helper()
	s, err := c.driver.Subscribe(c.t.Context(), cluster.Framework{ID: "fw"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	c.Session = s
	clear(c.offers)
	if first, ok := c.next().(cluster.Subscribed); !ok || first.FrameworkID != "fw" || first.MasterID == "" {
		c.t.Fatalf("the first event is %+v", first)
	}
}

func (c *client) next() cluster.Event {
	c.t.Helper()
	select {
	case e, open := <-c.Events():
		if !open {
			c.t.Fatalf("the session ended: %v", c.Err())
		}
		switch e := e.(type) {
		case cluster.Update:
			c.updated[e.TaskID] = true
		case cluster.Offers:
			for _, o := range e.Offers {
				c.offers[o.AgentID] = o
			}
		case cluster.Rescind:
			for agent, o := range c.offers {
				if o.ID == e.OfferID {
					delete(c.offers, agent)
				}
			}
		}
		return e
	case <-time.After(waitTimeout):
		c.t.Fatal("no event")
		return nil
	}
}

// update waits for a task's next update.
func (c *client) update(task string) cluster.Update {
	c.t.Helper()
	for {
		if u, ok := c.next().(cluster.Update); ok && u.TaskID == task {
			return u
		}
	}
}

// until waits for a state of a task and acknowledges all updates on the way.
func (c *client) until(task string, state cluster.State) cluster.Update {
	c.t.Helper()
	for {
		u := c.update(task)
		if len(u.UUID) > 0 {
			if err := c.Acknowledge(c.t.Context(),
				cluster.Ack{TaskID: task, AgentID: u.AgentID, UUID: u.UUID}); err != nil {
				c.t.Fatal(err)
			}
		}
		if u.State == state {
			return u
		}
	}
}

// offer waits for an offer of an agent for which right returns true. A nil right accepts any offer.
func (c *client) offer(agent string, right func(cluster.Offer) bool) cluster.Offer {
	c.t.Helper()
	for {
		if o, ok := c.offers[agent]; ok && (right == nil || right(o)) {
			return o
		}
		c.next()
	}
}

func taskID(n int) string { return fmt.Sprintf("my_job@-@%d@-@READY@-@node1@-@uuid%d", n, n) }

func launchOf(o cluster.Offer, tasks ...int) cluster.Launch {
	l := cluster.Launch{AgentID: o.AgentID, OfferIDs: []string{o.ID}}
	for _, n := range tasks {
		task := wire.Task{TaskID: taskID(n), JobName: "my_job", ExecutionID: "my_job@1", Item: n, Total: 9,
			Command: []string{"true"}}
		l.Tasks = append(l.Tasks, cluster.TaskLaunch{TaskID: taskID(n), Resources: resources.New(0.5, 64), Task: task})
	}
	return l
}

func (c *client) launch(tasks ...int) error {
	c.t.Helper()
	o := c.offer("node1", nil)
	delete(c.offers, "node1") // it is consumed
	return c.Launch(c.t.Context(), launchOf(o, tasks...))
}

// runs lets the kubelet report that a task's container runs.
func (f *fakeAPI) runs(task string) {
	f.PutPod("jobs", pod.Name(task), func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Container, ContainerID: "c",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	})
}

// ends lets the kubelet report that a task's container has ended with this exit status.
func (f *fakeAPI) ends(task string, code int32) {
	f.PutPod("jobs", pod.Name(task), func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Container,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: "Error", ContainerID: "c", StartedAt: metav1.Now(),
				FinishedAt: metav1.NewTime(time.Now().Add(time.Second))}}}}
	})
}
