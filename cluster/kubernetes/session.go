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

// ErrClosed is a session's Err after Close.
var ErrClosed = errors.New("the session was closed")

const (
	// workers is how many requests of each kind are concurrent at most, except for those of Launch.
	workers = 8
	// sweepInterval is the interval for checking pods that do not start and for retrying failed requests.
	sweepInterval = time.Second
	// lingerTimeout is how long a pod may run on after its shard has ended. The kubelet needs a moment to notice that
	// all containers have ended.
	lingerTimeout = 30 * time.Second
	// endsCommittedAfter is how long after the core's first reconciliation a pod that ended in an earlier session
	// counts as committed, unless the core has asked about its task: at the beginning of a session, the core asks
	// about every task whose end it does not know.
	endsCommittedAfter = 30 * time.Second
)

// session is a subscription: it lasts as long as its holder has the framework's Lease. Events leave in the order in
// which the session detected them.
type session struct {
	*Driver
	framework string
	label     string // label value of the framework's pods
	lease     *lease
	log       *slog.Logger
	ctx       context.Context
	cancel    context.CancelCauseFunc
	began     time.Time
	ahead     time.Duration // how far the scheduler's clock is ahead of the API server's

	out            chan cluster.Event
	queue          *queue[cluster.Event]
	unboundPods    *queue[*corev1.Pod] // unbound pods that no Launch is going to bind
	finalizerQueue *queue[types.UID]   // pods whose finalizer is to be removed
	offersStale    chan struct{}       // holds a token if the offers need an update
	work           sync.WaitGroup
	calls          sync.RWMutex // calls that change something hold it as readers

	mu            sync.Mutex // guards the fields below
	listed        bool       // the first lists are complete
	reconciledAt  time.Time  // when the core first asked for reconciliation; zero before
	listRequests  int        // number of requested pod lists
	pods          map[types.UID]*podRecord
	tasks         map[string]types.UID  // the bound pods of tasks, by task id
	launches      map[string]*launching // by name of the pod
	accounts      map[string]*account   // by name of the node
	currentOffers map[string]*account   // current offers, by id of the offer
	offerCount    int64                 // number of offers made so far
	suppressed    bool                  // no offers are made until RequestOffers
	// placeholders holds the placeholder pods by name.
	placeholders map[string]*placeholder
}

func (d *Driver) newSession(ctx context.Context, l *lease, framework string) *session {
	s := &session{
		Driver: d, framework: framework, label: pod.LabelValue(framework), lease: l,
		log: d.log.With("framework", framework),
		out: make(chan cluster.Event), queue: newQueue[cluster.Event](), unboundPods: newQueue[*corev1.Pod](),
		finalizerQueue: newQueue[types.UID](),
		offersStale:    make(chan struct{}, 1),
		pods:           map[types.UID]*podRecord{}, tasks: map[string]types.UID{}, launches: map[string]*launching{},
		accounts: map[string]*account{}, currentOffers: map[string]*account{}, placeholders: map[string]*placeholder{},
	}
	if s.ahead = l.ahead(); s.ahead != 0 {
		s.log.Warn("clock of this server differs from the API server's; correct it", "ahead",
			s.ahead.Round(time.Second))
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// start emits the first event and the listed state, and begins to watch for changes.
func (s *session) start(watchers []*watcher) {
	s.began = s.now() // the lists may have taken long
	s.emit(cluster.Subscribed{FrameworkID: s.framework, MasterID: string(s.lease.held.UID), Heartbeat: renewInterval})
	s.mu.Lock()
	s.listed = true
	for _, r := range s.pods {
		if r.pod == nil {
			continue
		}
		if u, bound := pod.Report(r.pod, s.circumstances(r, false)); bound {
			r.endedBefore = u.State.Terminal()
			if !hasFinalizer(r.pod) {
				// The core knows this pod, and asks about its task if it does not know the task's end. Pods with the
				// finalizer are reported at once: they may have been bound without the core's knowledge.
				r.reported = reportOf(u)
			}
		}
		s.reportPod(r)
	}
	s.mu.Unlock()
	s.log.Info("kubernetes session opened", "namespace", s.namespace, "lease", s.lease.name, "holder", s.lease.holder)
	for _, w := range watchers {
		s.work.Go(func() { w.run(s.ctx) })
	}
	for range workers {
		s.work.Go(func() { consume(s.ctx, s.unboundPods, s.discardUnboundPod) })
		s.work.Go(func() { consume(s.ctx, s.finalizerQueue, s.release) })
	}
	s.work.Go(s.runOffers)
	s.work.Go(s.renew)
	s.work.Go(s.runSweeps)
	s.work.Go(s.deliver)
}

// consume takes items from the queue and calls do for each until ctx ends.
func consume[T any](ctx context.Context, q *queue[T], do func(T)) {
	for {
		next, ok := q.take(ctx.Done())
		if !ok || ctx.Err() != nil {
			return
		}
		do(next)
	}
}

// deliver passes events to the channel until the session ends.
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

// emit puts an event into the queue. It never blocks.
func (s *session) emit(e cluster.Event) { s.queue.put(e) }

// renew renews the Lease regularly. It ends the session when another holder has taken over the Lease, or when renewals
// have failed for renewTimeout.
func (s *session) renew() {
	lastRenewed := s.began
	for {
		if !s.pause(renewInterval) {
			return
		}
		err := s.lease.renew(s.ctx)
		var failed cluster.FrameworkError
		switch {
		case err == nil:
			lastRenewed = s.now()
			s.emit(cluster.Heartbeat{})
		case errors.As(err, &failed):
			s.cancel(failed)
			return
		case s.ctx.Err() == nil && s.now().Sub(lastRenewed) > renewTimeout:
			s.cancel(fmt.Errorf("%w: %w", errNotRenewed, err))
			return
		case s.ctx.Err() == nil:
			s.log.Warn("lease not renewed", "lease", s.lease.name, "error", err)
		}
	}
}

// pause waits for d. It returns false if the session has ended.
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

// Events returns the channel of events, which is closed when the session has ended.
func (s *session) Events() <-chan cluster.Event { return s.out }

// Err returns why the session ended: ErrClosed, a cluster.FrameworkError, or an error which says that the Lease could
// not be renewed. It returns nil while the session is open.
func (s *session) Err() error { return context.Cause(s.ctx) }

// checkOpen returns nil while the session is open, and then the error for a call. doing says what the call does.
func (s *session) checkOpen(doing string) error {
	if s.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: the session has ended: %w", doing, s.Err())
}

// call returns the context of a call that changes something. The context ends with the session. The caller must call
// the returned function when the call has ended, because Close waits for it.
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

// Close ends the session. When it returns, the session's goroutines have ended and no call is in progress or will be
// sent. Close may be called more than once.
func (s *session) Close() error {
	wasOpen := s.ctx.Err() == nil
	s.cancel(ErrClosed)
	s.calls.Lock() // a call that begins after this sees that the session has ended
	defer s.calls.Unlock()
	s.work.Wait()
	if wasOpen { // otherwise another session may have the Lease
		s.clearPlaceholders()
	}
	return nil
}
