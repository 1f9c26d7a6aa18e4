package scheduler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// confirmInterval is the minimum interval between two reads of the registry that confirm a term.
const confirmInterval = time.Second

// confirmTimeout is how long the registry may take to confirm a term.
const confirmTimeout = 5 * time.Second

// RenewLeases answers a holder's request for leases (rule K5). Before it returns the answer, a read of the registry,
// begun after the request arrived, must have confirmed that this process still leads. An earlier read would not do:
// another leader may have been elected since, and may have given up the tasks.
//
// RenewLeases returns lease.ErrSignature if the request is not the holder's, and another error if this process does not
// lead. The holder then keeps the leases that it has, and tries again.
func (s *Scheduler) RenewLeases(ctx context.Context, m lease.Message) (lease.Message, error) {
	r, err := s.current()
	if err != nil {
		return lease.Message{}, err
	}
	return r.renewLeases(ctx, m)
}

// answerByMessage answers a request for leases that an executor has sent by way of the cluster, because it reaches no
// server by HTTP. Like any message of Mesos, the answer may get lost.
func (r *termRunner) answerByMessage(ctx context.Context, s cluster.Session, m cluster.Message) {
	messenger, ok := s.(cluster.Messenger)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := r.renewLeases(ctx, *m.Lease)
	if err == nil {
		err = messenger.SendMessage(ctx, m.ExecutorID, m.AgentID, answer.Pack())
	}
	if err != nil {
		r.s.opt.Logger.Warn("request for leases by message not answered", "executor", m.ExecutorID, "error", err)
	}
}

func (r *termRunner) renewLeases(ctx context.Context, m lease.Message) (lease.Message, error) {
	key, err := r.leaseKey(ctx, m.Holder)
	if err != nil {
		return lease.Message{}, err
	}
	request, err := m.OpenRequest(key)
	if err != nil {
		return lease.Message{}, err
	}
	reply, err := r.ask(ctx, core.LeaseRequested{Request: request})
	switch {
	case err != nil:
		return lease.Message{}, err
	case reply.Lease == nil:
		return lease.Message{}, errors.New("the request was answered before, or came after a later one: ask again")
	}
	if err := r.confirmer.confirm(ctx); err != nil {
		return lease.Message{}, err
	}
	return reply.Lease.Seal(m.Holder, key), nil
}

// leaseKey returns the key of a holder. Signatures are checked with it outside of the core, so that forged requests
// don't reach the core. The core has a secret from the first exclusive task on. leaseKey asks the core until then,
// and keeps the secret.
func (r *termRunner) leaseKey(ctx context.Context, holder string) (string, error) {
	secret := r.leaseSecret.Load()
	if secret == nil {
		reply, err := r.ask(ctx, core.LeaseSecretRequested{})
		if err != nil {
			return "", err
		}
		if reply.LeaseSecret == nil {
			return "", lease.ErrSignature // no holder has a key yet
		}
		secret = &reply.LeaseSecret
		r.leaseSecret.Store(secret)
	}
	return lease.Key(*secret, holder), nil
}

// confirmer confirms a term for many requests at once. It reads the registry at most once in confirmInterval.
type confirmer struct {
	term registry.Term

	mu   sync.Mutex
	next *confirmation // the read that has not begun; nil if no request waits for one

	turn chan struct{} // a lock: it holds a value during a read and the pause before it
	last time.Time     // when the last read began
}

func newConfirmer(t registry.Term) *confirmer {
	return &confirmer{term: t, turn: make(chan struct{}, 1)}
}

// confirmation is one read of the registry, for all requests that came before the read began.
type confirmation struct {
	done chan struct{}
	err  error
}

// confirm returns nil if a read of the registry that began after this call shows that the term is the present one.
func (c *confirmer) confirm(ctx context.Context) error {
	c.mu.Lock()
	waitFor := c.next
	isFirst := waitFor == nil
	if isFirst {
		waitFor = &confirmation{done: make(chan struct{})}
		c.next = waitFor
	}
	c.mu.Unlock()
	if isFirst {
		c.read(context.WithoutCancel(ctx), waitFor) // others wait for it, too
	}
	select {
	case <-waitFor.done:
		return waitFor.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read reads the registry for one confirmation.
func (c *confirmer) read(ctx context.Context, result *confirmation) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	time.Sleep(confirmInterval - time.Since(c.last))
	c.mu.Lock()
	c.next = nil // a request that comes from now on needs another read
	c.mu.Unlock()
	c.last = time.Now()
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	result.err = c.term.Confirm(ctx)
	close(result.done)
}
