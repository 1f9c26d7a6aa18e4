// Package history keeps what the scheduler records: it puts the outbox on this process's disk and the database
// together.
//
//	Append ──▶ outbox ──▶ Run: up to 1,000 rows or 100 ms ──▶ database
//	Settle ──▶   │               │
//	             └── batches of which nobody knows whether they are true: set aside, until HISTORY_TERM says so
//
// Nobody waits for the database. While it is away, rows wait on the disk; what is wrong is logged, and told by Status.
// Every process drains its own outbox, whether it leads or not; the one that leads counts statistics and deletes what
// is old.
package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/outbox"
)

// Database is where rows go. An error of it means that nothing is known to be stored, and that the same call may heal
// with time.
type Database interface {
	Migrate(ctx context.Context) (from, to int64, err error)
	// Write stores batches and returns how many of their rows the database refuses for their content.
	Write(ctx context.Context, batches []event.Batch) (lost int, err error)
	// Batches says how many batches of a term are true, if that is known.
	Batches(ctx context.Context, term int64) (n int64, known bool, err error)
	Recount(ctx context.Context, most int) (done int, err error)
	DeleteOld(ctx context.Context, before time.Time, rows int64, most int) (deleted int, err error)
}

// Options of a Recorder.
type Options struct {
	// Dir is the folder of the outbox, OutboxBytes its bound.
	Dir         string
	OutboxBytes int64
	Database    Database
	// Days and Rows are how long, and how many of each large table, rows are kept.
	Days   int
	Rows   int64
	Logger *slog.Logger

	fs outbox.FS // of tests
}

// Recorder records. Its methods may be called concurrently, but for Run and Close, which are for one owner.
type Recorder struct {
	opt Options
	log *outbox.Log

	lossAlarm, hangAlarm alarm

	mu      sync.Mutex
	status  Status
	leads   bool
	led     chan struct{} // closed, and replaced, when leads changes
	term    progress
	broken  bool // the last call of the database has failed
	hanging int  // batches that the disk has not confirmed in time
	// unsaid is what lost batches of term unsaidIn were to say of former terms. The next batch of that term says it:
	// the first one of a term is the only one that does, and what waits for its word would wait for the next leader's.
	unsaid   []event.Term
	unsaidIn int64

	late sync.WaitGroup // who wait for such
}

// Open opens the outbox, which an earlier process may have left full.
func Open(opt Options) (*Recorder, error) {
	log, err := outbox.Open(opt.Dir, outbox.Options{Bytes: opt.OutboxBytes, Logger: opt.Logger, FS: opt.fs})
	if err != nil {
		return nil, err
	}
	r := &Recorder{opt: opt, log: log, led: make(chan struct{})}
	r.status = Status{Down: "it has not been asked yet", DownSince: time.Now()}
	r.term.changed = make(chan struct{})
	return r, nil
}

// diskPatience is how long a disk that hangs holds a step of the scheduler up.
const diskPatience = 2 * time.Second

// Append puts a batch into the outbox, and returns when it is on disk, or is counted as lost. When the disk takes too
// long it is on its way, and so are later ones at once, until the disk answers.
func (r *Recorder) Append(b event.Batch) {
	r.mu.Lock()
	if r.unsaidIn == b.Term {
		b.Terms = slices.Concat(r.unsaid, b.Terms)
	}
	r.mu.Unlock()
	data, err := json.Marshal(b)
	if err != nil {
		r.appended(&b, fmt.Errorf("encode a batch of the history: %w", err))
		return
	}
	r.mu.Lock()
	r.term.appended(b.Term, b.Number)
	hanging := r.hanging > 0
	r.mu.Unlock()
	answer := r.log.Append(b.Term, b.Number, b.Len(), data)
	if !hanging {
		patience := time.NewTimer(diskPatience)
		defer patience.Stop()
		select {
		case err := <-answer:
			r.appended(&b, err)
			return
		case <-patience.C:
		}
	}
	select {
	case err := <-answer: // refused at once
		r.appended(&b, err)
		return
	default:
	}
	r.mu.Lock()
	r.hanging++
	r.mu.Unlock()
	if n, ok := r.hangAlarm.due(1); ok {
		r.opt.Logger.Warn("history outbox: its disk does not answer: what is recorded waits in memory, and would be lost with this process",
			"folder", r.opt.Dir, "batches", n)
	}
	r.late.Go(func() {
		err := <-answer
		r.appended(&b, err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hanging--
	})
}

// appended notes what came of a batch.
func (r *Recorder) appended(b *event.Batch, err error) {
	if len(b.Terms) > 0 {
		r.mu.Lock()
		if r.unsaid, r.unsaidIn = nil, 0; err != nil {
			r.unsaid, r.unsaidIn = b.Terms, b.Term
		}
		r.mu.Unlock()
	}
	rows := int64(b.Len())
	if err == nil {
		if n := r.lossAlarm.rest(); n > 0 {
			r.opt.Logger.Error("history rows lost: the outbox could not take them; it takes rows again", "rows", n,
				"folder", r.opt.Dir)
		}
		return
	}
	r.mu.Lock()
	r.term.lose(b.Term, b.Number)
	if errors.Is(err, outbox.ErrFull) {
		r.status.Lost.Full += rows
	} else {
		r.status.Lost.Failed += rows
	}
	r.status.LostLast = time.Now()
	r.mu.Unlock()
	if n, ok := r.lossAlarm.due(rows); ok {
		r.opt.Logger.Warn("history rows lost: the outbox can't take them; jobs run on without a record",
			"rows", n, "folder", r.opt.Dir, "error", err)
	}
}

// Settle says whether the commit of a batch has happened.
func (r *Recorder) Settle(term, number int64, happened bool) {
	outcome := outbox.Never
	if happened {
		outcome = outbox.Happened
	}
	r.mu.Lock()
	lost := r.term.settle(term, number, happened)
	r.mu.Unlock()
	if !lost { // of what the outbox does not have it need not tell, for which it may have no place either
		r.log.Settle(term, number, outcome)
	}
}

// Stored waits until more than after of the term's batches, counted from the first, are in the database or counted as
// lost, and returns how many.
func (r *Recorder) Stored(ctx context.Context, term, after int64) (int64, error) {
	for {
		r.mu.Lock()
		n, changed := int64(0), r.term.changed
		if r.term.term == term {
			n = r.term.stored
		}
		r.mu.Unlock()
		if n > after {
			return n, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Lead says whether this process leads. When it does no more, its last batch may be one of which nobody will tell: the
// next leader's first batch says whether it is true.
func (r *Recorder) Lead(leads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads = leads
	close(r.led)
	r.led = make(chan struct{})
	if !leads && r.term.newest > 0 {
		r.log.Settle(r.term.term, r.term.newest, outbox.Uncertain)
	}
}

// Close ends the outbox; what it holds stays. Run has ended before. A disk that hangs is waited for until ctx ends.
func (r *Recorder) Close(ctx context.Context) error {
	if err := r.log.Close(ctx); err != nil {
		return err
	}
	r.late.Wait()
	return nil
}
