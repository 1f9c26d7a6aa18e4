package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sync/errgroup"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// clearTimeout limits how long Close deletes placeholder pods. The next session deletes the rest.
const clearTimeout = 2 * time.Second

// placeholder is a placeholder pod. It never runs; it only shows autoscalers that a shard fits on no node.
type placeholder struct {
	uid types.UID // "" while it is being created
	// message is the message of its condition; "" before the condition is set.
	message string
	// unusable is set if another scheduler has bound the pod or if the pod has ended, so that it no longer represents
	// its shard.
	unusable bool
}

// demander is a session that publishes the shards that fit on no node.
type demander struct{ *session }

// ShowUnplaced creates a placeholder pod for each of these shards and deletes the placeholders of others. The next
// call retries what failed.
func (d demander) ShowUnplaced(ctx context.Context, all []cluster.Unplaced) error {
	s := d.session
	ctx, done := s.call(ctx)
	defer done()
	if err := s.checkOpen("publish unplaced shards"); err != nil {
		return err
	}
	s.mu.Lock()
	existing := map[string]placeholder{}
	for name, one := range s.placeholders {
		existing[name] = *one
	}
	s.mu.Unlock()
	// Each request is made, even if others fail; only the first error is returned.
	var group errgroup.Group
	group.SetLimit(workers)
	for _, u := range all {
		p, err := s.settings.Unplaced(u, s.framework)
		if err != nil {
			group.Go(func() error { return err })
			continue
		}
		current := existing[p.Name]
		if current.unusable {
			continue // it is deleted below, and the next call creates it again
		}
		delete(existing, p.Name)
		if current.message != u.Why || current.uid == "" {
			group.Go(func() error { return s.createPlaceholder(ctx, p, current.uid, u.Why) })
		}
	}
	for name := range existing {
		group.Go(func() error { return s.deletePlaceholder(ctx, name) })
	}
	return group.Wait()
}

// createPlaceholder sets the condition of a placeholder pod. If uid is empty, it creates the pod first.
func (s *session) createPlaceholder(ctx context.Context, p *corev1.Pod, uid types.UID, why string) error {
	if uid == "" {
		s.mu.Lock()
		if s.placeholders[p.Name] == nil {
			s.placeholders[p.Name] = &placeholder{} // so that it is deleted even if its creation gets no answer
		}
		s.mu.Unlock()
		created, err := s.api.createPod(ctx, p)
		if apierrors.IsAlreadyExists(err) {
			created, err = s.api.getPod(ctx, p.Namespace, p.Name)
		}
		if err != nil {
			return fmt.Errorf("create placeholder pod %s: %w", p.Name, err)
		}
		uid = created.UID
	}
	err := s.api.setCondition(ctx, p.Namespace, p.Name, uid, pod.Unschedulable(why, metav1.NewTime(s.now())))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("set the condition of placeholder pod %s: %w", p.Name, err)
	}
	return nil
}

// deletePlaceholder deletes a placeholder pod by its name, which no other kind of pod has.
func (s *session) deletePlaceholder(ctx context.Context, name string) error {
	noGrace := int64(0)
	err := do(ctx, s.api.Core.Delete().Namespace(s.namespace).Resource("pods").Name(name).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: &noGrace}), nil)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete placeholder pod %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.placeholders, name)
	return nil
}

// clearPlaceholders deletes all placeholder pods, as far as possible within clearTimeout.
func (s *session) clearPlaceholders() {
	ctx, cancel := context.WithTimeout(context.Background(), clearTimeout)
	defer cancel()
	s.mu.Lock()
	all := maps.Clone(s.placeholders)
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(workers)
	for name := range all {
		group.Go(func() error { return s.deletePlaceholder(ctx, name) })
	}
	if err := group.Wait(); err != nil {
		s.log.Warn("placeholder pods not deleted; the next session deletes them", "error", err)
	}
}

// isPlaceholder reports whether a pod is a placeholder of this framework id.
func (s *session) isPlaceholder(p *corev1.Pod) bool {
	return p.Namespace == s.namespace && p.Labels[pod.LabelFramework] == s.label && pod.IsUnplaced(p)
}

// putPlaceholder records a placeholder pod, or schedules its deletion if placeholders are disabled.
func (s *session) putPlaceholder(p *corev1.Pod) {
	if !s.showUnplaced {
		s.unboundPods.put(p)
		return
	}
	one := &placeholder{uid: p.UID, unusable: p.Spec.NodeName != "" || pod.Ended(p)}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			one.message = c.Message
		}
	}
	s.placeholders[p.Name] = one
}

func (s *session) removePlaceholder(uid types.UID) {
	maps.DeleteFunc(s.placeholders, func(_ string, one *placeholder) bool { return one.uid == uid })
}
