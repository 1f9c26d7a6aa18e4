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

// launchesAtOnce is how many requests of one Launch are concurrent at most.
const launchesAtOnce = 32

// ReasonPodRefused is the reason of a task whose pod could not be created or bound.
const ReasonPodRefused cluster.Reason = "POD_NOT_CREATED"

// launch is a task that is being launched.
type launch struct {
	task   wire.Task
	pod    *corev1.Pod // first as built, then as created; nil after the task was rejected
	secret *corev1.Secret
}

// bindTimeout is the part of a Launch's time that is reserved for reading the Lease and for binding the pods.
const bindTimeout = 3 * time.Second

// Launch creates the pods of the tasks. If the Lease still names this session after that, it binds them. An update
// reports each task whose pod is rejected or not created in time; the other tasks are launched. If Launch returns an
// error, the caller does not know which pods were bound.
func (s *session) Launch(ctx context.Context, l cluster.Launch) error {
	ctx, done := s.call(ctx)
	defer done()
	if err := s.checkOpen("launch"); err != nil {
		return err
	}
	if missing := s.useOffers(l); missing != "" {
		for _, t := range l.Tasks {
			s.reportWithoutPod(t.TaskID, l.AgentID, cluster.Dropped, cluster.ReasonInvalidOffers,
				"offer "+missing+" is no longer valid")
		}
		return nil
	}
	all := s.build(l)
	defer s.markLaunched(l.AgentID, all)
	s.createAll(ctx, all)
	if err := s.checkOpen("launch"); err != nil {
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
		return s.checkOpen("launch")
	}
	err := s.forEach(ctx, all, func(ctx context.Context, one *launch) error { return s.bindPod(ctx, one, l.AgentID) })
	if err != nil {
		return fmt.Errorf("bind pods to node %s, outcome unknown: %w", l.AgentID, s.endReason(err))
	}
	return nil
}

// endReason returns the reason for the session's end if the session has ended, and err otherwise.
func (s *session) endReason(err error) error {
	if ended := s.Err(); ended != nil {
		return ended
	}
	return err
}

// useOffers consumes the offers and adds the tasks to the accounts. If an offer no longer exists, useOffers adds no
// task and returns the id of that offer; the resources of the other offers are then offered again. It returns "(none)"
// if l names no offer.
func (s *session) useOffers(l cluster.Launch) (missing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range l.OfferIDs {
		if a := s.currentOffers[id]; a == nil || a != s.accounts[l.AgentID] {
			missing = id
		}
	}
	for _, id := range l.OfferIDs {
		if a := s.currentOffers[id]; a != nil {
			s.removeOffer(id, a)
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
		s.launches[name] = &launching{node: l.AgentID, requests: t.Resources}
		s.addUsage(l.AgentID, t.Resources, false, 1)
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
			s.reportWithoutPod(t.TaskID, l.AgentID, cluster.Error, cluster.ReasonTaskInvalid, err.Error())
			s.abandonLaunch(pod.Name(t.TaskID))
			continue
		}
		s.correctRequests(one.pod)
		all = append(all, one)
	}
	return all
}

// correctRequests corrects the accounted resources of a pod that is being launched: its template may add to those of
// the shard.
func (s *session) correctRequests(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.launches[p.Name]; l != nil {
		s.addUsage(l.node, l.requests, false, -1)
		l.requests = pod.Requests(p)
		s.addUsage(l.node, l.requests, false, 1)
	}
}

// markLaunched records that the Launch of these pods has completed. A pod is then considered gone if a list that is
// requested later lacks it.
func (s *session) markLaunched(node string, all []*launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range all {
		if one.pod == nil {
			continue
		}
		if l := s.launches[one.pod.Name]; l != nil {
			l.launched, l.listRequests = true, s.listRequests
		}
	}
	s.offersChanged()
}

// abandonLaunch removes a pod that is not going to be created from the launches and the accounts.
func (s *session) abandonLaunch(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLaunch(name)
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

// create creates a task's pod and its Secret. If the pod already exists, an earlier request has created it and the
// answer was lost, so create continues with the existing pod. If create gets no answer, it rejects the task: even if
// the pod exists, only this session would bind it.
func (s *session) create(ctx context.Context, one *launch) {
	requested := one.pod
	created, err := s.api.createPod(ctx, requested)
	if apierrors.IsAlreadyExists(err) {
		created, err = s.api.getPod(ctx, requested.Namespace, requested.Name)
	}
	if err != nil {
		s.reject(one, stateOf(err), createFailure("its pod", err))
		if !isRejection(err) {
			s.unboundPods.put(requested)
		}
		return
	}
	if what := forbiddenChange(requested, created); what != "" {
		s.withdraw(ctx, one, created, cluster.Error,
			"the API server, or a webhook, changed "+what+
				" of its pod, which must stay unchanged: have the webhook leave pods with schedulerName "+
				pod.Scheduler+" alone")
		return
	}
	one.pod = created
	s.correctRequests(created) // with the additions of admission webhooks
	if one.secret == nil {
		return
	}
	one.secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: created.Name,
		UID: created.UID}}
	if err := s.api.createSecret(ctx, one.secret); err != nil && !apierrors.IsAlreadyExists(err) {
		s.withdraw(ctx, one, created, stateOf(err), createFailure("the Secret with its description", err))
	}
}

// isRejection reports whether an error proves that the API server did nothing. A 5xx proves nothing: one part of the
// API server may have stopped waiting for another part that went on.
func isRejection(err error) bool {
	var status apierrors.APIStatus
	return isAnswer(err) && errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError
}

