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

// Kill deletes a task's pod, with the grace that the executor in it needs, or asks a daemon's shard to drain if it
// gets longer than its pod was made with. What becomes of it is reported as it happens.
func (s *session) Kill(ctx context.Context, k cluster.Kill) error {
	ctx, done := s.call(ctx)
	defer done()
	if err := s.ended("kill"); err != nil {
		return err
	}
	var grace *int64
	if k.Grace > 0 {
		seconds := pod.Grace(k.Grace)
		grace = &seconds
	}
	s.mu.Lock()
	r := s.pods[s.tasks[k.TaskID]]
	if r == nil || r.over {
		s.answerAbout(cluster.TaskRef{TaskID: k.TaskID, AgentID: k.AgentID})
		s.mu.Unlock()
		return nil
	}
	drains := pod.Drains(r.own, k.Grace)
	if isAsked(r.own, drains, grace) {
		s.mu.Unlock() // without a word: at each sign of a task that is to end the core kills it again
		return nil
	}
	target := podOf(r.own)
	s.mu.Unlock()
	doing, err := "drain", error(nil)
	if drains {
		err = s.api.drainPod(ctx, target.Namespace, target.Name, target.UID, k.Reason)
	} else {
		doing, err = "delete", s.api.deletePod(ctx, target.Namespace, target.Name, target.UID, "", grace)
	}
	switch {
	case err == nil:
		s.recorder.Killed(target, k.Reason)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone, which the watch reports
	case answered(err): // the core asks again; nothing else of the session is in doubt
		s.log.Warn("task not killed", "by", doing, "pod", target.Name, "task", target.TaskID, "error", err)
	default:
		return fmt.Errorf("%s pod %s, outcome unknown: %w", doing, target.Name, s.because(err))
	}
	return nil
}

// isAsked reports whether a pod is asked for already what a kill asks of it: to drain, or to end in no more time than
// that.
func isAsked(p *corev1.Pod, drains bool, grace *int64) bool {
	if p.DeletionTimestamp == nil {
		return drains && p.Annotations[pod.AnnotationDrain] != ""
	}
	given := p.DeletionGracePeriodSeconds
	return drains || grace == nil || given == nil || *given <= *grace
}

// EndExecutor does nothing: executors end with their pods.
func (s *session) EndExecutor(context.Context, string, string) error {
	return s.ended("end an executor")
}

// Reconcile reports the present states of tasks; with none, of all that live.
func (s *session) Reconcile(_ context.Context, tasks []cluster.TaskRef) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.IsZero() {
		s.asked = s.now()
	}
	for _, t := range tasks {
		s.answerAbout(t)
	}
	if len(tasks) == 0 {
		for task, uid := range s.tasks {
			if r := s.pods[uid]; r != nil && (!r.reported.state.Terminal() || hasFinalizer(r.own)) {
				s.answerAbout(cluster.TaskRef{TaskID: task})
			}
		}
	}
	return s.ended("reconcile")
}

// answerAbout reports a task's state. One that lives is reported without a uuid, so that nobody takes it for a
// repeated report; an end with its own.
func (s *session) answerAbout(t cluster.TaskRef) {
	uid, known := s.tasks[t.TaskID]
	r := s.pods[uid]
	if !known || r == nil {
		s.answerGone(t)
		return
	}
	r.asked = true
	u, _ := pod.Report(r.own, s.circumstances(r, false))
	if !u.State.Terminal() {
		u.UUID, u.Reason = nil, cluster.ReasonReconciliation
	}
	r.reported = reportOf(u)
	s.tell(u)
}

