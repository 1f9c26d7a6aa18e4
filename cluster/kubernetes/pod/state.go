package pod

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// The reasons of updates that only Kubernetes has.
const (
	// ReasonDeleted means that the pod was deleted, and not by the scheduler. ReasonDisrupted means that it was
	// evicted or preempted, or that its node shut down.
	ReasonDeleted   cluster.Reason = "POD_DELETED"
	ReasonDisrupted cluster.Reason = "POD_DISRUPTED"
	// ReasonRefused means that the node rejected the pod. ReasonDeadline means that it ran longer than its template
	// allows.
	ReasonRefused  cluster.Reason = "POD_REFUSED"
	ReasonDeadline cluster.Reason = "POD_DEADLINE_EXCEEDED"
)

// Circumstances are facts about a pod that the pod object itself does not contain.
type Circumstances struct {
	// NotReady is since when the pod's node has not been ready; zero if it is ready.
	NotReady time.Time
	// ProblemFor is for how long the pod's containers could not be started.
	ProblemFor time.Duration
	// Removed is set if the pod is no longer in the API.
	Removed bool
}

// folderOf returns the path under which the output of a pod's task is read. It contains the UID, so it is never
// reused.
func folderOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name + "/" + string(p.UID) }

// Report converts the state of a pod into an update of its task. bound is false for a pod that was never bound, which
// has no update. The same state of the same pod always yields the same UUID.
//
// An update's source is the agent if the kubelet reports the state, the executor if the shard's own container does,
// and the master if neither can report anything. The kubelet's report is enough for a task that has not begun: from an
// end with the source agent after a STARTING in the phase FETCH, the core concludes that the task never began.
func Report(p *corev1.Pod, c Circumstances) (u cluster.Update, bound bool) {
	if p.Spec.NodeName == "" {
		return u, false
	}
	u = cluster.Update{TaskID: TaskOf(p), AgentID: p.Spec.NodeName, Source: cluster.FromAgent}
	shard := statusOf(p.Status.ContainerStatuses, Container)
	switch {
	case ended(p, shard):
		end(p, shard.State.Terminated, c, &u)
	case c.Removed:
		u.State, u.Source, u.Reason = cluster.GoneByOperator, cluster.FromMaster, cluster.ReasonTaskRemoved
		u.Message = "its pod " + p.Name +
			" was removed from the API before it had ended: manually, or because its node was removed"
		return u, true
	case !c.NotReady.IsZero():
		u.State, u.Source, u.UnreachableSince = cluster.Unreachable, cluster.FromMaster, c.NotReady
		// A kubelet that receives a pod in this state creates no container for it.
		u.KillStored = p.DeletionTimestamp != nil
		u.Message = "node " + u.AgentID + " is not ready"
		return u, true
	case shard.State.Running != nil:
		u.State, u.Source, u.Timestamp = cluster.Running, cluster.FromExecutor, shard.State.Running.StartedAt.UTC()
		u.Status = &wire.Status{Phase: wire.PhaseRun, Dir: folderOf(p)}
	default:
		u.State, u.Message = cluster.Starting, startMessage(p, c.ProblemFor)
		u.Status = &wire.Status{Phase: wire.PhaseFetch, Dir: folderOf(p)}
	}
	// Another component wrote its end. Its kubelet may be alive, and then ends it now.
	if u.State == cluster.Lost && shard.State.Terminated == nil {
		u.Source, u.Reason = cluster.FromMaster, cluster.ReasonTaskRemoved
	}
	u.UUID = uuid(p, u)
	return u, true
}

// uuid makes repeated states equal. A pod has one end. A different reason for not starting is a new state.
func uuid(p *corev1.Pod, u cluster.Update) []byte {
	of := string(p.UID) + "/" + string(u.State)
	switch {
	case u.State.Terminal():
		of = string(p.UID) + "/END"
	case u.State == cluster.Starting && u.Message != "":
		of += "/" + Gist(u.Message)
	}
	sum := sha256.Sum256([]byte(of))
	return sum[:16]
}

// ended reports whether a task has ended, because its container or its pod has.
func ended(p *corev1.Pod, shard corev1.ContainerStatus) bool {
	return Ended(p) || shard.State.Terminated != nil && shard.State.Terminated.Reason != statusUnknown
}

// statusUnknown is the kubelet's reason for a container that it no longer finds or never created.
const statusUnknown = "ContainerStatusUnknown"

// Began reports whether the shard's own container was ever started, according to the pod's status.
func Began(p *corev1.Pod) bool { return began(statusOf(p.Status.ContainerStatuses, Container)) }

func began(s corev1.ContainerStatus) bool {
	switch t := s.State.Terminated; {
	case s.State.Running != nil:
		return true
	case t == nil:
		return s.ContainerID != ""
	case notStarted(t):
		return !nothingRan(t.Message)
	default:
		return t.ContainerID != "" || s.ContainerID != "" || t.StartedAt.Unix() > 0
	}
}