// createFailure explains why an object was not created, with the API server's own message if the server answered.
func createFailure(what string, err error) string {
	if isAnswer(err) {
		text := "the API server rejected " + what + ": " + err.Error()
		switch {
		case isQuotaError(err) && strings.Contains(text, "must specify limits.cpu"):
			text += ". Set the job's cpuLimit, or such a limit for all pods with a LimitRange, or limit requests.cpu " +
				"instead of limits.cpu"
		case strings.Contains(text, "runAsUser"):
			text += ". Where the platform assigns user ids, as OpenShift does, start the scheduler with " +
				"--kubernetes-assigned-user, and leave runAsUser out of podTemplate"
		}
		return text
	}
	return "the API server, or a webhook, did not answer in time when " + what + " was created: " + err.Error()
}

// forbiddenChange compares a created pod with the requested one. It names a changed property without which
// the session cannot recognize or bind the pod, or the shard could run more than once. It returns "" if there is none.
func forbiddenChange(requested, created *corev1.Pod) string {
	switch {
	case created.Labels[pod.LabelFramework] != requested.Labels[pod.LabelFramework]:
		return "the label " + pod.LabelFramework
	case pod.TaskOf(created) != pod.TaskOf(requested):
		return "the annotation " + pod.AnnotationTask
	case created.Spec.SchedulerName != requested.Spec.SchedulerName:
		return "spec.schedulerName"
	case !slices.Contains(created.Finalizers, pod.Finalizer) && created.Spec.NodeName == "":
		return "the finalizer " + pod.Finalizer
	case created.Spec.RestartPolicy != requested.Spec.RestartPolicy, mayRestart(created):
		return "the restart policy"
	}
	return ""
}

// mayRestart reports whether the kubelet would restart the shard's container after it has ended. No end of such a
// container would be final.
func mayRestart(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == pod.Container &&
			(c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyNever ||
				len(c.RestartPolicyRules) > 0)
	})
}

// bindPod binds a created pod. If the API server answers with an error, bindPod checks whether the pod is bound
// nevertheless: the client may have repeated the request after the first one had bound the pod.
func (s *session) bindPod(ctx context.Context, one *launch, node string) error {
	err := s.api.bind(ctx, one.pod, node)
	if err == nil {
		bound := podOf(one.pod)
		bound.Node = node
		s.recorder.Launched(bound, one.task)
		return nil
	}
	if !isAnswer(err) {
		return err
	}
	return s.discardAndReject(ctx, one, one.pod, cluster.Dropped, "its pod was not bound: "+err.Error())
}

// discardAndReject deletes a pod that must not be bound and reports its task. If the pod turns out to be bound, it does
// nothing.
func (s *session) discardAndReject(ctx context.Context, one *launch, p *corev1.Pod, state cluster.State, why string) error {
	bound, err := s.api.discard(ctx, p)
	if err != nil || bound {
		return err
	}
	s.reject(one, state, why)
	return nil
}

// withdraw is discardAndReject for a pod that no request has tried to bind. If the deletion fails, withdraw reports the
// task nevertheless, because only this session could bind the pod, and the deletion is retried later.
func (s *session) withdraw(ctx context.Context, one *launch, p *corev1.Pod, state cluster.State, why string) {
	if err := s.discardAndReject(ctx, one, p, state, why); err != nil {
		s.reject(one, state, why)
		s.unboundPods.put(p)
	}
}

// reject reports a task that was not launched, and removes it from the launches and the accounts.
func (s *session) reject(one *launch, state cluster.State, why string) {
	name, node := one.pod.Name, ""
	s.mu.Lock()
	if l := s.launches[name]; l != nil {
		node = l.node
	}
	s.removeLaunch(name)
	s.mu.Unlock()
	s.reportWithoutPod(one.task.TaskID, node, state, ReasonPodRefused, why)
	one.pod = nil
}

// reportWithoutPod reports a task that has no pod. The update has no UUID, because it is never repeated.
func (s *session) reportWithoutPod(task, node string, state cluster.State, reason cluster.Reason, message string) {
	s.emit(cluster.Update{TaskID: task, AgentID: node, State: state, Source: cluster.FromMaster, Reason: reason,
		Message: message, Timestamp: s.now()})
}

// isAnswer reports whether err is an answer of the API server about the request. An answer that rejects the client's
// credentials (401) does not count. See isRejection for what an answer proves.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code != http.StatusUnauthorized && code != 0
}

// stateOf returns the state of a task whose pod was not created: ERROR if the API server would always reject this pod,
// and otherwise DROPPED.
func stateOf(err error) cluster.State {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return cluster.Error
	case apierrors.IsForbidden(err):
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || isQuotaError(err) {
			return cluster.Dropped
		}
		return cluster.Error
	}
	return cluster.Dropped
}

// quotaTexts are parts of the API server's errors for pods that a ResourceQuota rejects. None of these errors is a
// fault of the job. If the quota is used up, it becomes free when other pods end. If the quota requires limits that
// the pods lack, or if its usage is not computed, an administrator of the namespace has to correct that.
var quotaTexts = []string{"exceeded quota: ", "failed quota: ", "status unknown for quota: ", "insufficient quota to "}

func isQuotaError(err error) bool {
	return slices.ContainsFunc(quotaTexts, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// hasFinalizer reports whether a pod has the scheduler's finalizer. The pod has it until the core has committed that it
// knows the pod.
func hasFinalizer(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, pod.Finalizer) }