// answerGone reports a task without a pod. The lists are complete, so it never had one that was bound, or its pod was
// removed after the core had committed that it knew it. Where its node is gone, too, that is an operator's word.
func (s *session) answerGone(t cluster.TaskRef) {
	if s.launches[pod.Name(t.TaskID)] != nil {
		return // it is on its way
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

// Acknowledge takes note that the core has committed an update: its pod needs its finalizer no more, and if it was the
// end, the pod itself.
func (s *session) Acknowledge(_ context.Context, a cluster.Ack) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := s.tasks[a.TaskID]
	r := s.pods[uid]
	if r == nil {
		return s.ended("acknowledge")
	}
	u, bound := pod.Report(r.own, s.circumstances(r, false))
	ended := bound && u.State.Terminal() && bytes.Equal(u.UUID, a.UUID)
	if hasFinalizer(r.own) && !r.releasing && (ended || !s.staysForItsEnd(r)) {
		r.releasing = true
		s.done.put(uid)
	}
	if ended {
		s.endKept(r, u)
	}
	return s.ended("acknowledge")
}

// staysForItsEnd reports whether a pod is to be there until its end is committed: one that was given up, for that it
// never began is what its shard is placed again for, and nobody would know it when the pod is gone. Where its node is
// away the pod may have to go without an end.
func (s *session) staysForItsEnd(r *podRecord) bool {
	return r.own.Annotations[pod.AnnotationGivenUp] != "" && !pod.Began(r.own) && s.ready(r.node)
}

// endKept hands an ended pod to the keeper: nobody needs it any more but people. When it ended is by the clock of this
// scheduler: what this session has not seen itself was stamped by the clocks of the cluster, which are taken for one.
func (s *session) endKept(r *podRecord, u cluster.Update) {
	if !r.endKept.IsZero() {
		return
	}
	r.endKept = s.now()
	at := r.endKept
	if r.inherited {
		at = u.Timestamp
		if at.IsZero() {
			at = r.own.CreationTimestamp.UTC()
		}
		if at = at.Add(s.ahead); at.After(s.began) {
			at = s.began
		}
	}
	s.keeper.Ended(s.ctx, podOf(r.own), u.State == cluster.Finished, at)
}

// release takes the finalizer off a pod.
func (s *session) release(uid types.UID) {
	s.mu.Lock()
	r := s.pods[uid]
	if r == nil {
		s.mu.Unlock()
		return
	}
	target := podOf(r.own)
	s.mu.Unlock()
	err := s.api.removeFinalizer(s.ctx, target.Namespace, target.Name, target.UID)
	// A conflict may be with others who write it all the time. Of a pod that is another one by now the watch says so,
	// and this comes to its end above.
	if err != nil && !apierrors.IsNotFound(err) && s.ctx.Err() == nil {
		s.log.Warn("finalizer not removed", "pod", target.Name, "task", target.TaskID, "error", err)
		if s.pause(sweepEvery) {
			s.done.put(uid)
		}
	}
}

// discardStray deletes a pod that is not bound and that no Launch of this session is about to bind.
func (s *session) discardStray(p *corev1.Pod) {
	bound, err := s.api.discard(s.ctx, p)
	switch {
	case err != nil && s.ctx.Err() == nil:
		s.log.Warn("unbound pod not deleted", "pod", p.Name, "task", pod.TaskOf(p), "error", err)
		if s.pause(sweepEvery) {
			s.strays.put(p)
		}
	case err == nil && !bound:
		s.log.Info("unbound pod deleted", "pod", p.Name, "task", pod.TaskOf(p))
	}
}

// sweepRegularly looks after what no event brings up.
func (s *session) sweepRegularly() {
	for s.pause(sweepEvery) {
		for own, why := range s.sweep() {
			p := podOf(own)
			if err := s.deleteGivenUp(own, why); err != nil && !apierrors.IsNotFound(err) {
				s.notGivenUp(p.UID) // the next sweep looks at it again
				continue
			}
			s.log.Warn("pod given up", "pod", p.Name, "task", p.TaskID, "reason", why)
			s.recorder.GivenUp(p, why)
		}
	}
}

// deleteGivenUp deletes a pod as it was looked at, for a container may have been started since. That it was given up
// before it began is written down first.
func (s *session) deleteGivenUp(own *corev1.Pod, why string) error {
	if pod.TroubleOf(own).Why != "" {
		marked, err := s.api.giveUpPod(s.ctx, own, why)
		if err != nil {
			return err
		}
		own = marked
		s.mu.Lock()
		if r := s.pods[own.UID]; r != nil {
			r.releasing = false // that was done, and the finalizer is there again
		}
		s.mu.Unlock()
	}
	return s.api.deletePod(s.ctx, own.Namespace, own.Name, own.UID, own.ResourceVersion, nil)
}

// sweep gives up pods whose containers can't be started, and those that go on without their shard, as they do when a
// webhook has given them another container; and it hands over the ends of earlier sessions' pods. Those given up are
// to be deleted: only when they are gone without having begun is that reported, for until then they might begin.
func (s *session) sweep() map[*corev1.Pod]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	// By the time alone it would be settled where the core stood still: a leader that was frozen, and is deposed,
	// would have pods deleted whose ends the next one does not know.
	givenUp, settled := map[*corev1.Pod]string{}, !s.asked.IsZero() && s.now().Sub(s.asked) > endsKeptAfter
	for _, r := range s.pods {
		if r.own == nil {
			continue
		}
		due := !r.givenUp && s.ready(r.node) && !(r.releasing && hasFinalizer(r.own))
		if t := pod.TroubleOf(r.own); due && t.Why != "" && s.now().Sub(r.troubleSince) >= t.Within {
			r.givenUp = true
			givenUp[r.own] = t.Why
		}
		if !r.endKept.IsZero() && !r.over && r.own.DeletionTimestamp == nil && s.now().Sub(r.endKept) > lingersFor {
			givenUp[r.own] = "the shard has ended, and another container of its pod goes on"
		}
		if !r.troubleSince.IsZero() && !r.givenUp {
			s.tendPod(r) // what lasts is worth a word
		}
		if settled && r.inherited && !r.asked && r.endKept.IsZero() && !hasFinalizer(r.own) {
			if u, bound := pod.Report(r.own, s.circumstances(r, false)); bound {
				s.endKept(r, u)
			}
		}
	}
	return givenUp
}

func (s *session) notGivenUp(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.pods[uid]; r != nil {
		r.givenUp = false
	}
}
