package kubernetes

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// Kill deletes a task's pod with the grace period that its executor needs. It asks a daemon's executor to drain
// instead if the requested grace is longer than the one in the pod's spec. The watch reports the result. If the task
// has no pod, or its pod has ended, Kill reports that.
func (s *session) Kill(ctx context.Context, k cluster.Kill) error {
	ctx, done := s.call(ctx)
	defer done()
	if err := s.checkOpen("kill"); err != nil {
		return err
	}
	var grace *int64
	if k.Grace > 0 {
		seconds := pod.Grace(k.Grace)
		grace = &seconds
	}
	s.mu.Lock()
	r := s.pods[s.tasks[k.TaskID]]
	if r == nil || r.ended {
		s.reportTask(cluster.TaskRef{TaskID: k.TaskID, AgentID: k.AgentID})
		s.mu.Unlock()
		return nil
	}
	drain := pod.Drains(r.pod, k.Grace)
	if alreadyRequested(r.pod, drain, grace) {
		s.mu.Unlock() // not logged: the core repeats the kill at each sign of life of the task
		return nil
	}
	target := podOf(r.pod)
	s.mu.Unlock()
	doing, err := "drain", error(nil)
	if drain {
		err = s.api.drainPod(ctx, target.Namespace, target.Name, target.UID, k.Reason)
	} else {
		doing, err = "delete", s.api.deletePod(ctx, target.Namespace, target.Name, target.UID, "", grace)
	}
	switch {
	case err == nil:
		s.recorder.Killed(target, k.Reason)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // the pod is gone, which the watch reports
	case isAnswer(err): // the API server refuses it; the core repeats the kill
		s.log.Warn("task not killed", "by", doing, "pod", target.Name, "task", target.TaskID, "error", err)
	default:
		return fmt.Errorf("%s pod %s, outcome unknown: %w", doing, target.Name, s.endReason(err))
	}
	return nil
}

// alreadyRequested reports whether a kill would change nothing. A drain changes nothing if the pod is draining or being
// deleted. A deletion changes nothing if the pod is being deleted within the requested or a shorter grace period.
func alreadyRequested(p *corev1.Pod, drain bool, grace *int64) bool {
	if p.DeletionTimestamp == nil {
		return drain && p.Annotations[pod.AnnotationDrain] != ""
	}
	current := p.DeletionGracePeriodSeconds
	return drain || grace == nil || current == nil || *current <= *grace
}

// EndExecutor does nothing, because executors end with their pods.
func (s *session) EndExecutor(context.Context, string, string) error {
	return s.checkOpen("end an executor")
}

// Reconcile reports the current states of the given tasks. If none are given, it reports all live tasks, and the ended
// tasks whose pods still have the finalizer.
func (s *session) Reconcile(_ context.Context, tasks []cluster.TaskRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reconciledAt.IsZero() {
		s.reconciledAt = s.now()
	}
	for _, t := range tasks {
		s.reportTask(t)
	}
	if len(tasks) == 0 {
		for task, uid := range s.tasks {
			if r := s.pods[uid]; r != nil && (!r.reported.state.Terminal() || hasFinalizer(r.pod)) {
				s.reportTask(cluster.TaskRef{TaskID: task})
			}
		}
	}
	return s.checkOpen("reconcile")
}

// reportTask reports a task's state, for a reconciliation. The report of a live state has no UUID, so that the core
// does not take it for a repetition; the report of an end has the UUID of the original report. The caller holds mu.
func (s *session) reportTask(t cluster.TaskRef) {
	uid, hasPod := s.tasks[t.TaskID]
	r := s.pods[uid]
	if !hasPod || r == nil {
		s.reportMissing(t)
		return
	}
	r.reconciled = true
	u, _ := pod.Report(r.pod, s.circumstances(r, false))
	if !u.State.Terminal() {
		u.UUID, u.Reason = nil, cluster.ReasonReconciliation
	}
	r.reported = reportOf(u)
	s.emitUpdate(u)
}

