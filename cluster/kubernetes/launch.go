package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// launchesAtOnce limits the concurrent requests of one Launch.
const launchesAtOnce = 32

// ReasonPodRefused is the reason of a task whose pod could not be created or bound.
const ReasonPodRefused cluster.Reason = "POD_NOT_CREATED"

// launch is a task that is being launched.
type launch struct {
	task   wire.Task
	pod    *corev1.Pod // as built, then as created; nil after the task was rejected
	secret *corev1.Secret
}

// bindTimeout is the part of a Launch's time that is reserved for reading the Lease and binding.
const bindTimeout = 3 * time.Second

// Launch creates the tasks' pods and binds all of them, provided that the Lease still names this session after their
// creation. A task whose pod is rejected or is not created in time is reported by an update; the others are launched.
// An error means that it is unknown which pods were bound.
func (s *session) Launch(ctx context.Context, l cluster.Launch) error {
	ctx, done := s.call(ctx)
	defer done()
	if err := s.ended("launch"); err != nil {
		return err
	}
	if missing := s.useOffers(l); missing != "" {
		for _, t := range l.Tasks {
			s.answer(t.TaskID, l.AgentID, cluster.Dropped, cluster.ReasonInvalidOffers,
				"offer "+missing+" is not on offer any more")
		}
		return nil
	}
	all := s.build(l)
	defer s.settle(l.AgentID, all)
	s.createAll(ctx, all)
	if err := s.ended("launch"); err != nil {
		return err
	}
	if _, err := s.lease.check(ctx); err != nil {
		if failed := (cluster.FrameworkError{}); errors.As(err, &failed) {
			s.cancel(failed)
			return fmt.Errorf("pods for node %s were created and not bound: %w", l.AgentID, failed)
		}
		_ = s.forEach(ctx, all, func(ctx context.Context, one *launch) error {
			s.withdraw(ctx, one, one.pod, cluster.Dropped, "its pod was not bound: "+err.Error())
			return nil
		})
		return s.ended("launch")
	}
	if err := s.forEach(ctx, all, func(ctx context.Context,
		one *launch) error {
		return s.bindPod(ctx, one, l.AgentID)
	}); err != nil {
		return fmt.Errorf("bind pods to node %s, outcome unknown: %w", l.AgentID, s.because(err))
	}
	return nil
}

// because returns the reason for the session's end if the session has ended, and err otherwise.
func (s *session) because(err error) error {
	if ended := s.Err(); ended != nil {
		return ended
	}
	return err
}

// useOffers consumes the offers. If an offer no longer exists, it returns the offer's id; the resources of the others
// are then offered again.
func (s *session) useOffers(l cluster.Launch) (missing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range l.OfferIDs {
		if a := s.standing[id]; a == nil || a != s.accounts[l.AgentID] {
			missing = id
		}
	}
	for _, id := range l.OfferIDs {
		if a := s.standing[id]; a != nil {
			s.take(id, a)
		}
	}
	if len(l.OfferIDs) == 0 {
		missing = "(none)"
	}
	s.offersChanged()
	if missing != "" {
		return missing
	}
	a := s.accountOf(l.AgentID)
	for _, t := range l.Tasks {
		name := pod.Name(t.TaskID)
		s.launches[name] = &launching{node: l.AgentID, takes: t.Resources}
		s.usage(l.AgentID, t.Resources, false, 1)
	}
	if l.Refuse > 0 {
		a.refuse(s.now().Add(l.Refuse))
	}
	return ""
}

// build builds the pods. A task whose pod cannot be built is reported as TASK_ERROR.
func (s *session) build(l cluster.Launch) []*launch {
	all := make([]*launch, 0, len(l.Tasks))
	for _, t := range l.Tasks {
		one := &launch{task: t.Task}
		var err error
		if one.pod, one.secret, err = s.settings.Build(t, s.framework); err != nil {
			s.answer(t.TaskID, l.AgentID, cluster.Error, cluster.ReasonTaskInvalid, err.Error())
			s.forget(pod.Name(t.TaskID))
			continue
		}
		s.takes(one.pod)
		all = append(all, one)
	}
	return all
}

