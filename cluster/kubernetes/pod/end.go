package pod

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// setEnd sets in u how a pod has ended. t is the end of the shard's own container; nil if it has none.
func setEnd(p *corev1.Pod, t *corev1.ContainerStateTerminated, u *cluster.Update) {
	shard := statusOf(p.Status.ContainerStatuses, Container)
	if t != nil {
		u.Timestamp = t.FinishedAt.UTC()
	}
	disrupted, disruptedWhy := disruption(p)
	switch why, unknown := isUnknown(t, u.AgentID); {
	case t != nil && t.ExitCode == 0 && !unknown, t == nil && p.Status.Phase == corev1.PodSucceeded:
		u.State, u.Source, u.Status = cluster.Finished, cluster.FromExecutor, statusAtEnd(p, t, "")
	case p.Status.Reason == "DeadlineExceeded":
		// The source is the executor, so that the job itself counts as the cause of the failure (rule E3), as for a
		// process that ran for too long.
		u.State, u.Source, u.Reason, u.Message = cluster.Failed, cluster.FromExecutor, ReasonDeadline, p.Status.Message
		u.Status = statusAtEnd(p, t, "its pod was active for longer than activeDeadlineSeconds of its template allows")
	case p.Status.Reason == "Evicted" && !strings.HasPrefix(p.Status.Message, "The node") && began(shard):
		// A kubelet evicts a pod because the node lacks a resource ("The node was low on …"), or, as here, because the
		// pod exceeds its own disk limits. It rejects pods with the same reason, but those have not begun.
		u.State, u.Reason, u.Message = cluster.Failed, cluster.ReasonContainerDisk, strings.TrimSpace(p.Status.Message)
		u.Status = statusAtEnd(p, t, u.Message)
	case reportedByKubelet(p, t) && !began(shard):
		setNeverBegan(p, t, u)
	case disrupted || unknown:
		// If the container's end is known, its status says whether the process began, and the source is the executor.
		// Otherwise the source is the master, because nothing proves that the process did not begin.
		u.State, u.Source, u.Message = cluster.Lost, cluster.FromExecutor, why
		if disrupted {
			u.Reason, u.Message = ReasonDisrupted, disruptedWhy
		}
		if unknown {
			u.Source, t = cluster.FromMaster, nil
		}
		u.Status = statusAtEnd(p, t, u.Message)
	case wasDeleted(p, t):
		u.State, u.Source, u.Reason = cluster.Killed, cluster.FromExecutor, ReasonDeleted
		u.Message = "its pod was deleted"
		u.Status = statusAtEnd(p, t, "")
	case drained(p, t):
		u.State, u.Source, u.Message = cluster.Killed, cluster.FromExecutor,
			"it was drained, and ended after the current run"
		u.Status = statusAtEnd(p, t, "")
	case leaseLost(t):
		// The task was lost and did not fail by itself, for example because its node was cut off from the servers.
		u.State, u.Source, u.Message = cluster.Killed, cluster.FromExecutor, "it had no lease any more"
		u.Status = statusAtEnd(p, t, "")
	case t.Reason == "OOMKilled":
		u.State, u.Reason = cluster.Failed, cluster.ReasonContainerMemory
		u.Message = fmt.Sprintf("the kernel killed it (OOMKilled, exit status %d)", t.ExitCode)
		if limit := memoryLimit(p); limit != "" {
			u.Message += "; its limit is " + limit
		}
		u.Status = statusAtEnd(p, t, "over the memory limit of its container: "+u.Message)
	default:
		u.State, u.Source, u.Message = cluster.Failed, cluster.FromExecutor, endOf("its container", t)
		u.Status = statusAtEnd(p, t, "")
	}
}

// endOf describes how a container ended. container is the text by which the description names it.
func endOf(container string, t *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("%s ended with status %d (%s)", container, t.ExitCode, t.Reason)
}

// causeOf describes how a container ended whose termination message is not from the executor, and quotes the message.
// It returns "" if the message is empty. The message was written by the job, or it is the end of the container's
// output. If the executor could not be executed, that output is the container runtime's error.
func causeOf(container string, t *corev1.ContainerStateTerminated) string {
	words := strings.TrimSpace(t.Message)
	if words == "" {
		return ""
	}
	return endOf(container, t) + ": " + words
}