// reportMissing reports a task that has no pod, unless its pod is being launched. The lists are complete, so the task's
// pod was either never bound, or removed after the core had committed that it knew the pod. If the task's node is gone,
// too, the report says that an operator removed the task.
func (s *session) reportMissing(t cluster.TaskRef) {
	if s.launches[pod.Name(t.TaskID)] != nil {
		return // its pod is being launched
	}
	u := cluster.Update{TaskID: t.TaskID, AgentID: t.AgentID, State: cluster.Gone, Source: cluster.FromMaster,
		Reason: cluster.ReasonReconciliation, Timestamp: s.now(),
		Message: "there is no pod " + pod.Name(t.TaskID) + " in namespace " + s.namespace}
	if a := s.accounts[t.AgentID]; a == nil || a.uid == "" {
		u.State, u.Reason = cluster.GoneByOperator, cluster.ReasonTaskRemoved
		u.Message += ", and no node " + t.AgentID
	}
	s.emit(u)
}

// Acknowledge records that the core has committed an update. The pod no longer needs its finalizer, and after a
// terminal update the scheduler no longer needs the pod.
func (s *session) Acknowledge(_ context.Context, a cluster.Ack) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := s.tasks[a.TaskID]
	r := s.pods[uid]
	if r == nil {
		return s.checkOpen("acknowledge")
	}
	u, bound := pod.Report(r.pod, s.circumstances(r, false))
	ended := bound && u.State.Terminal() && bytes.Equal(u.UUID, a.UUID)
	if hasFinalizer(r.pod) && !r.releasing && (ended || !s.mustStayUntilEnd(r)) {
		r.releasing = true
		s.finalizerQueue.put(uid)
	}
	if ended {
		s.keepEnded(r, u)
	}
	return s.checkOpen("acknowledge")
}

// mustStayUntilEnd reports whether a pod must exist until its end is committed. That is so for a pod that was given up
// before it began: only the pod shows that the task never began and that the shard may be placed again. If the node is
// not ready, the pod need not stay, because its end may never be reported.
func (s *session) mustStayUntilEnd(r *podRecord) bool {
	return r.pod.Annotations[pod.AnnotationGivenUp] != "" && !pod.Began(r.pod) && s.ready(r.node)
}

// keepEnded passes an ended pod to the keeper, because from now on only users need the pod. It does so once for each
// pod. If the session observed the end, the time of the end comes from this scheduler's clock. Otherwise it comes from
// the clocks of the cluster, which are assumed to agree with each other.
func (s *session) keepEnded(r *podRecord, u cluster.Update) {
	if !r.endCommitted.IsZero() {
		return
	}
	r.endCommitted = s.now()
	ended := r.endCommitted
	if r.endedBefore {
		ended = u.Timestamp
		if ended.IsZero() {
			ended = r.pod.CreationTimestamp.UTC()
		}
		if ended = ended.Add(s.ahead); ended.After(s.began) {
			ended = s.began
		}
	}
	s.keeper.Ended(s.ctx, podOf(r.pod), u.State == cluster.Finished, ended)
}

// release removes the finalizer from a pod. If that fails, it is tried again later.
func (s *session) release(uid types.UID) {
	s.mu.Lock()
	r := s.pods[uid]
	if r == nil {
		s.mu.Unlock()
		return
	}
	target := podOf(r.pod)
	s.mu.Unlock()
	err := s.api.removeFinalizer(s.ctx, target.Namespace, target.Name, target.UID)
	// After a conflict the removal is tried again, because other clients may be writing the pod. If another pod has the
	// name by now, the watch reports that the first one is gone, and the lookup above ends the retries.
	if err != nil && !apierrors.IsNotFound(err) && s.ctx.Err() == nil {
		s.log.Warn("finalizer not removed", "pod", target.Name, "task", target.TaskID, "error", err)
		if s.pause(sweepInterval) {
			s.finalizerQueue.put(uid)
		}
	}
}