// takes corrects the accounted resources of a pod that is being launched: its template may add to those of the shard.
func (s *session) takes(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.launches[p.Name]; l != nil {
		s.usage(l.node, l.takes, false, -1)
		l.takes = pod.Requests(p)
		s.usage(l.node, l.takes, false, 1)
	}
}

// settle marks the pods of a Launch as completed. From then on, an unbound one that the watch reports is deleted, and
// one that is missing in a list requested later is considered gone.
func (s *session) settle(node string, all []*launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range all {
		if one.pod == nil {
			continue
		}
		if l := s.launches[one.pod.Name]; l != nil {
			l.launched, l.lists = true, s.lists
		}
	}
	s.offersChanged()
}

func (s *session) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.landed(name)
}

// forEach calls do for all tasks that were not rejected, with limited concurrency.
func (s *session) forEach(ctx context.Context, all []*launch, do func(context.Context, *launch) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(launchesAtOnce)
	for _, one := range all {
		if one.pod != nil {
			group.Go(func() error { return do(ctx, one) })
		}
	}
	return group.Wait()
}

// createAll creates the pods of as many tasks as the time allows.
func (s *session) createAll(ctx context.Context, all []*launch) {
	if until, set := ctx.Deadline(); set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until.Add(-bindTimeout))
		defer cancel()
	}
	_ = s.forEach(ctx, all, func(ctx context.Context, one *launch) error {
		s.create(ctx, one)
		return nil
	})
}

// create creates a task's pod and its Secret. If the pod already exists, the answer to an earlier request was lost,
// and create continues with the existing pod. Without an answer the pod counts as not created, because only this
// session would bind it.
func (s *session) create(ctx context.Context, one *launch) {
	asked := one.pod
	made, err := s.api.createPod(ctx, asked)
	if apierrors.IsAlreadyExists(err) {
		made, err = s.api.getPod(ctx, asked.Namespace, asked.Name)
	}
	if err != nil {
		s.reject(one, stateOf(err), whyNot("its pod", err))
		if !refused(err) {
			s.strays.put(asked)
		}
		return
	}
	if what := alteration(asked, made); what != "" {
		s.withdraw(ctx, one, made, cluster.Error,
			"the API server, or a webhook, changed "+what+
				" of its pod, which its scheduler needs as it was: have the webhook leave pods with schedulerName "+
				pod.Scheduler+" alone")
		return
	}
	one.pod = made
	s.takes(made) // with the additions of admission webhooks
	if one.secret == nil {
		return
	}
	one.secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: made.Name,
		UID: made.UID}}
	if err := s.api.createSecret(ctx, one.secret); err != nil && !apierrors.IsAlreadyExists(err) {
		s.withdraw(ctx, one, made, stateOf(err), whyNot("the Secret with its description", err))
	}
}

// refused reports whether an error proves that the API server did nothing. A 5xx does not prove that: one part of the
// API server may have stopped waiting for another.
func refused(err error) bool {
	var status apierrors.APIStatus
	return answered(err) && errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError
}

// whyNot explains why an object was not created, with the API server's own message if there is one.
func whyNot(what string, err error) string {
	if answered(err) {
		text := "the API server did not take " + what + ": " + err.Error()
		if isQuota(err) && strings.Contains(text, "limits.cpu") {
			text += ". Shards have no limit of CPU: bound requests.cpu in the place of limits.cpu, " +
				"or give such a limit to all pods by a LimitRange"
		}
		return text
	}
	return "the API server, or a webhook, did not answer in time when " + what + " was created: " + err.Error()
}

