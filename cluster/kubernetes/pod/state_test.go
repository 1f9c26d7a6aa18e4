package pod_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// podIs returns a bound pod with changes.
func podIs(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "my-job-0-abc", UID: "u1",
			Annotations: map[string]string{pod.AnnotationTask: "task"}},
		Spec: corev1.PodSpec{NodeName: "node1",
			Containers: []corev1.Container{{Name: pod.Container, Resources: corev1.ResourceRequirements{
				Limits: list("", "64Mi")}}}},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func givenUp(p *corev1.Pod) { p.Annotations[pod.AnnotationGivenUp] = "no such image" }

func phase(phase corev1.PodPhase, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason, p.Status.Message = phase, reason, message }
}

func shard(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: pod.Container, State: state})
	}
}

func running() func(*corev1.Pod) {
	return shard(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}})
}

func waiting(reason, message string) func(*corev1.Pod) {
	return shard(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
}

func exited(code int32, reason, message string) func(*corev1.Pod) {
	return shard(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
		Message:   message,
		StartedAt: metav1.NewTime(noon), FinishedAt: metav1.NewTime(noon.Add(time.Minute)),
		ContainerID: "containerd://1"}})
}

// exitedUnstarted is the kubelet's status of a container whose runtime did not record its start.
func exitedUnstarted(code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		exited(code, reason, message)(p)
		statuses := p.Status.ContainerStatuses
		statuses[len(statuses)-1].State.Terminated.StartedAt = metav1.Unix(0, 0)
	}
}

// neverCreated is the kubelet's status of a container that was never created.
func neverCreated() func(*corev1.Pod) {
	return shard(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
		Reason: "ContainerStatusUnknown"}})
}

func initEnded(name string, code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses,
			corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message,
					ContainerID: "containerd://2"}}})
	}
}

// deleted sets a deletion requested at the time after past noon, with a grace of 10 s.
func deleted(after time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		at, grace := metav1.NewTime(noon.Add(after+10*time.Second)), int64(10)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
	}
}

// finallyDeleted sets a deletion by the kubelet after all containers had ended.
func finallyDeleted() func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		at, grace := metav1.NewTime(noon.Add(2*time.Minute)), int64(0)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
	}
}