// notStarted reports whether the container runtime told the kubelet that the container could not be started.
func notStarted(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "StartError" || t.Reason == "ContainerCannotRun"
}

// nothingStarted are error texts of container runtimes which prove that nothing ran in the container. connectionLost
// are error texts for a lost connection to the container, which may then have been started.
var (
	nothingStarted = []string{"oci runtime create failed", "runc create failed", "executable file not found",
		"no such file", "permission denied", "exec format error", "is a directory", "not a directory"}
	connectionLost = []string{"ttrpc", "dial unix", "deadline exceeded", "context canceled", "unavailable", "transport",
		"shim exited"}
)

// messageUnreadable begins the text that a kubelet appends if it could not read a termination message, for example
// because there is no such file.
const messageUnreadable = "Error on reading termination "

func nothingRan(message string) bool {
	message, _, _ = strings.Cut(message, messageUnreadable)
	within := func(words []string) bool {
		return slices.ContainsFunc(words,
			func(word string) bool { return strings.Contains(strings.ToLower(message), word) })
	}
	return within(nothingStarted) && !within(connectionLost)
}

// reportedByKubelet reports whether the kubelet itself reported how a pod ended. Other components also mark pods as
// failed: the garbage collector does so for pods of removed nodes. A kubelet may have started their containers a
// second or two before it would have reported that.
func reportedByKubelet(p *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	if t != nil || p.Status.Reason != "" && p.Status.Reason != nodeLost {
		return true
	}
	return slices.ContainsFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
	})
}

// nodeLost is the reason that a controller gives pods whose kubelet is silent.
const nodeLost = "NodeLost"

// startUnknown reports whether a container runtime says that a container has ended but not when it started. The
// runtime was then killed in between. A status that the executor wrote takes precedence.
func startUnknown(t *corev1.ContainerStateTerminated) bool {
	_, status := wire.DecodeStatus([]byte(t.Message))
	return !status && !t.StartedAt.IsZero() && t.StartedAt.Unix() == 0
}

// isUnknown reports whether it is unknown how, or whether, a container ended; why explains that.
func isUnknown(t *corev1.ContainerStateTerminated, node string) (why string, unknown bool) {
	switch {
	case t == nil:
		return "its pod was marked as failed, and its kubelet has not said how its container ended", true
	case notStarted(t):
		return "it is not known whether its container was started (" + t.Reason + "): " + t.Message, true
	case startUnknown(t):
		return fmt.Sprintf("it is not known whether its container was started, which is said to have ended with status %d: the container runtime of %s was probably killed at that moment", t.ExitCode, node), true
	case t.Reason == statusUnknown, t.Reason == "Unknown" && t.ExitCode == 255:
		return "the kubelet of " + node +
			" no longer knows how its container ended: the machine or its container runtime was probably restarted", true
	}
	return "", false
}

func statusOf(all []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return all[i]
		}
	}
	return corev1.ContainerStatus{Name: name}
}

