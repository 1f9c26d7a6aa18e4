// Package campaign is how a process comes to lead with a registry that several servers share: it stands for election,
// one campaign at a time, until it leads or nobody wants that any more. What an election is, the registry says.
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

// ErrClosed says that the registry is closed.
var ErrClosed = errors.New("the registry is closed")

// Term is a term of the registry that campaigns.
type Term interface {
	registry.Term
	// Leader is who leads in it.
	Leader() registry.Leader
	// Finish ends it, with the reason that Err gives then, and waits for all that it has started.
	Finish(why error)
}

// Election is one campaign's side of the registry.
type Election interface {
	// Try stands for election, and waits until it leads or something fails.
	Try(ctx context.Context, who string) (Term, error)
	// GivesUp is the error that the campaign ends with after one of Try, nil if it tries on.
	GivesUp(err error) error
	// Pause is how long it waits then, after a Try that took so long.
	Pause(err error, took time.Duration) time.Duration
}

// Leadership is a process's part in who leads: its campaign, and the term that it leads with. Its methods may be
// called concurrently.
type Leadership struct {
	log *slog.Logger
	// about are attributes of the warning that a campaign fails, which is logged once in each interval at most.
	about    []any
	interval time.Duration

	ctx    context.Context // ends when it is closed
	cancel context.CancelFunc

	campaigning chan struct{} // holds one token while nobody campaigns

	mu      sync.Mutex // held to set current, so that Close misses no term
	current atomic.Pointer[Term]
}

// New is of a process that does not campaign yet. It warns that a campaign fails once in each interval at most, with
// the attributes about.
func New(log *slog.Logger, interval time.Duration, about ...any) *Leadership {
	l := &Leadership{log: log, interval: interval, about: about, campaigning: make(chan struct{}, 1)}
	l.campaigning <- struct{}{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Context ends at Close.
func (l *Leadership) Context() context.Context { return l.ctx }

// Leader is this process, if its term lasts.
func (l *Leadership) Leader() (registry.Leader, bool) {
	if current := l.current.Load(); current != nil && (*current).Err() == nil {
		return (*current).Leader(), true
	}
	return registry.Leader{}, false
}

// Campaign stands for election until it leads, ctx ends, this is closed, or the election gives up. The term before, if
// it still lasts, ends.
func (l *Leadership) Campaign(ctx context.Context, who string, e Election) (Term, error) {
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
	var said time.Time
	for {
		began := time.Now()
		t, err := e.Try(ctx, who)
		if err == nil {
			if err = l.lead(ctx, t); err == nil {
				l.log.Info("term began", "term", t.Number(), "who", who)
				return t, nil
			}
			t.Finish(err)
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if why := e.GivesUp(err); why != nil {
			return nil, why
		}
		wait := e.Pause(err, time.Since(began))
		if time.Since(said) >= l.interval {
			said = time.Now()
			l.log.Warn("standing for election failed: trying on", append(slices.Clip(l.about), "error", err)...)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// lead makes a term that has begun the one that this process leads with, unless nobody wants it any more.
func (l *Leadership) lead(ctx context.Context, t Term) error {
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

func (l *Leadership) finish(why string) {
	if current := l.current.Load(); current != nil {
		(*current).Finish(fmt.Errorf("%w: %s", registry.ErrTermEnded, why))
	}
}

// Close ends the term and the campaign under way, and waits for both.
func (l *Leadership) Close() {
	l.mu.Lock()
	l.cancel() // no term begins after this
	l.mu.Unlock()
	l.finish("the registry was closed")
	<-l.campaigning // a campaign that just ends
	l.campaigning <- struct{}{}
}