// discardUnboundPod deletes an unbound pod that no Launch of this session is going to bind.
func (s *session) discardUnboundPod(p *corev1.Pod) {
	bound, err := s.api.discard(s.ctx, p)
	switch {
	case err != nil && s.ctx.Err() == nil:
		s.log.Warn("unbound pod not deleted", "pod", p.Name, "task", pod.TaskOf(p), "error", err)
		if s.pause(sweepInterval) {
			s.unboundPods.put(p)
		}
	case err == nil && !bound:
		s.log.Info("unbound pod deleted", "pod", p.Name, "task", pod.TaskOf(p))
	}
}

// runSweeps regularly handles what depends only on time, so that no event reports it.
func (s *session) runSweeps() {
	for s.pause(sweepInterval) {
		for own, why := range s.sweep() {
			p := podOf(own)
			if err := s.deleteGivenUp(own, why); err != nil && !apierrors.IsNotFound(err) {
				s.clearGivenUp(p.UID) // the next sweep tries again
				continue
			}
			s.log.Warn("pod given up", "pod", p.Name, "task", p.TaskID, "reason", why)
			s.recorder.GivenUp(p, why)
		}
	}
}

// deleteGivenUp deletes a pod that is given up, unless the pod has changed since it was examined: a container may have
// started. If the pod's containers cannot be started, it first records on the pod why the pod was given up.
func (s *session) deleteGivenUp(own *corev1.Pod, why string) error {
	if pod.StartProblemOf(own).Why != "" {
		marked, err := s.api.giveUpPod(s.ctx, own, why)
		if err != nil {
			return err
		}
		own = marked
		s.mu.Lock()
		if r := s.pods[own.UID]; r != nil {
			r.releasing = false // the finalizer was removed before and has just been set again
		}
		s.mu.Unlock()
	}
	return s.api.deletePod(s.ctx, own.Namespace, own.Name, own.UID, own.ResourceVersion, nil)
}

// sweep returns the pods that the caller must give up, with reasons: pods whose containers cannot be started, and pods
// that still run after their shard has ended, for example because a webhook added a container. It does not report them
// to the core: until a pod is gone, it might still begin, so the watch reports its end. sweep also passes pods that
// ended in earlier sessions to the keeper.
func (s *session) sweep() map[*corev1.Pod]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	givenUp := map[*corev1.Pod]string{}
	// Ends of earlier sessions count as committed some time after the core's first reconciliation. The time since the
	// session began would not do: a deposed leader that was frozen would delete pods whose ends the next leader does
	// not know.
	committed := !s.reconciledAt.IsZero() && s.now().Sub(s.reconciledAt) > endsCommittedAfter
	for _, r := range s.pods {
		if r.pod == nil {
			continue
		}
		// deleteGivenUp sets the finalizer again, so it must not run while a worker is about to remove the finalizer.
		losesFinalizer := r.releasing && hasFinalizer(r.pod)
		mayGiveUp := !r.givenUp && s.ready(r.node) && !losesFinalizer
		problem := pod.StartProblemOf(r.pod)
		if mayGiveUp && problem.Why != "" && s.now().Sub(r.problemSince) >= problem.Within {
			r.givenUp = true
			givenUp[r.pod] = problem.Why
		}
		if !r.endCommitted.IsZero() && !r.ended && r.pod.DeletionTimestamp == nil &&
			s.now().Sub(r.endCommitted) > lingerTimeout {
			givenUp[r.pod] = "the shard has ended, and another container of its pod still runs"
		}
		if !r.problemSince.IsZero() && !r.givenUp {
			s.reportPod(r) // the report mentions a start problem once it has lasted long enough
		}
		if committed && r.endedBefore && !r.reconciled && r.endCommitted.IsZero() && !hasFinalizer(r.pod) {
			if u, bound := pod.Report(r.pod, s.circumstances(r, false)); bound {
				s.keepEnded(r, u)
			}
		}
	}
	return givenUp
}

func (s *session) clearGivenUp(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.pods[uid]; r != nil {
		r.givenUp = false
	}
}