// end sets in u how a pod has ended. t is the end of the shard's own container; nil if it has none.
func end(p *corev1.Pod, t *corev1.ContainerStateTerminated, c Circumstances, u *cluster.Update) {
	shard := statusOf(p.Status.ContainerStatuses, Container)
	if t != nil {
		u.Timestamp = t.FinishedAt.UTC()
	}
	disrupted, disruption := disruption(p)
	switch why, unknown := isUnknown(t, u.AgentID); {
	case t != nil && t.ExitCode == 0 && !unknown, t == nil && p.Status.Phase == corev1.PodSucceeded:
		u.State, u.Source, u.Status = cluster.Finished, cluster.FromExecutor, statusAtEnd(p, t, "")
	case p.Status.Reason == "DeadlineExceeded":
		// The source is the executor, so that the task counts as failed by itself (rule E3), like a process that ran
		// for too long.
		u.State, u.Source, u.Reason, u.Message = cluster.Failed, cluster.FromExecutor, ReasonDeadline, p.Status.Message
		u.Status = statusAtEnd(p, t, "its pod was active for longer than activeDeadlineSeconds of its template allows")
	case p.Status.Reason == "Evicted" && !strings.HasPrefix(p.Status.Message, "The node") && began(shard):
		// The kubelet evicts pods because the node lacks a resource, or because one pod exceeds its own disk limits.
		// It also refuses pods when the node lacks a resource.
		u.State, u.Reason, u.Message = cluster.Failed, cluster.ReasonContainerDisk, strings.TrimSpace(p.Status.Message)
		u.Status = statusAtEnd(p, t, u.Message)
	case reportedByKubelet(p, t) && !began(shard):
		neverBegan(p, t, c, u)
	case disrupted || unknown:
		// The source is the executor if the container has an end, whose data says whether the process began. Otherwise
		// it is the master, because a silent executor has not said that nothing began.
		u.State, u.Source, u.Message = cluster.Lost, cluster.FromExecutor, why
		if disrupted {
			u.Reason, u.Message = ReasonDisrupted, disruption
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

// endOf describes how a container ended.
func endOf(what string, t *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("%s ended with status %d (%s)", what, t.ExitCode, t.Reason)
}

// causeOf returns the cause in a termination message that the executor did not write, or "" if the message is empty.
// Either the job wrote it, or it is the end of the output of a container in which the executor could not be executed,
// and holds the container runtime's error.
func causeOf(what string, t *corev1.ContainerStateTerminated) string {
	words := strings.TrimSpace(t.Message)
	if words == "" {
		return ""
	}
	return endOf(what, t) + ": " + words
}

// neverBegan sets in u why a pod ended whose shard's container was not started.
func neverBegan(p *corev1.Pod, t *corev1.ContainerStateTerminated, c Circumstances, u *cluster.Update) {
	prepare, failed := failedInit(p)
	// A pod that started while it was being given up has the annotation but was not deleted.
	givenUp := p.DeletionTimestamp != nil && p.Annotations[AnnotationGivenUp] != ""
	switch disrupted, why := disruption(p); {
	case givenUp:
		startFailed(p, p.Annotations[AnnotationGivenUp], u)
	case p.DeletionTimestamp != nil:
		u.State, u.Reason, u.Message = cluster.Killed, cluster.ReasonKilledDuringLaunch,
			"its pod was deleted before its container was started"
	case disrupted:
		u.State, u.Reason, u.Message = cluster.Dropped, ReasonDisrupted, why
	case t != nil && t.Reason != statusUnknown:
		startFailed(p, fmt.Sprintf("its container could not be started (%s): %s", t.Reason, t.Message), u)
	case failed && prepare.State.Terminated.Reason == "OOMKilled":
		u.State, u.Reason, u.Message = cluster.Failed, cluster.ReasonContainerMemory,
			"the init container "+prepare.Name+" was killed (OOMKilled)"
		u.Status = &wire.Status{Phase: wire.PhaseFetch, Dir: folderOf(p),
			Cause: "over the memory limit of its container: " + u.Message}
	case failed:
		ended := prepare.State.Terminated
		u.State, u.Source, u.Timestamp = cluster.Failed, cluster.FromExecutor, ended.FinishedAt.UTC()
		u.Message = endOf("the init container "+prepare.Name, ended)
		status, ok := wire.DecodeStatus([]byte(ended.Message))
		if !ok {
			status = wire.Status{Phase: wire.PhaseFetch,
				Cause: cmp.Or(causeOf("the init container "+prepare.Name, ended), u.Message)}
		}
		status.Dir, status.StartTime = folderOf(p), time.Time{}
		u.Status = &status
	default:
		u.State, u.Reason = cluster.Dropped, ReasonRefused
		u.Message = strings.TrimSpace(fmt.Sprintf("node %s rejected its pod: %s: %s", u.AgentID, p.Status.Reason,
			p.Status.Message))
	}
}

// startFailed sets in u that an image could not be pulled or a container could not be created from it (rule L6).
func startFailed(p *corev1.Pod, why string, u *cluster.Update) {
	u.State, u.Source, u.Reason, u.Message = cluster.Failed, cluster.FromAgent, cluster.ReasonContainerLaunchFailed,
		why
	u.Status = &wire.Status{Phase: wire.PhaseFetch, Dir: folderOf(p), Cause: why}
	u.UUID = uuid(p, *u)
}

// wasDeleted reports whether a container ended because its pod was deleted, by the scheduler or by someone else. The
// exit status shows that: the container ended by a signal, or with the status of an executor that was killed.
// Timestamps do not show it, because the end is by the node's clock.
func wasDeleted(p *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	return p.DeletionTimestamp != nil && t.ExitCode >= 128
}

// statusKilled is the exit status of an executor whose task ended because of a kill.
const statusKilled = 143

// drained reports whether a daemon's shard ended because it was asked to drain.
func drained(p *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	return p.Annotations[AnnotationDrain] != "" && t.ExitCode == statusKilled
}

// disruption returns whether the cluster itself ended a pod, and why.
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

// failedInit returns the first init container that failed.
func failedInit(p *corev1.Pod) (corev1.ContainerStatus, bool) {
	for _, s := range p.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && t.Reason != statusUnknown {
			return s, true
		}
	}
	return corev1.ContainerStatus{}, false
}

// statusAtEnd returns the executor's final status, completed with what the kubelet knows. cause, if not "", replaces
// the executor's cause, because the executor does not know what ended its container from outside.
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

func memoryLimit(p *corev1.Pod) string {
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == Container && !c.Resources.Limits.Memory().IsZero() {
			return c.Resources.Limits.Memory().String()
		}
	}
	return ""
}