func disrupted(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason,
				Message: message})
	}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func TestReport(t *testing.T) {
	t.Parallel()
	failed, succeeded := corev1.PodFailed, corev1.PodSucceeded
	notReady := pod.Circumstances{NotReady: noon}
	noNode := pod.Circumstances{NotReady: noon, NoNode: true}
	gone := pod.Circumstances{Removed: true}
	for _, tt := range []struct {
		name   string
		pod    *corev1.Pod
		in     pod.Circumstances
		state  cluster.State
		source cluster.Source
		reason cluster.Reason
		// says is part of the message or of the cause; began is whether the status has a start time.
		says  string
		began bool
		// plain is set for an update without a UUID. lost is the status's SupervisorLost: the task may have begun.
		plain, lost bool
	}{
		{name: "bound", pod: podIs(), state: cluster.Starting, source: cluster.FromAgent},
		{name: "it is fetching", pod: podIs(phase(corev1.PodPending, "", ""), waiting("PodInitializing", "")), state: cluster.Starting, source: cluster.FromAgent},
		{name: "its image can't be pulled", pod: podIs(waiting("ErrImagePull", "no such host")), state: cluster.Starting, source: cluster.FromAgent, says: "no such host"},
		{name: "it runs", pod: podIs(running()), state: cluster.Running, source: cluster.FromExecutor},
		{name: "it is being deleted", pod: podIs(running(), deleted(0)), state: cluster.Running, source: cluster.FromExecutor},
		{name: "its node is not ready", pod: podIs(running()), in: notReady, state: cluster.Unreachable, source: cluster.FromMaster, plain: true},
		{name: "its node is not ready and it is being deleted", pod: podIs(running(), deleted(0)), in: notReady, state: cluster.Unreachable, source: cluster.FromMaster, plain: true},
		{name: "its node is not ready and it has ended", pod: podIs(exited(0, "Completed", "")), in: notReady, state: cluster.Finished, source: cluster.FromExecutor, began: true},
		{name: "it was removed", pod: podIs(running()), in: gone, state: cluster.GoneByOperator, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, plain: true, says: "manually"},
		{name: "it was removed after its end", pod: podIs(exited(0, "Completed", "")), in: gone, state: cluster.Finished, source: cluster.FromExecutor, began: true},

		{name: "it finished", pod: podIs(phase(succeeded, "", ""), exited(0, "Completed", `{"v":1,"exitStatus":0}`)), state: cluster.Finished, source: cluster.FromExecutor, began: true},
		{name: "it finished, and a child was killed for memory", pod: podIs(exited(0, "OOMKilled", "")), state: cluster.Finished, source: cluster.FromExecutor, began: true},
		{name: "it finished while its pod was deleted", pod: podIs(exited(0, "Completed", ""), deleted(0)), state: cluster.Finished, source: cluster.FromExecutor, began: true},
		{name: "it failed", pod: podIs(phase(failed, "", ""), exited(3, "Error", "")), state: cluster.Failed, source: cluster.FromExecutor, says: "status 3", began: true},
		{name: "it failed with a status as termination message", pod: podIs(exited(3, "Error", `{"v":1,"phase":"RUN","cause":"disk on fire"}`)), state: cluster.Failed, source: cluster.FromExecutor, says: "disk on fire", began: true},
		{name: "it failed with another termination message", pod: podIs(exited(3, "Error", "not JSON")), state: cluster.Failed, source: cluster.FromExecutor, says: "not JSON", began: true},
		{name: "its executor could not be executed", pod: podIs(exited(1, "Error", "exec /x: exec format error\n")),
			state: cluster.Failed, source: cluster.FromExecutor,
			says: "its container ended with status 1 (Error): exec /x: exec format error", began: true},
		{name: "it was killed, and its termination message is empty", pod: podIs(exited(137, "Error", "\n")),
			state: cluster.Failed, source: cluster.FromExecutor, says: "its container ended with status 137 (Error)",
			began: true},
		{name: "it could not fetch", pod: podIs(exited(125, "Error", `{"v":1,"phase":"FETCH","cause":"404"}`)), state: cluster.Failed, source: cluster.FromExecutor, says: "404"},
		{name: "its container was started a second time", pod: podIs(exited(125, "Error", `{"v":1,"phase":"START","supervisorLost":true,"cause":"a second time"}`)), state: cluster.Failed, source: cluster.FromExecutor, says: "a second time", lost: true},
		{name: "it was over its memory", pod: podIs(exited(137, "OOMKilled", "")), state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerMemory, says: "64Mi", began: true},
		{name: "it failed before its pod was deleted", pod: podIs(exited(3, "Error", ""), deleted(2*time.Minute)), state: cluster.Failed, source: cluster.FromExecutor, began: true},
		{name: "its pod was deleted", pod: podIs(exited(143, "Error", ""), deleted(50*time.Second)), state: cluster.Killed, source: cluster.FromExecutor, reason: pod.ReasonDeleted, began: true},
		{name: "its pod was deleted, and the kubelet has completed the deletion", pod: podIs(exited(143, "Error", ""), finallyDeleted()), state: cluster.Killed, source: cluster.FromExecutor, reason: pod.ReasonDeleted, began: true},
		{name: "it failed, and the kubelet has completed the deletion", pod: podIs(exited(3, "Error", ""), finallyDeleted()), state: cluster.Failed, source: cluster.FromExecutor, began: true},
		{name: "it was drained", pod: podIs(exited(143, "Error", ""), annotated(pod.AnnotationDrain, "paused")), state: cluster.Killed, source: cluster.FromExecutor, says: "drained", began: true},
		{name: "it was drained in its start", pod: podIs(exited(143, "Error", `{"v":1,"phase":"FETCH","cause":"killed"}`), annotated(pod.AnnotationDrain, "paused")), state: cluster.Killed, source: cluster.FromExecutor, says: "drained"},
		{name: "it failed while it was to drain", pod: podIs(exited(3, "Error", ""), annotated(pod.AnnotationDrain, "paused")), state: cluster.Failed, source: cluster.FromExecutor, began: true},
		{name: "its lease was over", pod: podIs(exited(143, "Error", `{"v":1,"phase":"RUN","leaseLost":true,"cause":"its lease is over","startTime":"2026-11-23T12:00:00Z"}`)), state: cluster.Killed, source: cluster.FromExecutor, says: "its lease is over", began: true},
		{name: "it got no lease", pod: podIs(exited(143, "Error", `{"v":1,"phase":"START","leaseLost":true,"cause":"the scheduler has ended it"}`)), state: cluster.Killed, source: cluster.FromExecutor, says: "no lease"},
		{name: "it is to drain", pod: podIs(running(), annotated(pod.AnnotationDrain, "paused")), state: cluster.Running, source: cluster.FromExecutor},
		{name: "its pod was deleted before it began", pod: podIs(phase(failed, "", ""), neverCreated(), deleted(0)), state: cluster.Killed, source: cluster.FromAgent, reason: cluster.ReasonKilledDuringLaunch},
		{name: "it ran for too long", pod: podIs(phase(failed, "DeadlineExceeded", "Pod was active"), exited(137, "Error", "")), state: cluster.Failed, source: cluster.FromExecutor, reason: pod.ReasonDeadline, says: "activeDeadlineSeconds", began: true},
		{name: "it waited for too long", pod: podIs(phase(failed, "DeadlineExceeded", "Pod was active")), state: cluster.Failed, source: cluster.FromExecutor, reason: pod.ReasonDeadline, says: "activeDeadlineSeconds"},

		{name: "evicted", pod: podIs(phase(failed, "Evicted", "The node was low on resource: memory."), exited(137, "Error", "")), state: cluster.Lost, source: cluster.FromExecutor, reason: pod.ReasonDisrupted, says: "low on resource", began: true},
		{name: "evicted before it began", pod: podIs(phase(failed, "Evicted", "The node was low on resource: memory.")), state: cluster.Dropped, source: cluster.FromAgent, reason: pod.ReasonDisrupted, says: "low on resource"},
		{name: "evicted for its own disk", pod: podIs(phase(failed, "Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "), exited(137, "Error", "")), state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerDisk, says: "1Gi", began: true},
		{name: "refused for its node's disk", pod: podIs(phase(failed, "Evicted", "Pod was rejected: The node had condition: [DiskPressure]. ")), state: cluster.Dropped, source: cluster.FromAgent, reason: pod.ReasonDisrupted, says: "DiskPressure"},
		{name: "its pod was deleted, by a node's clock before that", pod: podIs(exited(143, "Error", ""), deleted(time.Hour)), state: cluster.Killed, source: cluster.FromExecutor, reason: pod.ReasonDeleted, began: true},
		{name: "preempted", pod: podIs(phase(failed, "", ""), exited(143, "Error", ""), disrupted("PreemptionByScheduler", "for another"), deleted(0)), state: cluster.Lost, source: cluster.FromExecutor, reason: pod.ReasonDisrupted, says: "for another", began: true},
		{name: "marked by the garbage collector", pod: podIs(phase(failed, "", ""), running(), disrupted("DeletionByPodGC", "node not found")), state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "node not found"},
		{name: "its machine was started again", pod: podIs(phase(failed, "", ""), shard(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown", ContainerID: "containerd://1"}})), state: cluster.Lost, source: cluster.FromMaster, says: "restarted"},
		{name: "marked by the garbage collector before its kubelet reported anything", pod: podIs(phase(failed, "", ""), disrupted("DeletionByPodGC", "node not found")), state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "node not found"},
		{name: "marked by the garbage collector while it was being created", pod: podIs(phase(failed, "", ""), waiting("ContainerCreating", ""), disrupted("DeletionByPodGC", "node not found"), deleted(0)), state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "node not found"},
		{name: "marked by the garbage collector after its init container had failed", pod: podIs(phase(failed, "", ""), initEnded(pod.Prepare, 1, "Error", `{"v":1,"phase":"FETCH","cause":"404"}`), waiting("PodInitializing", ""), disrupted("DeletionByPodGC", "node not found")), state: cluster.Dropped, source: cluster.FromAgent, reason: pod.ReasonDisrupted},
		{name: "its node was lost while it was being created", pod: podIs(phase(failed, "NodeLost", "Node is unresponsive"), waiting("ContainerCreating", "")), state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "NodeLost"},
		{name: "marked as failed by another client", pod: podIs(phase(failed, "", ""), waiting("ContainerCreating", ""), deleted(0)), state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "its kubelet has not said"},
		{name: "marked as failed by another client while its node is not ready", pod: podIs(phase(failed, "", ""), running()), in: notReady, state: cluster.Unreachable, source: cluster.FromMaster, plain: true},
		{name: "marked as failed by another client, and its node was removed", pod: podIs(phase(failed, "", ""), running()), in: noNode, state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "its kubelet has not said"},
		{name: "its node is silent, and another client marked it as lost", pod: podIs(phase(failed, "NodeLost", "Node is unresponsive"), running()), in: notReady, state: cluster.Unreachable, source: cluster.FromMaster, plain: true},
		{name: "to be preempted, and marked as failed by another client while its node is not ready", pod: podIs(phase(failed, "", ""), running(), disrupted("PreemptionByScheduler", "for another"), deleted(0)), in: notReady, state: cluster.Unreachable, source: cluster.FromMaster, plain: true},
		{name: "marked by the garbage collector because its node is out of service", pod: podIs(phase(failed, "", ""), running(), disrupted("DeletionByPodGC", "out-of-service")), in: notReady, state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "out-of-service"},
		{name: "marked by the garbage collector because its node was removed", pod: podIs(phase(failed, "", ""), running(), disrupted("DeletionByPodGC", "node not found")), in: noNode, state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "node not found"},
		{name: "its kubelet said that it failed, and its node is not ready", pod: podIs(phase(failed, "", ""), exited(255, "Unknown", "")), in: notReady, state: cluster.Lost, source: cluster.FromMaster, says: "no longer knows"},
		{name: "marked as failed by another client while its node was not ready, and removed", pod: podIs(phase(failed, "", ""), running()), in: pod.Circumstances{NotReady: noon, Removed: true}, state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "its kubelet has not said"},
		{name: "marked as failed while its init container ran", pod: podIs(phase(failed, "", ""), waiting("PodInitializing", "")), state: cluster.Lost, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, says: "its kubelet has not said"},
		{name: "its pod was deleted while its init container ran", pod: podIs(phase(failed, "", ""), initEnded(pod.Prepare, 143, "Error", ""), waiting("PodInitializing", ""), deleted(0)), state: cluster.Killed, source: cluster.FromAgent, reason: cluster.ReasonKilledDuringLaunch},
		{name: "its pod was deleted before its init container was created", pod: podIs(phase(failed, "", ""), initEnded(pod.Prepare, 137, "ContainerStatusUnknown", ""), waiting("PodInitializing", ""), deleted(0)), state: cluster.Killed, source: cluster.FromAgent, reason: cluster.ReasonKilledDuringLaunch},
		{name: "evicted while it fetched", pod: podIs(phase(failed, "Evicted", "The node was low on resource: memory."), exited(143, "Error", `{"v":1,"phase":"FETCH","cause":"killed"}`)), state: cluster.Lost, source: cluster.FromExecutor, reason: pod.ReasonDisrupted, says: "low on resource"},
		{name: "containerd lost track of it", pod: podIs(phase(failed, "", ""), exited(255, "Unknown", "")), state: cluster.Lost, source: cluster.FromMaster, says: "no longer knows"},
		{name: "containerd lost track of it, and its pod was deleted", pod: podIs(phase(failed, "", ""), exited(255, "Unknown", ""), deleted(0)), state: cluster.Lost, source: cluster.FromMaster, says: "no longer knows"},
		{name: "containerd was killed while it started it", pod: podIs(phase(failed, "", ""), exitedUnstarted(1, "Error", "")), state: cluster.Lost, source: cluster.FromMaster, says: "whether its container was started"},
		{name: "containerd was killed while it started it, and knows of no error", pod: podIs(phase(corev1.PodSucceeded, "", ""), exitedUnstarted(0, "Completed", "")), state: cluster.Lost, source: cluster.FromMaster, says: "whether its container was started"},
		{name: "containerd was killed while it started it, and its executor has said how it ended", pod: podIs(phase(failed, "", ""), exitedUnstarted(1, "Error", `{"v":1,"phase":"FETCH","cause":"404"}`)), state: cluster.Failed, source: cluster.FromExecutor, says: "404"},
		{name: "its start was not confirmed", pod: podIs(phase(failed, "", ""), exited(128, "StartError", "context deadline exceeded")), state: cluster.Lost, source: cluster.FromMaster, says: "deadline"},
		{name: "its start was not confirmed, and its output is missing", pod: podIs(phase(failed, "", ""),
			exited(128, "StartError", "try again: Error on reading termination message from logs: open 0.log: no such file or directory")),
			state: cluster.Lost, source: cluster.FromMaster, says: "try again"},
		{name: "it may not run its command", pod: podIs(phase(failed, "", ""), exited(126, "ContainerCannotRun", "exec /x: Permission denied")), state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerLaunchFailed, says: "enied"},
		{name: "refused", pod: podIs(phase(failed, "OutOfcpu", "Node didn't have enough resource: cpu")), state: cluster.Dropped, source: cluster.FromAgent, reason: pod.ReasonRefused, says: "OutOfcpu: Node didn't have"},
		{name: "its command does not exist", pod: podIs(phase(failed, "", ""), exited(128, "StartError", "exec: no such file")), state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerLaunchFailed, says: "no such file"},
		{name: "given up", pod: podIs(givenUp, phase(failed, "", ""), neverCreated(), deleted(0)), in: pod.Circumstances{}, state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerLaunchFailed, says: "no such image"},
		{name: "given up before its init container was created", pod: podIs(givenUp, phase(failed, "", ""), initEnded(pod.Prepare, 137, "ContainerStatusUnknown", ""), waiting("PodInitializing", ""), deleted(0)), in: pod.Circumstances{}, state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerLaunchFailed, says: "no such image"},
		{name: "given up and gone, as its kubelet said", pod: podIs(givenUp, phase(failed, "", ""), neverCreated(), finallyDeleted()), in: pod.Circumstances{Removed: true}, state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerLaunchFailed, says: "no such image"},
		{name: "given up and removed by force", pod: podIs(givenUp, waiting("ImagePullBackOff", "")), in: pod.Circumstances{Removed: true}, state: cluster.GoneByOperator, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, plain: true, says: "manually"},
		{name: "given up just as it began", pod: podIs(givenUp, running()), in: pod.Circumstances{Removed: true}, state: cluster.GoneByOperator, source: cluster.FromMaster, reason: cluster.ReasonTaskRemoved, plain: true},
		{name: "its init container could not fetch", pod: podIs(phase(failed, "", ""), initEnded(pod.Prepare, 1, "Error", `{"v":1,"phase":"UNPACK","cause":"not an archive"}`), waiting("PodInitializing", "")), state: cluster.Failed, source: cluster.FromExecutor, says: "not an archive"},
		{
			name: "its init container could not fetch, of a pod that was given up and then not deleted",
			pod: podIs(givenUp, phase(failed, "", ""),
				initEnded(pod.Prepare, 1, "Error", `{"v":1,"phase":"UNPACK","cause":"not an archive"}`),
				waiting("PodInitializing", "")),
			state: cluster.Failed, source: cluster.FromExecutor, says: "not an archive",
		},
		{name: "the executor of its init container could not be executed", pod: podIs(phase(failed, "", ""),
			initEnded(pod.Prepare, 1, "Error", "exec /x: exec format error\n"), waiting("PodInitializing", "")),
			state: cluster.Failed, source: cluster.FromExecutor,
			says: "the init container fetch ended with status 1 (Error): exec /x: exec format error"},
		{name: "an init container of its template failed", pod: podIs(phase(failed, "", ""), initEnded("mine", 2, "Error", "no database"), waiting("PodInitializing", "")), state: cluster.Failed, source: cluster.FromExecutor, says: "no database"},
		{name: "its init container was over the memory", pod: podIs(phase(failed, "", ""), initEnded(pod.Prepare, 137, "OOMKilled", ""), waiting("PodInitializing", "")), state: cluster.Failed, source: cluster.FromAgent, reason: cluster.ReasonContainerMemory},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, bound := pod.Report(tt.pod, tt.in)
			if !bound || u.TaskID != "task" || u.AgentID != "node1" || u.State != tt.state || u.Source != tt.source ||
				u.Reason != tt.reason {
				t.Fatalf("reported %+v, not %s from %s for %q", u, tt.state, tt.source, tt.reason)
			}
			if plain := len(u.UUID) == 0; plain != tt.plain {
				t.Errorf("the update has the UUID %x; without a UUID: %t, want %t", u.UUID, plain, tt.plain)
			}
			status := cmp.Or(u.Status, &wire.Status{})
			if !bytes.Contains([]byte(u.Message+" "+status.Cause), []byte(tt.says)) {
				t.Errorf("message %q and cause %q, want %q in one of them", u.Message, status.Cause, tt.says)
			}
			if status.SupervisorLost != tt.lost {
				t.Errorf("supervisor lost: %t, want %t", status.SupervisorLost, tt.lost)
			}
			if began := !status.StartTime.IsZero(); began != tt.began {
				t.Errorf("the status has a start time: %t, want %t", began, tt.began)
			}
			if u.Status != nil && status.Dir != "jobs/my-job-0-abc/u1" {
				t.Errorf("the status has the output directory %q", status.Dir)
			}
			if again, _ := pod.Report(tt.pod, tt.in); !bytes.Equal(again.UUID, u.UUID) {
				t.Error("a second report of the same pod has another UUID")
			}
		})
	}
}

// An obstacle to a pod's start is reported again when it is a different one, but not when only a number in it changes.
func TestWhatKeepsAPodFromStarting(t *testing.T) {
	t.Parallel()
	unready := func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse})
	}
	report := func(p *corev1.Pod, c pod.Circumstances) cluster.Update {
		u, _ := pod.Report(p, c)
		return u
	}
	plain := report(podIs(unready, waiting("ContainerCreating", "")), pod.Circumstances{ProblemFor: time.Second})
	if plain.Message != "" {
		t.Errorf("after a second the message is %q, want none", plain.Message)
	}
	volumes := report(podIs(unready, waiting("ContainerCreating", "")), pod.Circumstances{ProblemFor: 11 * time.Second})
	if !strings.Contains(volumes.Message,
		"kubectl -n jobs get events --field-selector involvedObject.name=my-job-0-abc") {
		t.Errorf("after 11 s the message is %q, want the command that shows the pod's events", volumes.Message)
	}
	pull := report(podIs(waiting("ImagePullBackOff", "try 1, back-off 10s")), pod.Circumstances{})
	later := report(podIs(waiting("ImagePullBackOff", "try 2, back-off 20s")), pod.Circumstances{})
	if bytes.Equal(plain.UUID, volumes.UUID) || bytes.Equal(volumes.UUID, pull.UUID) ||
		bytes.Equal(plain.UUID, pull.UUID) {
		t.Error("reports of different obstacles have the same UUID")
	}
	if !bytes.Equal(pull.UUID, later.UUID) {
		t.Error("a report with only another number has another UUID")
	}
}