// setNeverBegan sets in u why a pod ended before its shard's container was started.
func setNeverBegan(p *corev1.Pod, t *corev1.ContainerStateTerminated, u *cluster.Update) {
	prepare, failed := failedInit(p)
	// A pod that started while it was being given up has the annotation but was not deleted.
	givenUp := p.DeletionTimestamp != nil && p.Annotations[AnnotationGivenUp] != ""
	switch disrupted, why := disruption(p); {
	case givenUp:
		setStartFailed(p, p.Annotations[AnnotationGivenUp], u)
	case p.DeletionTimestamp != nil:
		u.State, u.Reason, u.Message = cluster.Killed, cluster.ReasonKilledDuringLaunch,
			"its pod was deleted before its container was started"
	case disrupted:
		u.State, u.Reason, u.Message = cluster.Dropped, ReasonDisrupted, why
	case t != nil && t.Reason != statusUnknown:
		setStartFailed(p, fmt.Sprintf("its container could not be started (%s): %s", t.Reason, t.Message), u)
	case failed && prepare.State.Terminated.Reason == "OOMKilled":
		u.State, u.Reason, u.Message = cluster.Failed, cluster.ReasonContainerMemory,
			"the init container "+prepare.Name+" was killed (OOMKilled)"
		u.Status = &wire.Status{Phase: wire.PhaseFetch, Dir: folderOf(p),
			Cause: "over the memory limit of its container: " + u.Message}
	case failed:
		end := prepare.State.Terminated
		u.State, u.Source, u.Timestamp = cluster.Failed, cluster.FromExecutor, end.FinishedAt.UTC()
		u.Message = endOf("the init container "+prepare.Name, end)
		status, ok := wire.DecodeStatus([]byte(end.Message))
		if !ok {
			status = wire.Status{Phase: wire.PhaseFetch,
				Cause: cmp.Or(causeOf("the init container "+prepare.Name, end), u.Message)}
		}
		status.Dir, status.StartTime = folderOf(p), time.Time{}
		u.Status = &status
	default:
		u.State, u.Reason = cluster.Dropped, ReasonRefused
		u.Message = strings.TrimSpace(fmt.Sprintf("node %s rejected its pod: %s: %s", u.AgentID, p.Status.Reason,
			p.Status.Message))
	}
}

// setStartFailed sets in u that an image could not be pulled, or that no container could be created from the image
// (rule L6).
func setStartFailed(p *corev1.Pod, why string, u *cluster.Update) {
	u.State, u.Source, u.Reason, u.Message = cluster.Failed, cluster.FromAgent, cluster.ReasonContainerLaunchFailed,
		why
	u.Status = &wire.Status{Phase: wire.PhaseFetch, Dir: folderOf(p), Cause: why}
	u.UUID = uuid(p, *u)
}

// wasDeleted reports whether a container ended because its pod was deleted, by the scheduler or by another client. The
// exit status shows that: the container ended by a signal, or with the status of an executor that was killed. The order
// of deletion and end would not show it, because their times come from the clocks of two machines.
func wasDeleted(p *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	return p.DeletionTimestamp != nil && t.ExitCode >= 128
}

// statusKilled is the exit status of an executor whose task ended because of a kill.
const statusKilled = 143

// drained reports whether a daemon's shard ended because it was asked to drain.
func drained(p *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	return p.Annotations[AnnotationDrain] != "" && t.ExitCode == statusKilled
}

// disruption returns whether the cluster itself ended a pod, and a message that says why.
func disruption(p *corev1.Pod) (disrupted bool, why string) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true, strings.TrimSpace(fmt.Sprintf("the cluster ended its pod: %s: %s", c.Reason, c.Message))
		}
	}
	switch p.Status.Reason {
	case "Evicted", "Preempting", "Terminated", "NodeShutdown", "Shutdown", nodeLost:
		return true, strings.TrimSpace(fmt.Sprintf("the cluster ended its pod: %s: %s", p.Status.Reason,
			p.Status.Message))
	}
	return false, ""
}

// leaseLost reports whether the executor ended the shard because it had no lease any more.
func leaseLost(t *corev1.ContainerStateTerminated) bool {
	status, ok := wire.DecodeStatus([]byte(t.Message))
	return ok && status.LeaseLost
}

// failedInit returns the status of the first init container that failed, and false if there is none.
func failedInit(p *corev1.Pod) (corev1.ContainerStatus, bool) {
	for _, s := range p.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && t.Reason != statusUnknown {
			return s, true
		}
	}
	return corev1.ContainerStatus{}, false
}

// statusAtEnd returns the executor's final status, completed with what the kubelet knows. Without the container's end
// t, the status holds only the folder and the cause. If cause is not empty, it replaces the executor's cause, because
// the executor does not know what ended its container from outside.
func statusAtEnd(p *corev1.Pod, t *corev1.ContainerStateTerminated, cause string) *wire.Status {
	var status wire.Status
	var ok bool
	if t != nil {
		status, ok = wire.DecodeStatus([]byte(t.Message))
		beforeRun := ok && status.StartTime.IsZero() &&
			(status.Phase == wire.PhaseFetch || status.Phase == wire.PhaseUnpack || status.Phase == wire.PhaseStart)
		if !ok && t.ExitCode != 0 {
			status.Cause = causeOf("its container", t)
		}
		if !beforeRun {
			if status.ExitStatus == nil && status.Signal == "" {
				exit := int(t.ExitCode)
				status.ExitStatus = &exit
			}
			if status.StartTime.IsZero() {
				status.StartTime = t.StartedAt.UTC()
			}
			if status.CompleteTime.IsZero() {
				status.CompleteTime = t.FinishedAt.UTC()
			}
		}
	}
	if cause != "" {
		status.Cause = cause
	}
	status.Dir = folderOf(p)
	return &status
}

// memoryLimit returns the memory limit of the shard's container, or "" if it has none.
func memoryLimit(p *corev1.Pod) string {
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == Container && !c.Resources.Limits.Memory().IsZero() {
			return c.Resources.Limits.Memory().String()
		}
	}
	return ""
}
