package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is the number of objects per list request. It is so large that even the pods of a large cluster are
	// listed within the timeout of a Subscribe.
	pageSize = 2000
	// watchDuration is the minimum duration of one watch. The API server ends the watch after it, and the next watch
	// continues at the same version.
	watchDuration = 5 * time.Minute
	// silenceTimeout is longer than the time between two bookmarks of an API server. A watch that is silent for so
	// long is reopened.
	silenceTimeout = 150 * time.Second
	// minWatchPause and maxWatchPause are the shortest and the longest pause before a broken watch is reopened.
	minWatchPause, maxWatchPause = 100 * time.Millisecond, 5 * time.Second
	// listAfter is how long all attempts to open a watch may fail before a full list replaces the watch. It is also the
	// interval of these lists.
	listAfter = 30 * time.Second
)

// store receives the objects that a watcher reads.
type store interface {
	// put receives an object's current state.
	put(object runtime.Object)
	// gone receives the last state of an object that no longer exists.
	gone(object runtime.Object)
	// listing is called before a list is requested.
	listing()
	// retain is called after a list. Objects that are not in uids no longer exist.
	retain(uids map[types.UID]struct{})
}

// watcher keeps a store in sync with the API server's objects of one resource: it lists the objects and then watches
// for changes since the list. It lists again when the API server no longer has the changes since the last version
// (410), and periodically as long as no watch can be opened.
type watcher struct {
	api                 *API
	resource, namespace string                // namespace is empty for all namespaces
	empty               func() runtime.Object // returns an empty list of the resource
	store               store
	log                 *slog.Logger
	version             string        // of the last object or list that was read
	listAfter           time.Duration // the constant listAfter, except in tests
}

func podList() runtime.Object  { return &corev1.PodList{} }
func nodeList() runtime.Object { return &corev1.NodeList{} }

// list reads a consistent snapshot of all objects, from a quorum.
func (w *watcher) list(ctx context.Context) error {
	w.store.listing()
	seen, options := map[types.UID]struct{}{}, metav1.ListOptions{Limit: pageSize}
	for {
		page := w.empty()
		if err := do(ctx, w.get(&options), page); err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		info, err := meta.ListAccessor(page)
		if err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		if err := meta.EachListItem(page, func(object runtime.Object) error {
			if metadata, err := meta.Accessor(object); err == nil {
				seen[metadata.GetUID()] = struct{}{}
			}
			w.store.put(object)
			return nil
		}); err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		if options.Continue = info.GetContinue(); options.Continue == "" {
			// The version is set only when the list is complete. Watches start from it: if it were set earlier and the
			// list then failed, the objects of the missing pages would never be reported.
			w.version = info.GetResourceVersion()
			w.store.retain(seen)
			return nil
		}
	}
}

func (w *watcher) get(options *metav1.ListOptions) *rest.Request {
	return w.api.Core.Get().NamespaceIfScoped(w.namespace, w.namespace != "").Resource(w.resource).
		VersionedParams(options, w.api.params)
}

// run follows the changes after a list until ctx ends. It reopens a watch that ended, after a pause if the watch failed
// or was very short without changes. If every watch has failed for listAfter, for example because a proxy cuts watches,
// it reads lists instead.
func (w *watcher) run(ctx context.Context) {
	pause, lastCurrent := minWatchPause, time.Now()
	for ctx.Err() == nil {
		before, began := w.version, time.Now()
		err := w.watch(ctx)
		if err == nil && w.version == before && time.Since(began) < maxWatchPause {
			err = errWatchShort
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			w.log.Info("watch expired, listing again", "resource", w.resource)
			err = w.list(ctx)
		} else if err != nil && w.version == before && time.Since(lastCurrent) > w.listAfter && ctx.Err() == nil {
			w.log.Warn("watch not opened, listing instead: changes are seen late", "resource",
				w.resource, "every", w.listAfter, "error", err)
			if w.list(ctx) == nil {
				lastCurrent = time.Now()
			}
		}
		if err == nil || w.version != before {
			pause, lastCurrent = minWatchPause, time.Now()
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		level := slog.LevelDebug
		if pause == minWatchPause {
			level = slog.LevelWarn
		}
		w.log.Log(ctx, level, "watch failed", "resource", w.resource, "error", err, "retry_in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, maxWatchPause)
	}
}

var (
	errWatchSilent = errors.New("no event on the watch, not even a bookmark")
	errWatchShort  = errors.New("the watch ended at once")
)

// watch follows changes until the API server ends the watch, which is not an error.
func (w *watcher) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seconds := int64(watchDuration/time.Second) + rand.Int64N(60)
	events, err := w.get(&metav1.ListOptions{
		Watch: true, ResourceVersion: w.version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}).MaxRetries(0).Watch(ctx)
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	defer events.Stop()
	silence := time.NewTimer(silenceTimeout)
	defer silence.Stop()
	for {
		select {
		case e, open := <-events.ResultChan():
			if !open {
				return nil
			}
			silence.Reset(silenceTimeout)
			if err := w.apply(e); err != nil {
				return err
			}
		case <-silence.C:
			return errWatchSilent
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watcher) apply(e watch.Event) error {
	if e.Type == watch.Error {
		return fmt.Errorf("watch %s: %w", w.resource, apierrors.FromObject(e.Object))
	}
	metadata, err := meta.Accessor(e.Object)
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	switch e.Type {
	case watch.Added, watch.Modified:
		w.store.put(e.Object)
	case watch.Deleted:
		w.store.gone(e.Object)
	}
	w.version = metadata.GetResourceVersion()
	return nil
}
