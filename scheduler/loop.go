package scheduler

// The order of effects, and what a crash between any two of them leads to:
//
//  1. a change of configuration is committed alone (T4). Crash: the next
//     leader finds the document, compares it with what it stored of the job,
//     and does what the change asks for; the requester got no answer.
//  2. the step's writes are committed. Crash before: nothing happened; events
//     of the cluster come again (updates are not acknowledged yet), fires are
//     made again from the cursor, requesters got no answer.
//  3. ACCEPT, KILL, SHUTDOWN, RECONCILE, ACKNOWLEDGE, DECLINE, REVIVE,
//     SUPPRESS leave. Crash before or between: a launch that did not leave is
//     found by reconciliation (GONE: never began, launched again, E1); kills
//     and shutdowns are state and are sent again (K1, X2); updates come again
//     (S3); offers are all forgotten with the next subscription (T6).
//     Nothing leaves any more once the term is known to be over: calls that wait are dropped.
//  4. requesters are answered. Crash before: they see the connection break,
//     and an Idempotency-Key makes asking again safe (T3).

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// termRunner is the shell around one term's core.
type termRunner struct {
	s    *Scheduler
	term registry.Term
	rnd  rand.Source
	// began is when the core was loaded.
	began time.Time

	gate stateGate // the loop's from a step's begin to its commit's end, else the readers'
	core *core.Core

	inbox      inbox
	notes      *noteLog
	dispatcher *dispatcher
	edits      externalEdits
	ended      chan struct{} // closed when the term has ended for requesters
	drained    chan struct{}
	isDrain    bool

	askMu sync.Mutex
	token uint64
	asks  map[uint64]chan core.Reply

	subscribed             atomic.Bool
	failed                 atomic.Bool // the last commit: what the core decided may not be true
	commits, commitsFailed atomic.Int64

	abdicated chan error // why this leader resigns though its term holds
	scrapes   chan chan<- core.Stats
	measured  atomic.Pointer[core.Stats] // the last answer to a scrape
}

func newTermRunner(s *Scheduler, term registry.Term, c *core.Core, began time.Time) *termRunner {
	r := &termRunner{s: s, term: term, core: c, began: began, gate: newStateGate(), notes: newNoteLog(s.opt.Logger), rnd: s.opt.Random, ended: make(chan struct{}), drained: make(chan struct{}), asks: map[uint64]chan core.Reply{}}
	r.inbox.ready = make(chan struct{}, 1)
	r.abdicated, r.scrapes = make(chan error, 1), make(chan chan<- core.Stats)
	first := c.Stats()
	r.measured.Store(&first)
	r.dispatcher = newDispatcher(r)
	return r
}

// scrapePatience is how long a scrape waits for the moment between two steps.
const scrapePatience = 50 * time.Millisecond

// measure gives the core's statistics, or, when the loop does not come to it in a moment,
// those of the last time.
func (r *termRunner) measure() core.Stats {
	late := time.NewTimer(scrapePatience)
	defer late.Stop()
	answer := make(chan core.Stats, 1)
	select {
	case r.scrapes <- answer:
		st := <-answer // the loop has taken it, between two steps
		r.measured.Store(&st)
		return st
	case <-late.C:
	case <-r.ended:
	}
	return *r.measured.Load()
}

// run steps until ctx ends or the term does.
func (r *termRunner) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	watch, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.edits.collect(watch, r.term.Changed(), r.inbox.ring)
	}()
	defer func() {
		stop()
		<-watched
		r.edits.stop()
	}()
	for {
		select {
		case <-ctx.Done():
		case <-r.term.Done():
		case <-r.inbox.ready:
		case <-timer.C:
		case err := <-r.abdicated:
			return err
		case answer := <-r.scrapes:
			answer <- r.core.Stats() // nobody else changes the core
			continue
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case r.hasEnded():
			return fmt.Errorf("term %d: %w", r.term.Number(), r.term.Err())
		}
		events, changes := r.inbox.take()
		edits := r.readExternalEdits(ctx)
		d, err := r.step(ctx, append(events, edits...))
		if err == nil {
			r.logExternalEdits(edits)
		}
		for _, ch := range changes {
			if err != nil || ctx.Err() != nil {
				r.reply(core.Reply{Token: ch.Token, Err: notMade()})
				continue
			}
			d, err = r.change(ctx, ch)
		}
		if err != nil {
			return err
		}
		timer.Stop()
		if d.Wake > 0 {
			timer.Reset(max(d.Wake-r.elapsed(), 0))
		}
	}
}

