package kubernetes

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// podRecord is what a session knows about a pod. For a pod that is not the framework's, this is only where the pod is
// and which resources it uses.
type podRecord struct {
	node string // "" while unbound
	// accountedNode is the node on whose account the pod's resources count.
	accountedNode string
	requests      resources.Amount
	ended         bool
	// pod is the pod, reduced to the fields that this package reads; nil if it does not belong to the framework.
	pod *corev1.Pod
	// reported is the last report of the pod that was sent.
	reported report
	// problemSince is since when the pod's containers cannot be started; zero if there is no such problem.
	// problemWithin is how long that is tolerated. givenUp is set when this session deletes the pod for that reason.
	problemSince  time.Time
	problemWithin time.Duration
	givenUp       bool
	// releasing is set when the finalizer is to be removed, because the core has committed that it knows the pod.
	releasing bool
	// endCommitted is when this session learned that the core has committed the pod's end; zero before.
	endCommitted time.Time
	// reconciled is set if the core has asked about the pod's task. endedBefore is set if the pod had ended before the
	// session began.
	reconciled, endedBefore bool
	// followed is set if the pod was reported to the Follower as running.
	followed bool
}

// report holds the properties by which two reports of a pod differ.
type report struct {
	state      cluster.State
	since      time.Time // of UNREACHABLE
	killStored bool      // of UNREACHABLE
	problem    string    // of STARTING: what the start waits for
}

func reportOf(u cluster.Update) report {
	r := report{state: u.State, since: u.UnreachableSince, killStored: u.KillStored}
	if u.State == cluster.Starting {
		r.problem = pod.Gist(u.Message)
	}
	return r
}

// launching is a pod that this session is about to create and bind, or has bound but not yet seen in the watch.
type launching struct {
	node     string
	requests resources.Amount
	// launched is set when its Launch has completed. listRequests is the number of pod lists that had been requested by
	// then.
	launched     bool
	listRequests int
}

// podStore passes pods from the watch to the session.
type podStore struct{ *session }

func (s podStore) put(object runtime.Object) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.pods[p.UID]
	if r == nil {
		r = &podRecord{}
		s.pods[p.UID] = r
	} else {
		s.addUsage(r.accountedNode, r.requests, r.ended, -1)
	}
	r.node, r.accountedNode, r.requests, r.ended = p.Spec.NodeName, pod.AccountedNode(p), pod.Requests(p), pod.Ended(p)
	s.addUsage(r.accountedNode, r.requests, r.ended, 1)
	if s.isPlaceholder(p) {
		s.putPlaceholder(p)
	}
	if !s.isOwn(p) && r.pod == nil {
		return
	}
	r.pod = s.trimOwn(r, p)
	if r.node != "" {
		s.tasks[pod.TaskOf(r.pod)] = p.UID
		s.removeLaunch(p.Name)
	} else if s.listed && s.launches[p.Name] == nil {
		s.unboundPods.put(r.pod)
	}
	s.reportPod(r)
}

func (s podStore) gone(object runtime.Object) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.pods[p.UID]; r != nil && r.pod != nil {
		r.pod = s.trimOwn(r, p)
	}
	s.removePod(p.UID)
}

func (s podStore) listing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listRequests++
}

func (s podStore) retain(uids map[types.UID]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.pods {
		if _, exists := uids[uid]; !exists {
			s.removePod(uid)
		}
	}
	for name, l := range s.launches {
		// A list that was requested after the Launch lacks the pod, so the pod is gone.
		if l.launched && l.listRequests < s.listRequests {
			s.removeLaunch(name)
		}
	}
}

// isOwn reports whether a pod belongs to a task of this framework id. A copy of such a pod under another name does not:
// the end of the copy says nothing about the task.
func (s *session) isOwn(p *corev1.Pod) bool {
	task := pod.TaskOf(p)
	return p.Namespace == s.namespace && p.Labels[pod.LabelFramework] == s.label && task != "" &&
		p.Name == pod.Name(task)
}

// trimOwn reduces one of the framework's pods to the fields that this package reads. If a user removed the labels and
// annotations that identify the pod, the recorded ones are kept, because the pod is still the task's pod and its end
// must still be reported.
func (s *session) trimOwn(r *podRecord, p *corev1.Pod) *corev1.Pod {
	own := trimmed(p)
	if !s.isOwn(p) {
		own.Labels, own.Annotations = r.pod.Labels, r.pod.Annotations
	}
	return own
}

