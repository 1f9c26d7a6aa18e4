package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// minRetry and maxRetry are the shortest and the longest pause before the agent tries to register again.
const (
	minRetry = 50 * time.Millisecond
	maxRetry = time.Second
)

// stayRegistered keeps the agent registered with its master, session after session, until ctx ends or the master
// permanently rejects the agent.
func (a *Agent) stayRegistered(ctx context.Context) {
	logged, wait := "", minRetry
	for repeated := false; ; repeated = true {
		session, err := a.master.Register(ctx, a.registration(repeated))
		switch {
		case ctx.Err() != nil:
			if err == nil {
				session.Close()
			}
			return
		case errors.Is(err, link.ErrGone), errors.Is(err, link.ErrCredentials):
			a.log.Error("agent refused by its master", "agent", a.id, "error", err)
			a.handleRejection(err)
			return
		case err != nil:
			if logged != err.Error() {
				logged = err.Error()
				a.log.Warn("agent not registered, retrying", "agent", a.id, "error", err)
			}
			wait = min(2*wait, maxRetry)
		default:
			logged, wait = "", minRetry
			if err = a.runSession(ctx, session); ctx.Err() == nil {
				a.log.Warn("session with the master lost, reregistering", "agent", a.id, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// handleRejection handles a permanent rejection by the master. If the agent was marked gone, it ends all executors.
func (a *Agent) handleRejection(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endJoining(err)
	select {
	case a.options.Failed <- err:
	default: // one reason is enough, and there may be no receiver
	}
	if errors.Is(err, link.ErrGone) {
		for id := range a.frameworks {
			a.shutdownFramework(id)
		}
	}
}

// runSession exchanges orders and news until the session or ctx ends.
func (a *Agent) runSession(ctx context.Context, session link.Session) error {
	ctx, cancel := context.WithCancelCause(ctx)
	a.setInSession(true)
	defer a.setInSession(false)
	a.endJoining(nil)
	var handlingOrders sync.WaitGroup
	defer handlingOrders.Wait()
	defer session.Close()
	defer cancel(nil)
	handlingOrders.Go(func() {
		for {
			orders, err := session.Orders()
			if err != nil {
				cancel(err)
				return
			}
			for i := range orders {
				a.handleOrder(&orders[i])
			}
		}
	})
	for {
		news, err := a.news.Next(ctx)
		if err != nil {
			return context.Cause(ctx)
		}
		for _, n := range news {
			if err := session.Report(n); err != nil {
				return err
			}
		}
	}
}

func (a *Agent) setInSession(inSession bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inSession = inSession
}

// registration describes everything that the agent has. A repeated registration drops all queued news, because it
// contains what they say. To report them afterwards would be wrong: an executor that ended may have a successor by
// then.
func (a *Agent) registration(repeated bool) link.Registration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if repeated {
		a.news.Take()
	}
	r := link.Registration{Agent: proto(a.info)}
	for id, f := range a.frameworks {
		r.Frameworks = append(r.Frameworks, proto(f.info))
		for _, ex := range f.executors {
			if ex.forget {
				continue
			}
			if ex.state != terminated {
				r.Executors = append(r.Executors, proto(ex.info))
			}
			for _, t := range ex.inOrder() {
				state := link.TaskState{Framework: id, Task: proto(t.info), Latest: t.state}
				last := t.acked
				if len(t.pending) > 0 {
					last = t.pending[0]
				}
				if last != nil {
					status := proto(*last)
					state.Status = &status
				}
				r.Tasks = append(r.Tasks, state)
			}
		}
	}
	return r
}

func proto[T any](of T) link.Proto[T] { return link.Proto[T]{Of: of} }
