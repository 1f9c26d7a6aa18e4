package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

const (
	// renewInterval is the interval at which a session renews its Lease, which is its heartbeat. renewTimeout is how
	// long renewal may fail before the session ends.
	renewInterval, renewTimeout = 3 * time.Second, 15 * time.Second
	// renewCall limits one renewal attempt, so that a frozen API server does not use up all of renewTimeout.
	renewCall = 4 * time.Second
	// clockTolerance is the largest difference between two clocks that is ignored.
	clockTolerance = 30 * time.Second
	// leaseTries is how often a session tries to take over a Lease that other clients write at the same time.
	leaseTries = 10
)

// errNotRenewed ends a session whose Lease could not be renewed.
var errNotRenewed = errors.New(
	"the session could not renew its Lease in time: check whether the API server answers, and its log")

// lease is the fence: the Lease of a framework id, which names the session that holds it.
type lease struct {
	api             *API
	namespace, name string
	holder          string
	now             func() time.Time
	held            *coordinationv1.Lease // as last written
}

// leaseName returns the name of a framework's Lease. It is a valid DNS name for any framework id.
func leaseName(framework string) string {
	const prefix = "elasticjob-"
	name := strings.ToLower(strings.Trim(strings.NewReplacer("_", "-", ".", "-").Replace(pod.LabelValue(framework)),
		"-"))
	return prefix + strings.TrimPrefix(name, prefix)
}

// takeOver makes this session the holder of the Lease, regardless of the current holder. The leader election, which is
// not part of this package, decides which scheduler may do that.
func (l *lease) takeOver(ctx context.Context) error {
	for range leaseTries {
		found, err := l.get(ctx)
		switch {
		case apierrors.IsNotFound(err):
			fresh := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
			l.acquire(fresh)
			err = l.write(ctx, fresh, true)
		case err == nil:
			l.acquire(found)
			err = l.write(ctx, found, false)
		}
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return fmt.Errorf("other clients keep writing the Lease %s: look for a second installation with the same framework id", l.name)
}

// ahead returns how far this scheduler's clock is ahead of the API server's, which timestamped the last write. It
// returns 0 for differences within clockTolerance.
func (l *lease) ahead() time.Duration {
	var stamped time.Time
	for _, entry := range l.held.ManagedFields {
		if entry.Time != nil && entry.Time.After(stamped) {
			stamped = entry.Time.Time
		}
	}
	if d := l.now().Sub(stamped); !stamped.IsZero() && d.Abs() > clockTolerance {
		return d
	}
	return 0
}

// renew renews the Lease. After a conflict it reads the Lease, because another session may have taken it over; the
// error is then a cluster.FrameworkError.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewCall)
	defer cancel()
	next := l.held.DeepCopy()
	l.stamp(next)
	err := l.write(ctx, next, false)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		found, checkErr := l.check(ctx)
		if checkErr == nil {
			l.held = found
		}
		return checkErr
	}
	return err
}

// check reads the Lease from a quorum. It returns a cluster.FrameworkError if the Lease no longer names this session.
func (l *lease) check(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := l.get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, cluster.FrameworkError{Message: "the Lease " + l.name + " was deleted, so its holder is unknown",
			FailedOver: true}
	case err != nil:
		return nil, fmt.Errorf("read the Lease %s: %w", l.name, err)
	case found.Spec.HolderIdentity == nil || *found.Spec.HolderIdentity != l.holder:
		return nil, cluster.FrameworkError{Message: "another scheduler holds the Lease " + l.name + " now",
			FailedOver: true}
	}
	return found, nil
}

func (l *lease) get(ctx context.Context) (*coordinationv1.Lease, error) {
	found := &coordinationv1.Lease{}
	return found, do(ctx, l.api.Coordination.Get().Namespace(l.namespace).Resource("leases").Name(l.name), found)
}

// acquire sets the fields of a Lease by which this session becomes its holder.
func (l *lease) acquire(target *coordinationv1.Lease) {
	transitions := int32(1)
	if t := target.Spec.LeaseTransitions; t != nil {
		transitions += *t
	}
	seconds, acquired := int32(renewTimeout/time.Second), metav1.NewMicroTime(l.now())
	target.Spec.HolderIdentity, target.Spec.LeaseDurationSeconds = &l.holder, &seconds
	target.Spec.LeaseTransitions, target.Spec.AcquireTime = &transitions, &acquired
	l.stamp(target)
}

// stamp sets the time of the renewal.
func (l *lease) stamp(target *coordinationv1.Lease) {
	renewed := metav1.NewMicroTime(l.now())
	target.Spec.RenewTime = &renewed
}

// write creates or updates the Lease. An update fails if the Lease has changed since it was read.
func (l *lease) write(ctx context.Context, next *coordinationv1.Lease, create bool) error {
	request := l.api.Coordination.Put().Name(l.name)
	if create {
		request = l.api.Coordination.Post()
	}
	written := &coordinationv1.Lease{}
	if err := do(ctx, request.Namespace(l.namespace).Resource("leases").Body(next), written); err != nil {
		return err
	}
	l.held = written
	return nil
}
