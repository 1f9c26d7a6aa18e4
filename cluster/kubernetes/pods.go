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

// podRecord is what a session keeps of a pod: of those of others only what they take.
type podRecord struct {
	node string // "" while it is not bound
	// roomOn is where it takes room.
	roomOn string
	takes  resources.Amount
	over   bool
	// own is our task's pod, without what nobody here reads.
	own *corev1.Pod
	// reported is the last report of it that was sent.
	reported report
	// troubleSince is since when its containers can't be started, troubleWithin for how long that may be so; givenUp:
	// this session deletes it for that.
	troubleSince  time.Time
	troubleWithin time.Duration
	givenUp       bool
	// releasing: its finalizer is to go, because the core has committed that it knows the pod.
	releasing bool
	// endKept is when it was found that the core has committed its end; zero if it has not.
	endKept time.Time
	// asked: the core has asked about its task. inherited: it was over when the session began.
	asked, inherited bool
	// followed: it was reported to the Follower as running.
	followed bool
}

// report is what tells one report of a pod from the one before.
type report struct {
	state cluster.State
	since time.Time // of UNREACHABLE
	kept  bool      // its kill, of UNREACHABLE
	waits string    // of STARTING
}

func reportOf(u cluster.Update) report {
	r := report{state: u.State, since: u.UnreachableSince, kept: u.KillKept}
	if u.State == cluster.Starting {
		r.waits = pod.Gist(u.Message)
	}
	return r
}

// launching is a pod that this session is about to create and bind, or that it has bound and not seen in the watch
// yet.
type launching struct {
	node  string
	takes resources.Amount
	// launched: its Launch is through. lists is how many lists of pods had been asked for by then.
	launched bool
	lists    int
}

// podStore hands pods from the watch to their session.
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
		s.usage(r.roomOn, r.takes, r.over, -1)
	}
	r.node, r.roomOn, r.takes, r.over = p.Spec.NodeName, pod.RoomOn(p), pod.Requests(p), pod.Over(p)
	s.usage(r.roomOn, r.takes, r.over, 1)
	if s.isStandIn(p) {
		s.putStandIn(p)
	}
	if !s.isOurs(p) && r.own == nil {
		return
	}
	r.own = s.ownOf(r, p)
	if r.node != "" {
		s.tasks[pod.TaskOf(r.own)] = p.UID
		s.landed(p.Name)
	} else if s.listed && s.launches[p.Name] == nil {
		s.strays.put(r.own)
	}
	s.tendPod(r)
}

func (s podStore) gone(object runtime.Object) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.pods[p.UID]; r != nil && r.own != nil {
		r.own = s.ownOf(r, p)
	}
	s.removePod(p.UID)
}

func (s podStore) listing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
}

func (s podStore) retain(uids map[types.UID]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.pods {
		if _, there := uids[uid]; !there {
			s.removePod(uid)
		}
	}
	for name, l := range s.launches {
		if l.launched && l.lists < s.lists { // and not in the list, which was asked for since: it is gone
			s.landed(name)
		}
	}
}

// isOurs reports whether a pod is of a task of this framework id. A copy that somebody has made of one, under another
// name, is not: what becomes of it says nothing about the task.
func (s *session) isOurs(p *corev1.Pod) bool {
	task := pod.TaskOf(p)
	return p.Namespace == s.namespace && p.Labels[pod.LabelFramework] == s.label && task != "" &&
		p.Name == pod.Name(task)
}

// ownOf is what is read of a pod of ours. Where somebody has taken from it what it is known by, it is still the pod of
// its task, which it has to tell the end of.
func (s *session) ownOf(r *podRecord, p *corev1.Pod) *corev1.Pod {
	own := trimmed(p)
	if !s.isOurs(p) {
		own.Labels, own.Annotations = r.own.Labels, r.own.Annotations
	}
	return own
}

// trimmed is what is read of our own pods: all else takes memory, for each pod that is kept for its output.
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
	if execution, is := p.Labels[pod.LabelExecution]; is {
		t.Labels[pod.LabelExecution] = execution
	}
	if daemon, is := p.Labels[pod.LabelDaemon]; is {
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
	for i := range p.Spec.Containers { // for the limit that a container was over
		if c := &p.Spec.Containers[i]; c.Name == pod.Container {
			t.Spec.Containers = []corev1.Container{{Name: c.Name,
				Resources: corev1.ResourceRequirements{Limits: c.Resources.Limits}}}
		}
	}
	return t
}

func states(all []corev1.ContainerStatus) (trimmed []corev1.ContainerStatus) {
	for i := range all {
		trimmed = append(trimmed, corev1.ContainerStatus{Name: all[i].Name, State: all[i].State,
			ContainerID: all[i].ContainerID})
	}
	return trimmed
}

// usage adds what a pod takes to its node's account, or takes it off.
func (s *session) usage(node string, takes resources.Amount, over bool, sign int) {
	if node == "" || over {
		return
	}
	a := s.accountOf(node)
	if sign > 0 {
		a.used = a.used.Plus(takes)
	} else {
		a.used = a.used.Minus(takes)
	}
	a.pods += sign
	s.offersChanged()
}