// TestStartProblemSince checks that Since is the earliest time at which the problem can have begun, and never before
// the pod's creation, even if the node's clock is slow.
func TestStartProblemSince(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(created.Add(after)) }
	ready := func(status corev1.ConditionStatus, after time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: status,
				LastTransitionTime: at(after)}}
		}
	}
	fetched := func(after time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: pod.Prepare,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(after)}}}}
		}
	}
	noImage := waiting("ErrImagePull", "")
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		after time.Duration
		exact bool
	}{
		"volumes":                               {podIs(waiting("ContainerCreating", ""), ready(corev1.ConditionFalse, time.Second)), time.Second, true},
		"volumes, and a slow clock of the node": {podIs(waiting("ContainerCreating", ""), ready(corev1.ConditionFalse, -time.Hour)), 0, true},
		"image":                                 {podIs(noImage), 0, false},
		"image, after the volumes":              {podIs(noImage, ready(corev1.ConditionTrue, 4*time.Minute)), 4 * time.Minute, false},
		"image, after the package":              {podIs(noImage, ready(corev1.ConditionTrue, time.Second), fetched(time.Minute)), time.Minute, false},
	} {
		c.pod.CreationTimestamp = at(0)
		if got := pod.StartProblemOf(c.pod); got.Why == "" || !got.Since.Equal(created.Add(c.after)) ||
			got.SinceExact != c.exact {
			t.Errorf("%s: %+v, want a problem since %s, exact: %t", name, got, created.Add(c.after), c.exact)
		}
	}
}

