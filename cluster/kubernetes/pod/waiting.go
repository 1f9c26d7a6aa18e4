package pod

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// hopeless are the reasons of waiting containers that nothing but another pod can change, troubled those that may heal by themselves.
var (
	hopeless = map[string]bool{"InvalidImageName": true, "ErrImageNeverPull": true}
	troubled = map[string]bool{
		"ErrImagePull": true, "ImagePullBackOff": true, "ImageInspectError": true, "RegistryUnavailable": true, "SignatureValidationFailed": true,
		"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true, "PreStartHookError": true,
	}
)

// How long what keeps containers from starting may heal: an image that can't be pulled, and a pod whose volumes or network can't be made,
// for which much more has to be there.
const (
	startWithin = 30 * time.Second
	readyWithin = 5 * time.Minute
	// toldAfter is after what part of readyWithin it is worth a word: each pod begins so.
	toldAfter = 10 * time.Second
)

// Trouble is why the shard's container does not start, in the words of the kubelet, "" if nothing keeps it; within is for how long it may be so,
// 0 where waiting won't help. What a webhook adds beside that container does not keep it from starting; and once it runs, nothing does any more.
func Trouble(p *corev1.Pod) (why string, within time.Duration) {
	shard := statusOf(p.Status.ContainerStatuses, Container)
	if Over(p) || p.DeletionTimestamp != nil || p.Spec.NodeName == "" || shard.State.Running != nil || shard.State.Terminated != nil {
		return "", 0
	}
	for _, s := range append(slices.Clone(p.Status.InitContainerStatuses), shard) {
		w := s.State.Waiting
		if w == nil || !hopeless[w.Reason] && !troubled[w.Reason] {
			continue
		}
		why = strings.TrimSpace("container " + s.Name + " can't be started: " + w.Reason + ": " + w.Message)
		if hopeless[w.Reason] || strings.Contains(w.Message, "runAsNonRoot") {
			return why, 0
		}
		return why, startWithin
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse && !Began(p) {
			return fmt.Sprintf("its node can't make its volumes or its network: kubectl -n %s get events --field-selector involvedObject.name=%s says more", p.Namespace, p.Name), readyWithin
		}
	}
	return "", 0
}

// waits says in words what the start of a pod waits for, as far as that is worth a word.
func waits(p *corev1.Pod, troubled time.Duration) string {
	why, within := Trouble(p)
	if within == readyWithin && troubled < toldAfter {
		return ""
	}
	return why
}

// Gist is what has to change of the words about a pod for them to be news: all but digits, by which kubelets count tries and seconds.
func Gist(words string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, words)
}
