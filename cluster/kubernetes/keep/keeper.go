package keep

import (
	"cmp"
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

// A Keeper deletes pods in batches of batchSize, with at most workers requests at the same time and a pause after each
// batch, so that it does not delay other clients of the API server. The next batch retries failed deletions.
const (
	batchSize     = 50
	workers       = 4
	deleteTimeout = 10 * time.Second
)

// Options configure a Keeper.
type Options struct {
	Rules Rules
	// Core is a client of the API server's core group.
	Core   rest.Interface
	Logger *slog.Logger
	// Pause is the pause between two batches; 0 means a second.
	Pause time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Keeper implements kubernetes.Keeper. It deletes the ended pods that the rules do not keep.
type Keeper struct {
	opt     Options
	wake    chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	ended map[types.UID]entry
}

// entry is an ended pod together with the session that reported its end. The pod may be deleted only while that session
// lives.
type entry struct {
	Ended
	session context.Context
}

var _ kubernetes.Keeper = (*Keeper)(nil)

// New starts a Keeper, which runs until Close.
func New(opt Options) *Keeper {
	opt.Pause = cmp.Or(opt.Pause, time.Second)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	k := &Keeper{opt: opt, wake: make(chan struct{}, 1), ended: map[types.UID]entry{}}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.running.Go(func() { k.run(ctx) })
	return k
}

// Close stops the Keeper. Deletions in progress may still take effect.
func (k *Keeper) Close() {
	k.cancel()
	k.running.Wait()
}

// Ended adds an ended pod, which is then kept or deleted by the rules until the session ends.
func (k *Keeper) Ended(session context.Context, p kubernetes.Pod, finished bool, at time.Time) {
	k.mu.Lock()
	k.ended[p.UID] = entry{Ended{p, finished, at}, session}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Gone removes a pod that no longer exists.
func (k *Keeper) Gone(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ended, uid)
}

// run deletes pods batch by batch. When none is left to delete, it waits for another ended pod or for the maximum age
// of one that is kept.
func (k *Keeper) run(ctx context.Context) {
	for {
		gone, next := k.choose()
		k.delete(ctx, gone[:min(len(gone), batchSize)])
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

// choose returns the pods to delete and the time at which to choose again. It forgets the pods of ended sessions.
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
		k.opt.Logger.Warn("ended pods not deleted, retrying", "error", err)
	}
}

// deleteOne deletes a pod if it still has this UID. It forgets a pod that no longer exists.
func (k *Keeper) deleteOne(ctx context.Context, e Ended) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	err := k.opt.Core.Delete().Namespace(e.Namespace).Resource("pods").Name(e.Name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &e.UID}}).Do(ctx).Error()
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		k.Gone(e.UID)
		return nil
	}
	return err
}
