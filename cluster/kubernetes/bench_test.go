package kubernetes_test

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// BenchmarkSubscribe measures the beginning of a session with 10,000 ended pods of the framework. The bytes are what
// the session then holds for each of them.
func BenchmarkSubscribe(b *testing.B) {
	const ended = 10_000
	f := newFakeAPI(b)
	for i := range ended {
		task := taskID(i)
		f.Pods["jobs/"+pod.Name(task)] = &corev1.Pod{
			TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: pod.Name(task),
				UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: "1",
				Labels:      map[string]string{pod.LabelFramework: "fw", pod.LabelJob: "my_job"},
				Annotations: map[string]string{pod.AnnotationTask: task, pod.AnnotationJob: "my_job"}},
			Spec: corev1.PodSpec{NodeName: "node1",
				Containers: []corev1.Container{{Name: pod.Container, Image: "task:1",
					Env: []corev1.EnvVar{{Name: "ELASTICJOB_TASK", Value: fmt.Sprintf("%01000d", i)}}}}},
			Status: corev1.PodStatus{Phase: corev1.PodSucceeded,
				ContainerStatuses: []corev1.ContainerStatus{{Name: pod.Container, State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: metav1.Now(),
						FinishedAt: metav1.Now(), Message: `{"v":1,"exitStatus":0}`}}}}},
		}
	}
	d, err := kubernetes.New(kubernetes.Options{Config: f.Config(),
		Pods:     pod.Settings{Namespace: "jobs", Image: "task:1"},
		Follower: noHooks{}, Keeper: noHooks{}, Recorder: noHooks{}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var before, after runtime.MemStats
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		s, err := d.Subscribe(b.Context(), cluster.Framework{ID: "fw"})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/ended, "B/pod")
		_ = s.Close()
		b.StartTimer()
	}
}
