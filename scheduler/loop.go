package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// termRunner drives one term's machine with the real registry, cluster and clocks. One goroutine, the loop in run,
// passes inputs to the machine and starts its effects. Effects that take time run in goroutines of their own
// (effects.go), for which end waits.
type termRunner struct {
	s       *Scheduler
	term    registry.Term
	machine *term.Machine
	core    *core.Core // for readers, which go through the gate
	gate    stateGate  // held by the loop from the beginning of a step to the end of its commit
	began   time.Time  // when the core was loaded
	inbox   inbox
	notes   *noteLog
	stopped chan struct{} // closed when the machine makes no more steps
	drained chan struct{} // closed when nothing is left on the cluster after Drain

	confirmer   *confirmer             // for the answers to requests for leases
	leaseSecret atomic.Pointer[[]byte] // nil until it is known; constant after that

	askMu sync.Mutex
	token uint64                     // of the last request
	asks  map[uint64]chan core.Reply // the requesters that wait, by token

	ctx    context.Context // ends with the term; no call leaves after that
	cancel context.CancelFunc
	work   sync.WaitGroup
	// launching bounds the bytes of all launches that are being sent.
	launching *semaphore.Weighted
	sessions  map[int64]openSession // owned by the loop
	unwatch   func()                // ends watchMaster
	view      *view.Jobs            // rows for readers, outside of the loop
	messages  messages              // owned by the loop

	subscribed atomic.Bool
	outage     atomic.Value                // a string: why the last session ended or could not begin
	ended      atomic.Bool                 // the term has ended: the state of the core may be obsolete
	decided    int                         // number of events of the last step; owned by the loop
	measured   atomic.Pointer[stats.Stats] // the last answer to a scrape
}

// openSession is a session, and the context of its calls.
type openSession struct {
	cluster.Session
	ctx  context.Context
	drop context.CancelFunc // prevents further calls
}

func newTermRunner(s *Scheduler, won registry.Term, c *core.Core, began time.Time) *termRunner {
	r := &termRunner{s: s, term: won, core: c, began: began, gate: newStateGate(), notes: newNoteLog(s.opt.Logger),
		inbox:     inbox{ready: make(chan struct{}, 1)},
		confirmer: newConfirmer(won),
		machine:   term.New(c, s.opt.Random, term.Options{RefusedTimeout: s.opt.RefusedTimeout}),
		launching: semaphore.NewWeighted(maxLaunching),
		stopped:   make(chan struct{}), drained: make(chan struct{}), asks: map[uint64]chan core.Reply{},
		sessions: map[int64]openSession{}, messages: messages{byApp: map[string]*appMessages{}}, unwatch: func() {}}
	r.outage.Store("")
	r.view = view.New(r.read)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	first := c.Views().Stats()
	r.measured.Store(&first)
	return r
}

// run drives the machine until ctx or the term ends. It returns nil if ctx has ended, and otherwise the reason why the
// term ended.
func (r *termRunner) run(ctx context.Context) (err error) {
	r.work.Go(func() { // not in the loop, which may be busy: a deposed leader must stop at once (rule T2)
		select {
		case <-r.term.Done():
			r.cancel()
		case <-r.ctx.Done():
		}
	})
	if r.s.opt.History != nil {
		r.s.opt.History.Lead(true)
		defer r.s.opt.History.Lead(false)
		r.work.Go(r.followHistory)
	}
	if r.s.opt.Audits != nil {
		r.work.Go(r.moveAudits)
	}
	r.work.Go(func() { r.view.Run(r.ctx) })
	defer r.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop, lost, changed := ctx.Done(), r.term.Done(), r.term.Changed()
	for !r.machine.Done() {
		select {
		case <-stop:
		case <-lost:
		case <-r.inbox.ready:
		case <-timer.C:
		case path, ok := <-changed:
			if ok {
				r.machine.Changed(path)
			} else {
				changed = nil
			}
		}
		if ctx.Err() != nil {
			r.machine.Stop()
			stop = nil
		}
		if lost != nil && r.hasEnded() {
			r.machine.TermEnded(fmt.Errorf("term %d: %w", r.term.Number(), r.term.Err()))
			lost = nil
		}
		for _, e := range r.drive() {
			if ended, ok := e.(term.Ended); ok {
				err = ended.Err
			}
			r.start(e)
		}
		timer.Stop()
		if at, ok := r.machine.Wake(); ok {
			timer.Reset(max(at-r.now().Elapsed, 0))
		}
	}
	return err
}