// trimmed copies the fields of a pod that this package reads. The other fields would use memory for every pod that is
// kept for its output.
func trimmed(p *corev1.Pod) *corev1.Pod {
	t := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			CreationTimestamp: p.CreationTimestamp,
			DeletionTimestamp: p.DeletionTimestamp, DeletionGracePeriodSeconds: p.DeletionGracePeriodSeconds,
			Finalizers: p.Finalizers,
			Labels:     map[string]string{},
			Annotations: map[string]string{pod.AnnotationTask: p.Annotations[pod.AnnotationTask],
				pod.AnnotationJob: p.Annotations[pod.AnnotationJob]},
		},
		Spec:   corev1.PodSpec{NodeName: p.Spec.NodeName},
		Status: corev1.PodStatus{Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message},
	}
	if why := p.Annotations[pod.AnnotationGivenUp]; why != "" {
		t.Annotations[pod.AnnotationGivenUp] = why
	}
	if execution, ok := p.Labels[pod.LabelExecution]; ok {
		t.Labels[pod.LabelExecution] = execution
	}
	if daemon, ok := p.Labels[pod.LabelDaemon]; ok {
		t.Labels[pod.LabelDaemon], t.Spec.TerminationGracePeriodSeconds = daemon, p.Spec.TerminationGracePeriodSeconds
		if why := p.Annotations[pod.AnnotationDrain]; why != "" {
			t.Annotations[pod.AnnotationDrain] = why
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget || c.Type == corev1.PodReadyToStartContainers {
			t.Status.Conditions = append(t.Status.Conditions, c)
		}
	}
	t.Status.InitContainerStatuses, t.Status.ContainerStatuses = states(p.Status.InitContainerStatuses),
		states(p.Status.ContainerStatuses)
	for i := range p.Spec.Containers { // for the limit that a container exceeded
		if c := &p.Spec.Containers[i]; c.Name == pod.Container {
			t.Spec.Containers = []corev1.Container{{Name: c.Name,
				Resources: corev1.ResourceRequirements{Limits: c.Resources.Limits}}}
		}
	}
	return t
}

// states copies the fields of container statuses that this package reads.
func states(all []corev1.ContainerStatus) (trimmed []corev1.ContainerStatus) {
	for i := range all {
		trimmed = append(trimmed, corev1.ContainerStatus{Name: all[i].Name, State: all[i].State,
			ContainerID: all[i].ContainerID})
	}
	return trimmed
}

// addUsage adds a pod's resources to its node's account if sign is positive, and subtracts them otherwise.
func (s *session) addUsage(node string, requests resources.Amount, ended bool, sign int) {
	if node == "" || ended {
		return
	}
	a := s.accountOf(node)
	if sign > 0 {
		a.used = a.used.Plus(requests)
	} else {
		a.used = a.used.Minus(requests)
	}
	a.pods += sign
	s.offersChanged()
}

// removeLaunch removes a pod from the launches, because it appeared in the watch or was not created.
func (s *session) removeLaunch(name string) {
	if l := s.launches[name]; l != nil {
		s.addUsage(l.node, l.requests, false, -1)
		delete(s.launches, name)
	}
}

// removePod handles that a pod is no longer in the API. If the pod had ended before, its end is reported; otherwise an
// operator has removed it while its task was live.
func (s *session) removePod(uid types.UID) {
	r := s.pods[uid]
	if r == nil {
		return
	}
	s.addUsage(r.accountedNode, r.requests, r.ended, -1)
	delete(s.pods, uid)
	s.removePlaceholder(uid)
	if r.pod == nil {
		return
	}
	if u, bound := pod.Report(r.pod, s.circumstances(r, true)); bound {
		s.send(r, u)
	}
	if id := pod.TaskOf(r.pod); s.tasks[id] == uid {
		delete(s.tasks, id)
	}
	s.removeLaunch(r.pod.Name)
	s.follower.Gone(uid)
	s.keeper.Gone(uid)
}

