// Package campaign runs the election campaigns of one process, for a registry that several servers share. It runs one
// campaign at a time, until this process leads or the caller's context ends. The registry implements the election (see
// Election).
package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// ErrClosed is the error of a campaign for a closed registry.
var ErrClosed = errors.New("the registry is closed")

// Term is a term of a registry that uses this package.
type Term interface {
	registry.Term
	// Leader returns this process as the leader of the term.
	Leader() registry.Leader
	// Finish ends the term and waits for all goroutines of the term. Err then returns reason, unless the term has
	// ended before.
	Finish(reason error)
}

// Election is the registry's part of one campaign.
type Election interface {
	// Try stands for election. It returns the term when this process leads, or the first error.
	Try(ctx context.Context, address string) (Term, error)
	// PermanentError returns the error with which the campaign ends after Try has failed with err. It returns nil if
	// the campaign must try again.
	PermanentError(err error) error
	// Pause returns how long the campaign waits before the next Try. took is the duration of the failed Try.
	Pause(err error, took time.Duration) time.Duration
}

// Leadership is this process's campaign and the term in which it leads. Its methods may be called concurrently.
type Leadership struct {
	log *slog.Logger
	// attrs are the attributes of the warning about a failed campaign, which is logged at most once per interval.
	attrs    []any
	interval time.Duration

	ctx    context.Context // ends at Close
	cancel context.CancelFunc

	campaigning chan struct{} // has a token, except while a campaign runs

	mu      sync.Mutex // locked while current is set, so that Close finishes every term
	current atomic.Pointer[Term]
}

// New returns the Leadership of a process that does not campaign yet. If a campaign fails, it logs a warning with
// attrs, at most once per interval.
func New(log *slog.Logger, interval time.Duration, attrs ...any) *Leadership {
	l := &Leadership{log: log, interval: interval, attrs: attrs, campaigning: make(chan struct{}, 1)}
	l.campaigning <- struct{}{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Context returns a context that ends at Close.
func (l *Leadership) Context() context.Context { return l.ctx }

// Leader returns this process as the leader, or false if its term has ended or it never led.
func (l *Leadership) Leader() (registry.Leader, bool) {
	if current := l.current.Load(); current != nil && (*current).Err() == nil {
		return (*current).Leader(), true
	}
	return registry.Leader{}, false
}

// Campaign stands for election until this process leads, ctx ends, Close is called or Try fails with a permanent
// error. It waits for the end of a running campaign, and ends this process's previous term if that still lasts.
func (l *Leadership) Campaign(ctx context.Context, address string, e Election) (Term, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(ErrClosed) })()
	select {
	case <-l.campaigning:
		defer func() { l.campaigning <- struct{}{} }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.finish("this process stood for election again")
	var warnedAt time.Time
	for {
		began := time.Now()
		t, err := e.Try(ctx, address)
		if err == nil {
			if err = l.setCurrent(ctx, t); err == nil {
				l.log.Info("term began", "term", t.Number(), "who", address)
				return t, nil
			}
			t.Finish(err)
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if permanent := e.PermanentError(err); permanent != nil {
			return nil, permanent
		}
		wait := e.Pause(err, time.Since(began))
		if time.Since(warnedAt) >= l.interval {
			warnedAt = time.Now()
			l.log.Warn("campaign failed, retrying", append(slices.Clip(l.attrs), "error", err)...)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// setCurrent makes t the current term, unless ctx has ended or the registry is closed.
func (l *Leadership) setCurrent(ctx context.Context, t Term) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return ErrClosed
	}
	if ctx.Err() == nil {
		l.current.Store(&t)
	}
	return ctx.Err()
}

// finish ends the current term, if there is one.
func (l *Leadership) finish(reason string) {
	if current := l.current.Load(); current != nil {
		(*current).Finish(fmt.Errorf("%w: %s", registry.ErrTermEnded, reason))
	}
}

// Close ends the current term and the running campaign, and waits for both.
func (l *Leadership) Close() {
	l.mu.Lock()
	l.cancel() // no term begins after this
	l.mu.Unlock()
	l.finish("the registry was closed")
	<-l.campaigning // waits for a campaign that is ending
	l.campaigning <- struct{}{}
}
