package kubernetes_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
)

// ends is a Keeper that records when pods are reported to have ended.
type ends chan time.Time

func (e ends) Ended(_ context.Context, _ kubernetes.Pod, _ bool, at time.Time) { e <- at }
func (e ends) Gone(types.UID)                                                  {}

// TestClockThatIsOff: a scheduler whose clock differs from the cluster's measures by its own clock how long ago a pod
// ended, and how long a node has been silent.
func TestClockThatIsOff(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"right": 0, "an hour ahead": time.Hour,
		"an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.AddNode("node1", "4", "1Gi", "10", corev1.ConditionTrue)
			var more atomic.Int64
			now := func() time.Time { return time.Now().Add(off + time.Duration(more.Load())) }
			keeper := make(ends, 10)
			c := subscribeWith(t, f, func(o *kubernetes.Options) { o.Now, o.Keeper = now, keeper })
			near := func(what string, at, want time.Time) {
				t.Helper()
				if d := at.Sub(want).Abs(); d > 10*time.Minute {
					t.Errorf("%s at %s, want about %s", what, at, want)
				}
			}
			kept := func() time.Time {
				t.Helper()
				select {
				case at := <-keeper:
					return at
				case <-time.After(waitTimeout):
					t.Fatal("no pod is kept")
					return time.Time{}
				}
			}
			if err := c.launch(0, 1); err != nil {
				t.Fatal(err)
			}
			f.runs(taskID(0))
			c.until(taskID(0), cluster.Running)
			f.ends(taskID(0), 0)
			c.until(taskID(0), cluster.Finished)
			near("the pod has ended", kept(), now())
			f.runs(taskID(1))
			c.until(taskID(1), cluster.Running)

			f.withoutFinalizer(t, taskID(0)) // otherwise its end would be reported again
			_ = c.Close()
			silent := metav1.NewTime(time.Now().Add(-30 * time.Second))
			f.PutNode("node1", func(n *corev1.Node) {
				n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = corev1.ConditionUnknown,
					silent
			})
			c.subscribe()
			if err := c.Reconcile(t.Context(), []cluster.TaskRef{{TaskID: taskID(1), AgentID: "node1"}}); err != nil {
				t.Fatal(err)
			}
			near("the node is silent", c.until(taskID(1), cluster.Unreachable).UnreachableSince, now())
			more.Store(int64(time.Minute)) // after that, the ends of earlier sessions are passed to the keeper
			near("the earlier session's pod has ended", kept(), now())
		})
	}
}
