package pod

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// hopeless are the reasons of waiting containers that nothing but another pod can change, troubled those that may heal
// by themselves.
var (
	hopeless = map[string]bool{"InvalidImageName": true, "ErrImageNeverPull": true}
	troubled = map[string]bool{
		"ErrImagePull": true, "ImagePullBackOff": true, "ImageInspectError": true, "RegistryUnavailable": true,
		"SignatureValidationFailed":  true,
		"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
		"PreStartHookError": true,
	}
)

// How long what keeps containers from starting may heal: an image that can't be pulled, and a pod whose volumes or
// network can't be made, for which much more has to be there.
const (
	startWithin = 30 * time.Second
	readyWithin = 5 * time.Minute
	// toldAfter is after what part of readyWithin it is worth a word: each pod begins so.
	toldAfter = 10 * time.Second
)

// Trouble is what keeps the shard's container from starting. The zero value is for nothing.
type Trouble struct {
	// Why is in the words of the kubelet.
	Why string
	// Within is for how long it may be so, 0 where waiting won't help.
	Within time.Duration
	// Since is the earliest moment at which it can have begun, by the cluster's clocks and never before the pod was
	// created. It is when it began if Known.
	Since time.Time
	Known bool
}

// TroubleOf is what keeps a pod from starting. What a webhook adds beside the shard's container does not; and once
// that runs, nothing does any more.
func TroubleOf(p *corev1.Pod) Trouble {
	shard := statusOf(p.Status.ContainerStatuses, Container)
	if Over(p) || p.DeletionTimestamp != nil || p.Spec.NodeName == "" || shard.State.Running != nil ||
		shard.State.Terminated != nil {
		return Trouble{}
	}
	for _, s := range append(slices.Clone(p.Status.InitContainerStatuses), shard) {
		w := s.State.Waiting
		if w == nil || !hopeless[w.Reason] && !troubled[w.Reason] {
			continue
		}
		why := strings.TrimSpace("container " + s.Name + " can't be started: " + w.Reason + ": " + w.Message)
		t := Trouble{Why: why, Within: startWithin, Since: startable(p)}
		if hopeless[w.Reason] || strings.Contains(w.Message, "runAsNonRoot") {
			t.Within = 0
		}
		return t
	}
	if c := readyToStart(p); c != nil && c.Status == corev1.ConditionFalse && !Began(p) {
		return Trouble{
			Why: fmt.Sprintf("its node can't make its volumes or its network: "+
				"kubectl -n %s get events --field-selector involvedObject.name=%s says more", p.Namespace, p.Name),
			Within: readyWithin, Since: later(p.CreationTimestamp.Time, c.LastTransitionTime.Time), Known: true,
		}
	}
	return Trouble{}
}

// startable is since when nothing but their image has kept a pod's containers from starting: since its volumes and
// its network are there, and the containers before them have ended.
func startable(p *corev1.Pod) time.Time {
	since := p.CreationTimestamp.Time
	if c := readyToStart(p); c != nil {
		since = later(since, c.LastTransitionTime.Time)
	}
	for i := range p.Status.InitContainerStatuses {
		switch s := &p.Status.InitContainerStatuses[i].State; {
		case s.Terminated != nil:
			since = later(since, s.Terminated.FinishedAt.Time)
		case s.Running != nil: // it goes on beside them
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

// waits says in words what the start of a pod waits for, as far as that is worth a word.
func waits(p *corev1.Pod, troubled time.Duration) string {
	t := TroubleOf(p)
	if t.Within == readyWithin && troubled < toldAfter {
		return ""
	}
	return t.Why
}

// Gist is what has to change of the words about a pod for them to be news: all but digits, by which kubelets count
// tries and seconds.
func Gist(words string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, words)
}
