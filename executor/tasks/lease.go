package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/lease"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// firstLeaseTimeout is how long a task waits for its first lease.
const firstLeaseTimeout = 5 * time.Minute

// awaitLease waits for the first lease of an exclusive task, and keeps it renewed until release is called (rule K5). A
// task that is not exclusive waits for nothing. The error is the reason of a kill, or says why no server has granted a
// lease.
func (t *task) awaitLease(spec wire.Task) (release func(), err error) {
	if spec.Lease == nil {
		return func() {}, nil
	}
	granted := make(chan struct{})
	first := sync.OnceFunc(func() { close(granted) })
	t.host.Leases.Hold(lease.Task{ID: t.id, Grant: *spec.Lease,
		Renewed: func(until time.Duration) { t.renewed(until); first() },
		End:     func(why string, late time.Duration) { t.killWithoutLease(max(t.grace()-late, 0), why) },
	})
	release = func() { t.host.Leases.Release(t.id) }
	timeout := time.NewTimer(firstLeaseTimeout)
	defer timeout.Stop()
	select {
	case <-granted:
		return release, nil
	case <-t.ctx.Done():
		err = context.Cause(t.ctx)
	case <-timeout.C:
		err = fmt.Errorf("no scheduler has given this exclusive task a lease for %s; check that agents reach --lease-urls: %w",
			firstLeaseTimeout, cmp.Or(t.host.Leases.Failed(), errors.New("the servers have answered without one")))
	}
	release()
	return func() {}, err
}

// checkLease kills the task, and returns the reason, if its lease is over. It must be called just before a process is
// started, because the machine may have been suspended since the last check.
func (t *task) checkLease() error {
	if until := t.leaseEnd(); until > 0 && lease.Now() >= until {
		t.killWithoutLease(0, "its lease is over: no scheduler has renewed it in time")
		return context.Cause(t.ctx)
	}
	return nil
}

// endedWithLease handles the end of a process that had a lease. If the supervisor has ended it because its lease was
// over, the task is killed, as if the executor had noticed that first. If the process can't be killed, the task's last
// update says so.
func (t *task) endedWithLease(exit processExit) {
	if exit.Unkilled {
		t.mu.Lock()
		t.unkilled = true
		t.mu.Unlock()
	}
	if exit.LeaseOver {
		t.killWithoutLease(0, "its lease is over: no scheduler has renewed it in time")
	}
}

// killWithoutLease kills a task that has no lease any more. The task's last update says that it lost the lease, unless
// it was killed before.
func (t *task) killWithoutLease(grace time.Duration, why string) {
	t.mu.Lock()
	t.leaseLost = t.leaseLost || t.ctx.Err() == nil
	t.mu.Unlock()
	t.kill(grace, why)
}

// renewed records the end of a new lease, and tells the supervisor.
func (t *task) renewed(until time.Duration) {
	t.mu.Lock()
	t.leaseEnds = until
	p := t.process
	t.mu.Unlock()
	if p == nil {
		return
	}
	if err := p.Renew(until); err != nil {
		t.log.Warn("lease not renewed", "error", err)
	}
}

// leaseEnd returns the end of the task's lease, by lease.Now; 0 if the task needs no lease.
func (t *task) leaseEnd() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaseEnds
}