// reportPod reports the state of one of the framework's pods if it has changed. It also tells the Follower when the pod
// runs and when it has ended.
func (s *session) reportPod(r *podRecord) {
	s.recordStartProblem(r)
	u, bound := pod.Report(r.pod, s.circumstances(r, false))
	if !bound || !s.listed {
		return // start reports the pods of the session's first list when the list is complete
	}
	s.send(r, u)
	switch {
	case u.State == cluster.Running && !r.followed:
		r.followed = true
		uid := r.pod.UID
		s.follower.Running(s.ctx, podOf(r.pod), func(e cluster.Event) { s.fromOutput(uid, e) })
	case u.State.Terminal() && r.followed:
		r.followed = false
		s.follower.Gone(r.pod.UID)
	}
}

// recordStartProblem records since when a pod cannot be started, by this scheduler's clock. The time comes from the
// pod's own timestamps if they give it exactly, or if the problem existed when the session began, so that a change of
// leaders does not give the pod more time.
func (s *session) recordStartProblem(r *podRecord) {
	problem := pod.StartProblemOf(r.pod)
	switch {
	case problem.Why == "":
		r.problemSince = time.Time{}
	case r.problemSince.IsZero() || r.problemWithin != problem.Within:
		r.problemSince, r.problemWithin = s.now(), problem.Within
		if since := problem.Since.Add(s.ahead); (problem.SinceExact || !s.listed) && since.Before(r.problemSince) {
			r.problemSince = since
		}
	}
}

// fromOutput passes on an event from a pod's output. The core takes an update as a sign that the task is reachable
// again. If the pod's node is not ready, fromOutput therefore repeats that the task is unreachable.
func (s *session) fromOutput(uid types.UID, e cluster.Event) {
	s.emit(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.pods[uid]
	if _, update := e.(cluster.Update); !update || r == nil || r.reported.state != cluster.Unreachable {
		return
	}
	if u, bound := pod.Report(r.pod, s.circumstances(r, false)); bound && u.State == cluster.Unreachable {
		u.UUID, u.Reason = nil, cluster.ReasonReconciliation // the state is not new
		s.emitUpdate(u)
	}
}

// circumstances returns what package pod must know to report a pod, in addition to the pod itself.
func (s *session) circumstances(r *podRecord, removed bool) pod.Circumstances {
	c := pod.Circumstances{Removed: removed}
	if a := s.accounts[r.node]; a != nil {
		c.NotReady, c.NoNode = a.notReady, a.uid == ""
	}
	if !r.problemSince.IsZero() {
		c.ProblemFor = s.now().Sub(r.problemSince)
	}
	return c
}

// send reports a pod's state if it differs from the last reported one and the last one was not terminal. A state after
// UNREACHABLE gets a UUID of its own. The core may already have seen the UUID of the same state and would ignore the
// report as a repetition; and an update without a UUID would not be acknowledged, so the pod would keep its finalizer.
func (s *session) send(r *podRecord, u cluster.Update) {
	if r.reported == reportOf(u) || r.reported.state.Terminal() {
		return
	}
	if !u.State.Terminal() && len(u.UUID) > 0 && r.reported.state == cluster.Unreachable {
		sum := sha256.Sum256(fmt.Appendf(u.UUID, "/%d", r.reported.since.UnixNano()))
		u.UUID = sum[:16]
	}
	r.reported = reportOf(u)
	s.emitUpdate(u)
}

// emitUpdate sends an update of a pod. The kubelet's report of an end may arrive after its node is gone. The core
// takes an update from an agent as a sign that the agent exists, so emitUpdate then reports again that the agent is
// gone.
func (s *session) emitUpdate(u cluster.Update) {
	s.emit(u)
	if a := s.accounts[u.AgentID]; u.Source != cluster.FromMaster && (a == nil || a.uid == "") {
		s.emit(cluster.Failure{AgentID: u.AgentID})
	}
}

// podOf returns the identity of one of the framework's pods, for the hooks.
func podOf(p *corev1.Pod) Pod {
	return Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, TaskID: pod.TaskOf(p),
		Job: p.Annotations[pod.AnnotationJob], Node: p.Spec.NodeName,
		Execution: p.Labels[pod.LabelExecution], Daemon: p.Labels[pod.LabelDaemon] != ""}
}
