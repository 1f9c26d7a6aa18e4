package pod

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// These reasons occur only in updates from Kubernetes.
const (
	// ReasonDeleted means that the pod was deleted, by the scheduler or by another client. ReasonDisrupted means that
	// the cluster ended or rejected the pod: by an eviction or a preemption, or because its node shut down.
	ReasonDeleted   cluster.Reason = "POD_DELETED"
	ReasonDisrupted cluster.Reason = "POD_DISRUPTED"
	// ReasonRefused means that the node rejected the pod. ReasonDeadline means that it ran longer than its template
	// allows.
	ReasonRefused  cluster.Reason = "POD_REFUSED"
	ReasonDeadline cluster.Reason = "POD_DEADLINE_EXCEEDED"
)

// Circumstances are facts about a pod that the pod object itself does not contain.
type Circumstances struct {
	// NotReady is the time since which the pod's node has not been ready; zero if the node is ready.
	NotReady time.Time
	// NoNode is set if the API has no object for the pod's node.
	NoNode bool
	// ProblemFor is how long the problem that StartProblemOf returns has existed.
	ProblemFor time.Duration
	// Removed is set if the pod is no longer in the API.
	Removed bool
}

// folderOf returns the path under which the output of a pod's task is read. It contains the UID, so it is never
// reused.
func folderOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name + "/" + string(p.UID) }

// Report converts the state of a pod into an update of its task. For a pod that was never bound there is no update, and
// bound is false. The same state of the same pod always yields the same UUID. The updates GONE_BY_OPERATOR and
// UNREACHABLE have no UUID, because the pod's node reports neither.
//
// An update's source is the agent if the kubelet reports the state, the executor if the shard's own container does,
// and the master if neither can report anything. The source matters when a task ends: from an end with the source agent
// after a STARTING in the phase FETCH, the core concludes that the task never began.
func Report(p *corev1.Pod, c Circumstances) (u cluster.Update, bound bool) {
	if p.Spec.NodeName == "" {
		return u, false
	}
	u = cluster.Update{TaskID: TaskOf(p), AgentID: p.Spec.NodeName, Source: cluster.FromAgent}
	shard := statusOf(p.Status.ContainerStatuses, Container)
	switch {
	case ended(p, shard) && !c.mayRun(p, shard):
		setEnd(p, shard.State.Terminated, &u)
	case c.Removed:
		u.State, u.Source, u.Reason = cluster.GoneByOperator, cluster.FromMaster, cluster.ReasonTaskRemoved
		u.Message = "its pod " + p.Name +
			" was removed from the API before it had ended: manually, or because its node was removed"
		return u, true
	case !c.NotReady.IsZero():
		u.State, u.Source, u.UnreachableSince = cluster.Unreachable, cluster.FromMaster, c.NotReady
		// A kubelet that receives a pod which is being deleted or has ended creates no container for it.
		u.KillStored = p.DeletionTimestamp != nil || Ended(p)
		u.Message = "node " + u.AgentID + " is not ready"
		return u, true
	case shard.State.Running != nil:
		u.State, u.Source, u.Timestamp = cluster.Running, cluster.FromExecutor, shard.State.Running.StartedAt.UTC()
		u.Status = &wire.Status{Phase: wire.PhaseRun, Dir: folderOf(p)}
	default:
		u.State, u.Message = cluster.Starting, startMessage(p, c.ProblemFor)
		u.Status = &wire.Status{Phase: wire.PhaseFetch, Dir: folderOf(p)}
	}
	// A component other than the kubelet marked the pod as failed. If the kubelet is alive, it ends the container now,
	// so the container may still run for a moment.
	if u.State == cluster.Lost && shard.State.Terminated == nil {
		u.Source, u.Reason = cluster.FromMaster, cluster.ReasonTaskRemoved
	}
	u.UUID = uuid(p, u)
	return u, true
}

