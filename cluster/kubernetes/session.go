package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// ErrClosed is why a session ended that was closed.
var ErrClosed = errors.New("the session was closed")

const (
	// workers is how many requests of one kind are under way at a time, beside those of Launch.
	workers = 8
	// sweepEvery is how often pods that don't start, and requests that failed, are looked at.
	sweepEvery = time.Second
	// lingersFor is how long a pod may go on without its shard: the kubelet needs a moment to see that all of it has
	// ended.
	lingersFor = 30 * time.Second
	// endsKeptAfter is how long after the core's first questions a session takes the ends of earlier sessions' pods
	// for committed: the core asks about all that it has not heard the end of when a session begins.
	endsKeptAfter = 30 * time.Second
)

// session is one holder's time of a framework's Lease. What it knows is guarded by mu; events leave in the order in
// which they were found out.
type session struct {
	*Driver
	framework string
	label     string // of its pods
	lease     *lease
	log       *slog.Logger
	ctx       context.Context
	cancel    context.CancelCauseFunc
	began     time.Time
	ahead     time.Duration // of the API server's clock is the scheduler's

	out    chan cluster.Event
	queue  *queue[cluster.Event]
	strays *queue[*corev1.Pod] // unbound pods that nobody launches
	done   *queue[types.UID]   // pods whose finalizer is to go
	stale  chan struct{}       // has a token if offers are to be brought up to date
	work   sync.WaitGroup
	calls  sync.RWMutex // held by calls that change something

	mu       sync.Mutex
	listed   bool      // the first lists are complete
	asked    time.Time // when the core first asked what there is, zero before it has
	lists    int       // of pods that were asked for
	pods     map[types.UID]*podRecord
	tasks    map[string]types.UID
	launches map[string]*launching
	accounts map[string]*account
	standing map[string]*account // by the id of the offer
	offered  int64
	stopped  bool // no offers are wanted
	// unplaced are the pods that only stand for shards, by name.
	unplaced map[string]*standIn
}

func (d *Driver) newSession(ctx context.Context, l *lease, framework string) *session {
	s := &session{
		Driver: d, framework: framework, label: pod.LabelValue(framework), lease: l,
		log: d.log.With("framework", framework),
		out: make(chan cluster.Event), queue: newQueue[cluster.Event](), strays: newQueue[*corev1.Pod](),
		done:  newQueue[types.UID](),
		stale: make(chan struct{}, 1),
		pods:  map[types.UID]*podRecord{}, tasks: map[string]types.UID{}, launches: map[string]*launching{},
		accounts: map[string]*account{}, standing: map[string]*account{}, unplaced: map[string]*standIn{},
	}
	if s.ahead = l.ahead(); s.ahead != 0 {
		s.log.Warn("clock of this server differs from the API server's; set it right", "ahead",
			s.ahead.Round(time.Second))
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// start hands out the first event and what was listed, and begins to follow what changes.
func (s *session) start(watchers []*watcher) {
	s.began = s.now() // the lists may have taken long
	s.emit(cluster.Subscribed{FrameworkID: s.framework, MasterID: string(s.lease.held.UID), Heartbeat: renewEvery})
	s.mu.Lock()
	s.listed = true
	for _, r := range s.pods {
		if r.own == nil {
			continue
		}
		if u, bound := pod.Report(r.own, s.circumstances(r, false)); bound {
			r.inherited = u.State.Terminal()
			if !hasFinalizer(r.own) {
				// The core asks about what it does not know the end of. Only pods that may have been bound without its
				// knowledge are reported unasked.
				r.reported = reportOf(u)
			}
		}
		s.tendPod(r)
	}
	s.mu.Unlock()
	s.log.Info("kubernetes session opened", "namespace", s.namespace, "lease", s.lease.name, "holder", s.lease.holder)
	for _, w := range watchers {
		s.work.Go(func() { w.run(s.ctx) })
	}
	for range workers {
		s.work.Go(func() { each(s.ctx, s.strays, s.discardStray) })
		s.work.Go(func() { each(s.ctx, s.done, s.release) })
	}
	s.work.Go(s.runOffers)
	s.work.Go(s.renew)
	s.work.Go(s.sweepRegularly)
	s.work.Go(s.deliver)
}

func each[T any](ctx context.Context, q *queue[T], do func(T)) {
	for {
		next, ok := q.take(ctx.Done())
		if !ok || ctx.Err() != nil {
			return
		}
		do(next)
	}
}

// deliver hands events out until the session ends.
func (s *session) deliver() {
	defer close(s.out)
	for {
		e, ok := s.queue.take(s.ctx.Done())
		if !ok {
			break
		}
		select {
		case s.out <- e:
			continue
		case <-s.ctx.Done():
		}
		break
	}
	s.log.Info("kubernetes session ended", "reason", s.Err())
}

func (s *session) emit(e cluster.Event) { s.queue.put(e) }

// renew keeps the Lease, by which the session knows that it lives, and that no other has taken its place.
func (s *session) renew() {
	last := s.began
	for {
		if !s.pause(renewEvery) {
			return
		}
		err := s.lease.renew(s.ctx)
		var failed cluster.FrameworkError
		switch {
		case err == nil:
			last = s.now()
			s.emit(cluster.Heartbeat{})
		case errors.As(err, &failed):
			s.cancel(failed)
			return
		case s.ctx.Err() == nil && s.now().Sub(last) > renewWithin:
			s.cancel(fmt.Errorf("%w: %w", errSilent, err))
			return
		case s.ctx.Err() == nil:
			s.log.Warn("lease not renewed", "lease", s.lease.name, "error", err)
		}
	}
}

// pause waits, and reports whether the session still lives.
func (s *session) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// Events closes when the session has ended.
func (s *session) Events() <-chan cluster.Event { return s.out }

// Err is why the session ended: ErrClosed, a cluster.FrameworkError, or that its Lease could not be renewed.
func (s *session) Err() error { return context.Cause(s.ctx) }

// ended is the error of a call that came after the session's end.
func (s *session) ended(doing string) error {
	if s.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: the session has ended: %w", doing, s.Err())
}

// call makes a context for a call that changes something: it ends with the session. Close waits until the call is
// done.
func (s *session) call(ctx context.Context) (context.Context, func()) {
	s.calls.RLock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		s.calls.RUnlock()
	}
}

// Close ends the session. When it returns, its goroutines are gone and no call is under way or will be sent. Closing
// twice does no harm.
func (s *session) Close() error {
	lived := s.ctx.Err() == nil
	s.cancel(ErrClosed)
	s.calls.Lock() // a call that begins after this sees the end
	defer s.calls.Unlock()
	s.work.Wait()
	if lived {
		s.clearUnplaced()
	}
	return nil
}