// drive passes the inputs to the machine, and returns its effects. It holds the gate while the core has uncommitted
// state.
func (r *termRunner) drive() []term.Effect {
	m := r.machine
	holdsGate := m.Uncommitted()
	m.Tick(r.now())
	for _, in := range r.inbox.take() {
		in(m)
	}
	if !holdsGate && m.Steps() {
		r.gate.begin()
		holdsGate = true
	}
	effects := m.Ready()
	r.subscribed.Store(m.Subscribed())
	r.outage.Store(m.Outage())
	if m.HasEnded() {
		r.ended.Store(true)
	}
	if holdsGate && !m.Uncommitted() {
		r.gate.end()
	}
	return effects
}

// end closes the session, waits for all goroutines of the term, answers late requests, and resigns. The order ensures
// that no call leaves after the next leader may have begun.
func (r *termRunner) end() {
	r.cancel()
	r.work.Wait()
	r.inbox.close()
	for _, e := range r.drive() {
		if late, ok := e.(term.Answer); ok {
			r.reply(late.Reply)
		}
	}
	r.s.opt.Point(pointBeforeResign)
	if err := resign(r.term); err != nil && !errors.Is(err, registry.ErrTermEnded) {
		r.s.opt.Logger.Warn("leadership not resigned: the election node may stay until its session ends", "error", err)
	}
}

// now reads the clocks. The result of time.Now has a monotonic reading, which Sub uses. The clock of a test may have
// none; it must then never be set back.
func (r *termRunner) now() clock.Now {
	wall := r.s.opt.Clock()
	return clock.Now{Wall: wall, Elapsed: max(wall.Sub(r.began), 0)}
}

// hasEnded reports whether the term is known to have ended.
func (r *termRunner) hasEnded() bool {
	select {
	case <-r.term.Done():
		return true
	default:
		return false
	}
}

// scrapeTimeout is how long a scrape waits for its turn between two steps.
const scrapeTimeout = 50 * time.Millisecond

// measure returns the core's statistics. If it cannot read them within scrapeTimeout, it returns the last ones.
func (r *termRunner) measure() stats.Stats {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if r.gate.enter(ctx) == nil {
		if !r.ended.Load() {
			st := r.core.Views().Stats()
			r.measured.Store(&st)
		}
		r.gate.leave()
	}
	return *r.measured.Load()
}

// ask passes a request to the machine and waits for the answer.
func (s *Scheduler) ask(ctx context.Context, request core.Event) (core.Reply, error) {
	r, err := s.current()
	if err != nil {
		return core.Reply{}, err
	}
	return r.ask(ctx, request)
}

// ask passes a request to the machine of this term and waits for the answer.
func (r *termRunner) ask(ctx context.Context, request core.Event) (core.Reply, error) {
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
	if !r.inbox.put(func(m *term.Machine) { m.Request(core.Request{Token: token, Event: request}) }) {
		return core.Reply{}, term.NotMade()
	}
	select {
	case reply := <-answer:
		if reply.Err != nil {
			return core.Reply{}, reply.Err
		}
		return reply, nil
	case <-ctx.Done():
		return core.Reply{}, problem.Errorf(problem.OutcomeUnknown, "gave_up",
			"the requester closed its connection; the request may have been executed")
	}
}

// authorize returns an error unless the requester may see the named object, or publish it.
type authorize func(r explain.Reader, name string) error

// request makes a request about the object with that name. With a scope of some apps it first calls allowed, and makes
// no request if allowed returns an error.
func (s *Scheduler) request(
	ctx context.Context, scope explain.Scope, allowed authorize, name string, request core.Event,
) (core.Reply, error) {
	if !scope.IsAll() {
		if err := s.Read(ctx, scope, func(r explain.Reader) error { return allowed(r, name) }); err != nil {
			return core.Reply{}, err
		}
	}
	return s.ask(ctx, request)
}

// reply passes an answer to the requester, if it still waits.
func (r *termRunner) reply(reply core.Reply) {
	r.askMu.Lock()
	defer r.askMu.Unlock()
	if ch := r.asks[reply.Token]; ch != nil {
		delete(r.asks, reply.Token)
		ch <- reply
	}
}
