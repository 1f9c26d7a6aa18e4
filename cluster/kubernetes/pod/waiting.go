package pod

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// permanentProblems and temporaryProblems are reasons why a container waits. A permanent problem remains for the life
// of the pod. A temporary one may resolve by itself.
var (
	permanentProblems = map[string]bool{"InvalidImageName": true, "ErrImageNeverPull": true}
	temporaryProblems = map[string]bool{
		"ErrImagePull": true, "ImagePullBackOff": true, "ImageInspectError": true, "RegistryUnavailable": true,
		"SignatureValidationFailed":  true,
		"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
		"PreStartHookError": true,
	}
)

// A problem may last for startTimeout if an image cannot be pulled or a container cannot be created, and for
// readyTimeout if the volumes or the network cannot be set up, because these depend on more components.
const (
	startTimeout = 30 * time.Second
	readyTimeout = 5 * time.Minute
	// reportAfter is how long volumes or network may be missing before an update says so. Every pod begins without
	// them.
	reportAfter = 10 * time.Second
)

// StartProblem is what prevents the shard's container from starting. The zero value means that there is no problem.
type StartProblem struct {
	// Why describes the problem, with the kubelet's message if there is one.
	Why string
	// Within is how long the problem may last; 0 if waiting cannot help.
	Within time.Duration
	// Since is the earliest time at which the problem can have begun, by the cluster's clocks and not before the pod's
	// creation. SinceExact is set if the problem began at exactly that time.
	Since      time.Time
	SinceExact bool
}

// StartProblemOf returns the problem that prevents the shard's container from starting. It considers the init
// containers and the shard's container, but not the others that a webhook may have added. It returns no problem once
// the shard's container has started, nor for a pod that is unbound, is being deleted or has ended.
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
			Within: readyTimeout, Since: later(p.CreationTimestamp.Time, c.LastTransitionTime.Time),
			SinceExact: true,
		}
	}
	return StartProblem{}
}

// startable returns the time from which only the image can have prevented a pod's next container from starting: its
// volumes and network were ready, and the preceding init containers had ended.
func startable(p *corev1.Pod) time.Time {
	since := p.CreationTimestamp.Time
	if c := readyToStart(p); c != nil {
		since = later(since, c.LastTransitionTime.Time)
	}
	for i := range p.Status.InitContainerStatuses {
		switch s := &p.Status.InitContainerStatuses[i].State; {
		case s.Terminated != nil:
			since = later(since, s.Terminated.FinishedAt.Time)
		case s.Running != nil: // a sidecar, which need not end before the next container starts
			since = later(since, s.Running.StartedAt.Time)
		}
	}
	return since
}

// readyToStart returns the condition that says whether a pod's volumes and network are ready; nil if it is missing.
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

// startMessage describes the problem that prevents a pod from starting. It returns "" if there is none, or if only
// volumes or network have been missing for less than reportAfter.
func startMessage(p *corev1.Pod, problemFor time.Duration) string {
	t := StartProblemOf(p)
	if t.Within == readyTimeout && problemFor < reportAfter {
		return ""
	}
	return t.Why
}

// Gist returns a message without digits. Messages with the same gist say the same: kubelets count attempts and seconds
// in their messages.
func Gist(words string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, words)
}
