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
)

const (
	// pageSize is how many objects are listed with one request: so many that the pods of a large cluster are listed
	// within a Subscribe.
	pageSize = 2000
	// watchFor is how long one watch lasts at least; the API server ends it then, and the next one goes on where it
	// ended.
	watchFor = 5 * time.Minute
	// watchSilence is more than an API server lets pass between two bookmarks. A watch without a word for so long is
	// opened again.
	watchSilence = 150 * time.Second
	// watchFirst and watchMost are the pauses before a watch that broke is opened again.
	watchFirst, watchMost = 100 * time.Millisecond, 5 * time.Second
	// listAfter is for how long no watch may come about before all is listed instead, and how often then.
	listAfter = 30 * time.Second
)

// store takes what a watcher learns.
type store interface {
	// put takes an object as it is now; gone the last state of one that is not there any more.
	put(object runtime.Object)
	gone(object runtime.Object)
	// listing is called before a list is asked for.
	listing()
	// retain is called behind a list: what is not in it is gone, too.
	retain(uids map[types.UID]struct{})
}

// watcher keeps a store like the API server's objects of one kind: it lists them and watches them from there on. When
// the API server does not know any more what changed since (410), it lists them again; and now and then where it may
// list them, and no watch comes about.
type watcher struct {
	api                 *API
	resource, namespace string // of all namespaces if that is empty
	empty               func() runtime.Object
	store               store
	log                 *slog.Logger
	version             string
	listAfter           time.Duration // listAfter, but for tests
}

func podList() runtime.Object  { return &corev1.PodList{} }
func nodeList() runtime.Object { return &corev1.NodeList{} }

// list reads all objects, as they are at one moment, from a quorum.
func (w *watcher) list(ctx context.Context) error {
	w.store.listing()
	seen, options := map[types.UID]struct{}{}, metav1.ListOptions{Limit: pageSize}
	for {
		page := w.empty()
		request := w.api.Core.Get().NamespaceIfScoped(w.namespace,
			w.namespace != "").Resource(w.resource).VersionedParams(&options, w.api.params)
		if err := do(ctx, request, page); err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		info, err := meta.ListAccessor(page)
		if err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		if err := meta.EachListItem(page, func(object runtime.Object) error {
			if one, err := meta.Accessor(object); err == nil {
				seen[one.GetUID()] = struct{}{}
			}
			w.store.put(object)
			return nil
		}); err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		if options.Continue = info.GetContinue(); options.Continue == "" {
			// Not before: from there on it is watched, and what a list that breaks off has not brought would never
			// come.
			w.version = info.GetResourceVersion()
			w.store.retain(seen)
			return nil
		}
	}
}

// run follows what changes behind a list until ctx ends.
func (w *watcher) run(ctx context.Context) {
	pause, current := watchFirst, time.Now()
	for ctx.Err() == nil {
		before, began := w.version, time.Now()
		err := w.watch(ctx)
		if err == nil && w.version == before && time.Since(began) < watchMost {
			err = errShortWatch
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			w.log.Info("watch expired, listing again", "resource", w.resource)
			err = w.list(ctx)
		} else if err != nil && w.version == before && time.Since(current) > w.listAfter && ctx.Err() == nil {
			w.log.Warn("no watch comes about: listing instead, so that what changes is seen late", "resource",
				w.resource, "every", w.listAfter, "error", err)
			if w.list(ctx) == nil {
				current = time.Now()
			}
		}
		if err == nil || w.version != before {
			pause, current = watchFirst, time.Now()
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		level := slog.LevelDebug
		if pause == watchFirst {
			level = slog.LevelWarn
		}
		w.log.Log(ctx, level, "watch broke", "resource", w.resource, "error", err, "again_in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, watchMost)
	}
}

var (
	errSilentWatch = errors.New("the watch brought nothing, not even a bookmark")
	errShortWatch  = errors.New("the watch ended at once")
)

// watch follows changes until the API server ends the watch, which is no error.
func (w *watcher) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seconds := int64(watchFor/time.Second) + rand.Int64N(60)
	events, err := w.api.Core.Get().NamespaceIfScoped(w.namespace,
		w.namespace != "").Resource(w.resource).VersionedParams(&metav1.ListOptions{
		Watch: true, ResourceVersion: w.version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}, w.api.params).MaxRetries(0).Watch(ctx)
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	defer events.Stop()
	silence := time.NewTimer(watchSilence)
	defer silence.Stop()
	for {
		select {
		case e, open := <-events.ResultChan():
			if !open {
				return nil
			}
			silence.Reset(watchSilence)
			if err := w.apply(e); err != nil {
				return err
			}
		case <-silence.C:
			return errSilentWatch
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watcher) apply(e watch.Event) error {
	if e.Type == watch.Error {
		return fmt.Errorf("watch %s: %w", w.resource, apierrors.FromObject(e.Object))
	}
	one, err := meta.Accessor(e.Object)
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.resource, err)
	}
	switch e.Type {
	case watch.Added, watch.Modified:
		w.store.put(e.Object)
	case watch.Deleted:
		w.store.gone(e.Object)
	}
	w.version = one.GetResourceVersion()
	return nil
}