// landed forgets that a pod was on its way: it is in the watch, or was not made.
func (s *session) landed(name string) {
	if l := s.launches[name]; l != nil {
		s.usage(l.node, l.takes, false, -1)
		delete(s.launches, name)
	}
}

// removePod takes note that a pod is not in the API any more. What it last said of its end counts; if it did not,
// somebody removed it.
func (s *session) removePod(uid types.UID) {
	r := s.pods[uid]
	if r == nil {
		return
	}
	s.usage(r.roomOn, r.takes, r.over, -1)
	delete(s.pods, uid)
	s.standInGone(uid)
	if r.own == nil {
		return
	}
	if u, bound := pod.Report(r.own, s.circumstances(r, true)); bound {
		s.send(r, u)
	}
	if id := pod.TaskOf(r.own); s.tasks[id] == uid {
		delete(s.tasks, id)
	}
	s.landed(r.own.Name)
	s.follower.Gone(uid)
	s.keeper.Gone(uid)
}

// tendPod reports what is new of one of our pods, and sees to it that it is followed while it runs.
func (s *session) tendPod(r *podRecord) {
	s.learnTrouble(r)
	u, bound := pod.Report(r.own, s.circumstances(r, false))
	if !bound || !s.listed {
		return // the session's first list is reported when it is complete
	}
	s.send(r, u)
	switch {
	case u.State == cluster.Running && !r.followed:
		r.followed = true
		uid := r.own.UID
		s.follower.Running(s.ctx, podOf(r.own), func(e cluster.Event) { s.fromOutput(uid, e) })
	case u.State.Terminal() && r.followed:
		r.followed = false
		s.follower.Gone(r.own.UID)
	}
}

// learnTrouble notes since when a pod can't be started, by this scheduler's clock. What it does not see begin,
// because the pod was so when the session began, counts from the pod's own times: a change of leaders gives no pod
// more time.
func (s *session) learnTrouble(r *podRecord) {
	t := pod.TroubleOf(r.own)
	switch {
	case t.Why == "":
		r.troubleSince = time.Time{}
	case r.troubleSince.IsZero() || r.troubleWithin != t.Within:
		r.troubleSince, r.troubleWithin = s.now(), t.Within
		if since := t.Since.Add(s.ahead); (t.Known || !s.listed) && since.Before(r.troubleSince) {
			r.troubleSince = since
		}
	}
}

// fromOutput passes on what a pod's output says. Where its node is silent towards the API server that was a sign of
// life, which the core takes for the task's return: behind it is said again what is the case.
func (s *session) fromOutput(uid types.UID, e cluster.Event) {
	s.emit(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.pods[uid]
	if _, update := e.(cluster.Update); !update || r == nil || r.reported.state != cluster.Unreachable {
		return
	}
	if u, bound := pod.Report(r.own, s.circumstances(r, false)); bound && u.State == cluster.Unreachable {
		u.UUID, u.Reason = nil, cluster.ReasonReconciliation // it is not new
		s.tell(u)
	}
}

func (s *session) circumstances(r *podRecord, removed bool) pod.Circumstances {
	c := pod.Circumstances{Removed: removed}
	if a := s.accounts[r.node]; a != nil {
		c.NotReady = a.notReady
	}
	if !r.troubleSince.IsZero() {
		c.Troubled = s.now().Sub(r.troubleSince)
	}
	return c
}

// send reports a pod's state if it is another than the last one, which was no end. A state behind UNREACHABLE has a
// uuid of its own: the core may have seen that of the same state before, and would take the report for a repeated one;
// and without any it would not acknowledge it, and the pod keep its finalizer.
func (s *session) send(r *podRecord, u cluster.Update) {
	if r.reported == reportOf(u) || r.reported.state.Terminal() {
		return
	}
	if !u.State.Terminal() && len(u.UUID) > 0 && r.reported.state == cluster.Unreachable {
		sum := sha256.Sum256(fmt.Appendf(u.UUID, "/%d", r.reported.since.UnixNano()))
		u.UUID = sum[:16]
	}
	r.reported = reportOf(u)
	s.tell(u)
}

// tell reports something of a pod. What its kubelet has said of its end may be heard when its node is gone: then that
// is said, too, for an agent by which something is reported is there.
func (s *session) tell(u cluster.Update) {
	s.emit(u)
	if a := s.accounts[u.AgentID]; u.Source != cluster.FromMaster && (a == nil || a.uid == "") {
		s.emit(cluster.Failure{AgentID: u.AgentID})
	}
}

func podOf(p *corev1.Pod) Pod {
	return Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, TaskID: pod.TaskOf(p),
		Job: p.Annotations[pod.AnnotationJob], Node: p.Spec.NodeName,
		Execution: p.Labels[pod.LabelExecution], Daemon: p.Labels[pod.LabelDaemon] != ""}
}