// now reads the clocks. time.Now carries a reading of a clock that is never set, which Sub uses; a clock
// without one, as a test may have, is one that is never set back.
func (r *termRunner) now() core.Now {
	wall := r.s.opt.Clock()
	return core.Now{Wall: wall, Elapsed: max(wall.Sub(r.began), 0)}
}

func (r *termRunner) elapsed() time.Duration { return r.now().Elapsed }

// hasEnded reports whether the term is known to be over.
func (r *termRunner) hasEnded() bool {
	select {
	case <-r.term.Done():
		return true
	default:
		return false
	}
}

// step lets the core decide, commits, and then lets the effects out.
func (r *termRunner) step(ctx context.Context, events []core.Event) (core.Decision, error) {
	r.gate.begin()
	d := r.core.Step(r.now(), r.rnd, events)
	err := r.commit(ctx, d.Writes, d.Fenced)
	r.failed.Store(err != nil)
	r.gate.end()
	if err != nil {
		return core.Decision{}, err
	}
	r.notes.write(time.Now(), d.Notes)
	for _, call := range d.Calls {
		r.dispatcher.send(call)
	}
	for _, reply := range d.Replies {
		r.reply(reply)
	}
	if d.Drained && !r.isDrain {
		r.isDrain = true
		close(r.drained)
	}
	return d, nil
}

// commit makes the step's writes in one commit, whatever their number and size (rule T5).
func (r *termRunner) commit(ctx context.Context, writes []registry.Write, fenced bool) error {
	if len(writes) == 0 && !fenced {
		return nil
	}
	r.s.opt.Point(pointBeforeCommit)
	if err := r.write(ctx, writes); err != nil {
		r.commitsFailed.Add(1)
		return fmt.Errorf("commit the scheduler's state: %w", err)
	}
	r.s.opt.Point(pointAfterCommit)
	return nil
}

// slowCommit is how long a commit may take before it is logged.
const slowCommit = 2 * time.Second

// write makes one commit. One that has begun is finished even while the process is asked to stop:
// its outcome would be unknown otherwise.
func (r *termRunner) write(ctx context.Context, writes []registry.Write) error {
	r.commits.Add(1)
	began := time.Now()
	late := time.AfterFunc(slowCommit, func() {
		r.s.opt.Logger.Warn("the registry has not answered a commit yet: until it does, nothing is launched and nobody answered; look at its disk and its load",
			"writes", len(writes), "waited", slowCommit)
	})
	err := r.term.Commit(context.WithoutCancel(ctx), writes)
	if !late.Stop() {
		r.s.opt.Logger.Warn("slow commit ended", "took", time.Since(began).Round(time.Millisecond), "done", err == nil)
	}
	return err
}