// alteration names a changed property of a created pod if the change makes the pod unidentifiable or unbindable, or
// would run its shard more than once. It returns "" for any other change.
func alteration(asked, made *corev1.Pod) string {
	switch {
	case made.Labels[pod.LabelFramework] != asked.Labels[pod.LabelFramework]:
		return "the label " + pod.LabelFramework
	case pod.TaskOf(made) != pod.TaskOf(asked):
		return "the annotation " + pod.AnnotationTask
	case made.Spec.SchedulerName != asked.Spec.SchedulerName:
		return "spec.schedulerName"
	case !slices.Contains(made.Finalizers, pod.Finalizer) && made.Spec.NodeName == "":
		return "the finalizer " + pod.Finalizer
	case made.Spec.RestartPolicy != asked.Spec.RestartPolicy, restarts(made):
		return "the restart policy"
	}
	return ""
}

// restarts reports whether the kubelet would restart the shard's container after it has ended. No end of such a
// container would be final.
func restarts(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == pod.Container &&
			(c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyNever ||
				len(c.RestartPolicyRules) > 0)
	})
}

// bindPod binds a created pod. After a negative answer it checks whether the pod is bound, because the answer may be
// to a repeated request whose first copy bound the pod.
func (s *session) bindPod(ctx context.Context, one *launch, node string) error {
	err := s.api.bind(ctx, one.pod, node)
	if err == nil {
		bound := podOf(one.pod)
		bound.Node = node
		s.recorder.Launched(bound, one.task)
		return nil
	}
	if !answered(err) {
		return err
	}
	return s.giveUp(ctx, one, one.pod, cluster.Dropped, "its pod was not bound: "+err.Error())
}

// giveUp deletes a pod that must not be bound and reports its task, unless the pod turns out to be bound.
func (s *session) giveUp(ctx context.Context, one *launch, p *corev1.Pod, state cluster.State, why string) error {
	bound, err := s.api.discard(ctx, p)
	if err != nil || bound {
		return err
	}
	s.reject(one, state, why)
	return nil
}

// withdraw is giveUp for a pod that no request has tried to bind, so that its deletion may be retried later.
func (s *session) withdraw(ctx context.Context, one *launch, p *corev1.Pod, state cluster.State, why string) {
	if err := s.giveUp(ctx, one, p, state, why); err != nil {
		s.reject(one, state, why)
		s.strays.put(p)
	}
}

// reject reports a task that was not launched.
func (s *session) reject(one *launch, state cluster.State, why string) {
	name := one.pod.Name
	s.mu.Lock()
	node := s.launches[name].nodeOr("")
	s.landed(name)
	s.mu.Unlock()
	s.answer(one.task.TaskID, node, state, ReasonPodRefused, why)
	one.pod = nil
}

func (l *launching) nodeOr(other string) string {
	if l == nil {
		return other
	}
	return l.node
}

// answer reports a task that has no pod. The update has no UUID, because it is never repeated.
func (s *session) answer(task, node string, state cluster.State, reason cluster.Reason, message string) {
	s.emit(cluster.Update{TaskID: task, AgentID: node, State: state, Source: cluster.FromMaster, Reason: reason,
		Message: message, Timestamp: s.now()})
}

// answered reports whether err is the API server's own answer that it did not do what was requested.
func answered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code != http.StatusUnauthorized && code != 0
}

// stateOf returns DROPPED for a rejection that may be temporary, and ERROR for one that the same pod always gets.
func stateOf(err error) cluster.State {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return cluster.Error
	case apierrors.IsForbidden(err):
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || isQuota(err) {
			return cluster.Dropped
		}
		return cluster.Error
	}
	return cluster.Dropped
}

// quotaWords are texts of the API server's errors for pods that a ResourceQuota rejects. None of them is a fault of
// the job. A quota that is used up becomes free when other pods end; a quota that requires limits which the pods lack,
// or whose usage is not computed yet, is for the namespace's administrators to fix.
var quotaWords = []string{"exceeded quota: ", "failed quota: ", "status unknown for quota: ", "insufficient quota to "}

func isQuota(err error) bool {
	return slices.ContainsFunc(quotaWords, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// hasFinalizer reports whether the core has yet to commit that it knows the pod.
func hasFinalizer(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, pod.Finalizer) }
