package keep

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
)

// Pods are deleted in batches of so many, so many at once, with a pause behind each batch: nobody else should have to
// wait for it. A pod whose deletion failed is tried again with the next batch.
const (
	batch   = 50
	workers = 4
	within  = 10 * time.Second
)

// Options are what a Keeper needs.
type Options struct {
	Rules Rules
	// Core is a client of the API server's core group.
	Core   rest.Interface
	Logger *slog.Logger
	// Pause is between two batches, a second if zero.
	Pause time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Keeper deletes ended pods that are not to be kept, as kubernetes.Keeper, by their uids.
type Keeper struct {
	opt     Options
	wake    chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	ended map[types.UID]entry
}

// entry is an ended pod, and the session that knows that it has ended: no other may have it deleted.
type entry struct {
	Ended
	session context.Context
}

var _ kubernetes.Keeper = (*Keeper)(nil)

// New begins to keep pods, until Close.
func New(opt Options) *Keeper {
	if opt.Pause == 0 {
		opt.Pause = time.Second
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	k := &Keeper{opt: opt, wake: make(chan struct{}, 1), ended: map[types.UID]entry{}}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.running.Go(func() { k.run(ctx) })
	return k
}

// Close ends it; what is being deleted may still be.
func (k *Keeper) Close() {
	k.cancel()
	k.running.Wait()
}

// Ended has a pod be kept, or deleted.
func (k *Keeper) Ended(session context.Context, p kubernetes.Pod, good bool, at time.Time) {
	k.mu.Lock()
	k.ended[p.UID] = entry{Ended{p, good, at}, session}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Gone forgets a pod.
func (k *Keeper) Gone(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ended, uid)
}

func (k *Keeper) run(ctx context.Context) {
	for {
		gone, next := k.choose()
		k.delete(ctx, gone[:min(len(gone), batch)])
		timer := time.NewTimer(k.opt.Pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if len(gone) > 0 {
			continue
		}
		var due <-chan time.Time
		if !next.IsZero() {
			timer.Reset(next.Sub(k.opt.Now()))
			due = timer.C
		}
		select {
		case <-k.wake:
		case <-due:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// choose says which pods are to go, of sessions that live.
func (k *Keeper) choose() (gone []Ended, next time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.ended, func(_ types.UID, e entry) bool { return e.session.Err() != nil })
	all := make([]Ended, 0, len(k.ended))
	for _, e := range k.ended {
		all = append(all, e.Ended)
	}
	return k.opt.Rules.Choose(k.opt.Now(), slices.Clip(all))
}

func (k *Keeper) delete(ctx context.Context, gone []Ended) {
	var group errgroup.Group
	group.SetLimit(workers)
	for _, e := range gone {
		group.Go(func() error { return k.deleteOne(ctx, e) })
	}
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		k.opt.Logger.Warn("ended pods not deleted, they are tried again", "error", err)
	}
}

// deleteOne deletes a pod, if it is still the one of its uid.
func (k *Keeper) deleteOne(ctx context.Context, e Ended) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := k.opt.Core.Delete().Namespace(e.Namespace).Resource("pods").Name(e.Name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &e.UID}}).Do(ctx).Error()
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		k.Gone(e.UID)
		return nil
	}
	return err
}