// change has the core plan a change of configuration, commits it alone, and then lets the core see it
// (rule T4). A conflict ends no term: the document is read again.
func (r *termRunner) change(ctx context.Context, ch core.ChangeRequested) (core.Decision, error) {
	d, err := r.step(ctx, []core.Event{ch})
	if err != nil {
		r.reply(core.Reply{Token: ch.Token, Err: notMade()})
		return d, err
	}
	if len(d.Change) == 0 {
		return d, nil // it was refused, and answered
	}
	refuse := func(err *core.Error) { r.reply(core.Reply{Token: ch.Token, Err: err}) }
	// All in one commit: a part of a change must not be there without the rest.
	err = r.write(ctx, d.Change)
	var conflict *registry.Conflict
	switch {
	case errors.As(err, &conflict):
		events, err := r.reload(ctx, conflict.Path)
		if err != nil {
			refuse(core.Errorf(core.Unavailable, "term_ended", "the change was not made: %v", err))
			return d, err
		}
		if d, err = r.step(ctx, events); err == nil {
			r.logExternalEdits(events)
		}
		refuse(core.Errorf(core.Conflict, "changed_meanwhile", "%s was changed by somebody else meanwhile; read it again and repeat the change", conflict.Path))
		return d, err
	case errors.Is(err, registry.ErrTooLarge):
		refuse(core.Errorf(core.Invalid, "too_large", "a document of the change is too large to be stored; make it smaller"))
		return d, nil
	case isLost(err) && !errors.Is(err, registry.ErrOutcomeUnknown):
		refuse(notStored(err))
		return d, err
	case err != nil && !errors.Is(err, registry.ErrTermEnded) && !errors.Is(err, registry.ErrOutcomeUnknown):
		refuse(core.Errorf(core.Unavailable, "not_stored", "the change was not made: %v", err))
		return d, nil
	case err != nil:
		refuse(core.Errorf(core.OutcomeUnknown, "term_ended", "the change may have been done; look again when a leader is back: %v", err))
		return d, err
	}
	r.s.opt.Point(pointConfigCommitted)
	if d, err = r.step(ctx, []core.Event{core.ChangeCommitted{Token: ch.Token}}); err != nil {
		refuse(core.Errorf(core.OutcomeUnknown, "term_ended", "the change was stored; the next leader acts on it: %v", err))
	}
	return d, err
}

// reload reads a document that somebody else has changed, and says what that means
// for the core. What is no path can't be there.
func (r *termRunner) reload(ctx context.Context, path string) ([]core.Event, error) {
	entry, err := r.term.Get(ctx, path)
	found := err == nil
	if err != nil && !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrBadPath) {
		return nil, fmt.Errorf("read %s again: %w", path, err)
	}
	return r.core.Reloaded(path, entry, found), nil
}

// end closes the session, waits for all goroutines of the term, answers those
// who still wait, and resigns: in this order, so that no call leaves after the next
// leader may have begun. handOver lets what was committed leave first, if that is quick.
func (r *termRunner) end(handOver bool) {
	r.refuseWaiting()
	close(r.ended)
	if handOver {
		r.dispatcher.flush(flushTime)
	}
	r.dispatcher.close()
	r.s.opt.Point(pointBeforeResign)
	if err := resign(r.term); err != nil && !errors.Is(err, registry.ErrTermEnded) {
		r.s.opt.Logger.Warn("the election node may stay until its session ends", "error", err)
	}
}

// refuseWaiting answers all that no step has seen, and takes no more: nothing of it was done.
func (r *termRunner) refuseWaiting() {
	events, changes := r.inbox.shut()
	for _, ch := range changes {
		events = append(events, ch)
	}
	for _, e := range events {
		if q, ok := e.(core.Request); ok {
			r.reply(core.Reply{Token: q.RequestToken(), Err: notMade()})
		}
	}
}

// ask hands a request to the loop and waits for the reply with its token.
func (s *Scheduler) ask(ctx context.Context, request func(token uint64) core.Request) (core.Reply, error) {
	r, err := s.current()
	if err != nil {
		return core.Reply{}, err
	}
	answer := make(chan core.Reply, 1)
	r.askMu.Lock()
	r.token++
	token := r.token
	r.asks[token] = answer
	r.askMu.Unlock()
	defer func() {
		r.askMu.Lock()
		delete(r.asks, token)
		r.askMu.Unlock()
	}()
	if !r.inbox.put(request(token)) {
		return core.Reply{}, notMade()
	}
	given := func(reply core.Reply) (core.Reply, error) {
		if reply.Err != nil {
			return core.Reply{}, reply.Err
		}
		return reply, nil
	}
	select {
	case reply := <-answer:
		return given(reply)
	case <-r.ended:
		select {
		case reply := <-answer: // it came before the end
			return given(reply)
		default:
		}
		return core.Reply{}, endedMeanwhile(r.term)
	case <-ctx.Done():
		return core.Reply{}, core.Errorf(core.OutcomeUnknown, "gave_up", "nobody waits for the answer any more; the request may have been done")
	}
}

func (r *termRunner) reply(reply core.Reply) {
	r.askMu.Lock()
	defer r.askMu.Unlock()
	if ch := r.asks[reply.Token]; ch != nil {
		ch <- reply
	}
}