// uuid returns an update's UUID, which is the same for repeated updates of one state. All terminal states have the same
// UUID, because a pod ends only once. A different reason for not starting counts as a new state.
func uuid(p *corev1.Pod, u cluster.Update) []byte {
	identity := string(p.UID) + "/" + string(u.State)
	switch {
	case u.State.Terminal():
		identity = string(p.UID) + "/END"
	case u.State == cluster.Starting && u.Message != "":
		identity += "/" + Gist(u.Message)
	}
	sum := sha256.Sum256([]byte(identity))
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

// began reports whether a container was ever started. If the runtime failed to start it, began returns false only if
// the runtime's message proves that nothing ran.
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

// nothingStarted are parts of a container runtime's errors which prove that nothing ran in the container.
// connectionLost are parts of errors about a lost connection to the runtime, which may have started the container.
var (
	nothingStarted = []string{"oci runtime create failed", "runc create failed", "executable file not found",
		"no such file", "permission denied", "exec format error", "is a directory", "not a directory"}
	connectionLost = []string{"ttrpc", "dial unix", "deadline exceeded", "context canceled", "unavailable", "transport",
		"shim exited"}
)

// messageUnreadable begins the text that a kubelet appends if it could not read a termination message, for example
// because there is no such file.
const messageUnreadable = "Error on reading termination "

// nothingRan reports whether a runtime's message proves that nothing ran in a container that could not be started.
func nothingRan(message string) bool {
	message, _, _ = strings.Cut(message, messageUnreadable)
	containsAny := func(parts []string) bool {
		return slices.ContainsFunc(parts,
			func(part string) bool { return strings.Contains(strings.ToLower(message), part) })
	}
	return containsAny(nothingStarted) && !containsAny(connectionLost)
}

// reportedByKubelet reports whether the kubelet itself reported how a pod ended. Other components also mark pods as
// failed: the garbage collector does so for pods of removed nodes. The kubelet may have started the containers of such
// a pod in the last seconds and not have reported that yet.
func reportedByKubelet(p *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	if t != nil || p.Status.Reason != "" && p.Status.Reason != nodeLost {
		return true
	}
	return slices.ContainsFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
	})
}

// mayRun reports whether the shard's container may still run although its pod was marked as failed: another component
// than the kubelet did that, and the node is not ready, so that its kubelet does not end the container now. The garbage
// collector marks only pods whose node was removed, or is out of service according to an operator.
func (c Circumstances) mayRun(p *corev1.Pod, shard corev1.ContainerStatus) bool {
	if c.NotReady.IsZero() || c.NoNode || c.Removed || reportedByKubelet(p, shard.State.Terminated) {
		return false
	}
	return !slices.ContainsFunc(p.Status.Conditions, func(d corev1.PodCondition) bool {
		return d.Type == corev1.DisruptionTarget && d.Status == corev1.ConditionTrue && d.Reason == deletionByPodGC
	})
}

// deletionByPodGC is the reason of the garbage collector's condition of pods that it is about to remove.
const deletionByPodGC = "DeletionByPodGC"

// nodeLost is the reason that a controller gives pods whose kubelet is silent.
const nodeLost = "NodeLost"

// startUnknown reports whether the container runtime says that a container has ended, but not when it started. That
// happens if the runtime is killed while it starts the container. If the executor wrote a status, the container was
// started, and startUnknown returns false.
func startUnknown(t *corev1.ContainerStateTerminated) bool {
	_, status := wire.DecodeStatus([]byte(t.Message))
	return !status && !t.StartedAt.IsZero() && t.StartedAt.Unix() == 0
}

// isUnknown reports whether it is unknown how a container ended or whether it was started; why explains that. t is nil
// if the container has no end. For a container that the runtime could not start, isUnknown returns true even if nothing
// ran in it; began makes that distinction.
func isUnknown(t *corev1.ContainerStateTerminated, node string) (why string, unknown bool) {
	switch {
	case t == nil:
		return "its pod was marked as failed, and its kubelet has not said how its container ended", true
	case notStarted(t):
		return "it is not known whether its container was started (" + t.Reason + "): " + t.Message, true
	case startUnknown(t):
		return fmt.Sprintf("it is not known whether its container was started, which is said to have ended with "+
			"status %d: the container runtime of %s was probably killed at that moment", t.ExitCode, node), true
	case t.Reason == statusUnknown, t.Reason == "Unknown" && t.ExitCode == 255:
		return "the kubelet of " + node +
			" no longer knows how its container ended: the machine or its container runtime was probably " +
			"restarted", true
	}
	return "", false
}

// statusOf returns the status of a container, or an empty status if there is none.
func statusOf(all []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return all[i]
		}
	}
	return corev1.ContainerStatus{Name: name}
}