func TestReportOfUnboundPods(t *testing.T) {
	t.Parallel()
	if u, bound := pod.Report(podIs(func(p *corev1.Pod) { p.Spec.NodeName = "" }),
		pod.Circumstances{Removed: true}); bound {
		t.Errorf("a pod that was never bound is reported as %s", u.State)
	}
}

func TestStartProblemOf(t *testing.T) {
	t.Parallel()
	notReadyToStart := func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse})
	}
	broken := func(name string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	}
	sidecar := func(p *corev1.Pod) { p.Status.InitContainerStatuses = broken("sidecar") }
	other := func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, broken("other")...)
	}
	for _, tt := range []struct {
		name       string
		pod        *corev1.Pod
		hasProblem bool
		within     time.Duration
	}{
		{"it is being created", podIs(waiting("ContainerCreating", "")), false, 0},
		{"its volumes are not there", podIs(waiting("ContainerCreating", ""), notReadyToStart), true, 5 * time.Minute},
		{"its image is not there", podIs(waiting("ImagePullBackOff", "back-off")), true, 30 * time.Second},
		{"the name of its image is invalid", podIs(waiting("InvalidImageName", ""), notReadyToStart), true, 0},
		{"its image runs as root", podIs(waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")), true, 0},
		{"it is being deleted", podIs(waiting("ImagePullBackOff", ""), deleted(0)), false, 0},
		{"it runs", podIs(running()), false, 0},
		{"it runs, and a sidecar does not start", podIs(running(), sidecar), false, 0},
		{"it has ended, and a sidecar does not start", podIs(exited(0, "Completed", ""), sidecar), false, 0},
		{"it waits for its sidecar, which does not start", podIs(waiting("PodInitializing", ""), sidecar), true, 30 * time.Second},
		{"it is being created, and another container does not start", podIs(waiting("ContainerCreating", ""), other), false, 0},
		{"it is not bound", podIs(notReadyToStart, func(p *corev1.Pod) { p.Spec.NodeName = "" }), false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := pod.StartProblemOf(tt.pod); (got.Why != "") != tt.hasProblem || got.Within != tt.within {
				t.Errorf("problem %q, allowed for %s; want a problem: %t, allowed for %s", got.Why, got.Within, tt.hasProblem,
					tt.within)
			}
		})
	}
}
