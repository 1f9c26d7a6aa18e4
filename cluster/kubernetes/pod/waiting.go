package pod

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// permanentProblems are reasons of waiting containers that only a different pod can resolve. temporaryProblems are
// reasons that may resolve by themselves.
var (
	permanentProblems = map[string]bool{"InvalidImageName": true, "ErrImageNeverPull": true}
	temporaryProblems = map[string]bool{
		"ErrImagePull": true, "ImagePullBackOff": true, "ImageInspectError": true, "RegistryUnavailable": true,
		"SignatureValidationFailed":  true,
		"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
		"PreStartHookError": true,
	}
)

// These limits say how long an obstacle to starting may last: startTimeout for an image that cannot be pulled,
// readyTimeout for volumes or network that cannot be set up, which depend on more components.
const (
	startTimeout = 30 * time.Second
	readyTimeout = 5 * time.Minute
	// reportAfter is how long such volumes or network may be missing before it is reported, because every pod begins
	// in that state.
	reportAfter = 10 * time.Second
)

// StartProblem is what prevents the shard's container from starting. The zero value means nothing does.
type StartProblem struct {
	// Why is the kubelet's message.
	Why string
	// Within is how long the problem may last; 0 if waiting cannot help.
	Within time.Duration
	// Since is the earliest time at which the problem can have begun, by the cluster's clocks and not before the pod's
	// creation. It is the exact time if Known is set.
	Since time.Time
	Known bool
}

// StartProblemOf returns what prevents a pod from starting. Containers that a webhook added are ignored, and so is
// everything once the shard's container runs.
func StartProblemOf(p *corev1.Pod) StartProblem {
	shard := statusOf(p.Status.ContainerStatuses, Container)
	if Ended(p) || p.DeletionTimestamp != nil || p.Spec.NodeName == "" || shard.State.Running != nil ||
		shard.State.Terminated != nil {
		return StartProblem{}
	}
	for _, s := range append(slices.Clone(p.Status.InitContainerStatuses), shard) {
		w := s.State.Waiting
		if w == nil || !permanentProblems[w.Reason] && !temporaryProblems[w.Reason] {
			continue
		}
		why := strings.TrimSpace("container " + s.Name + " can't be started: " + w.Reason + ": " + w.Message)
		t := StartProblem{Why: why, Within: startTimeout, Since: startable(p)}
		if permanentProblems[w.Reason] || strings.Contains(w.Message, "runAsNonRoot") {
			t.Within = 0
		}
		return t
	}
	if c := readyToStart(p); c != nil && c.Status == corev1.ConditionFalse && !Began(p) {
		return StartProblem{
			Why: fmt.Sprintf("its node can't set up its volumes or its network: "+
				"kubectl -n %s get events --field-selector involvedObject.name=%s says more", p.Namespace, p.Name),
			Within: readyTimeout, Since: later(p.CreationTimestamp.Time, c.LastTransitionTime.Time), Known: true,
		}
	}
	return StartProblem{}
}

// startable returns since when only the image can have kept a pod's containers from starting: the time from which its
// volumes and network are ready and the preceding init containers have ended.
func startable(p *corev1.Pod) time.Time {
	since := p.CreationTimestamp.Time
	if c := readyToStart(p); c != nil {
		since = later(since, c.LastTransitionTime.Time)
	}
	for i := range p.Status.InitContainerStatuses {
		switch s := &p.Status.InitContainerStatuses[i].State; {
		case s.Terminated != nil:
			since = later(since, s.Terminated.FinishedAt.Time)
		case s.Running != nil: // a sidecar, which runs beside them
			since = later(since, s.Running.StartedAt.Time)
		}
	}
	return since
}

func readyToStart(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReadyToStartContainers {
			return c
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// startMessage describes what the start of a pod waits for, or returns "" if that is not worth reporting.
func startMessage(p *corev1.Pod, problemFor time.Duration) string {
	t := StartProblemOf(p)
	if t.Within == readyTimeout && problemFor < reportAfter {
		return ""
	}
	return t.Why
}

// Gist returns a message without digits. Two messages with the same gist are the same news, because kubelets count
// attempts and seconds in their messages.
func Gist(words string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, words)
}
