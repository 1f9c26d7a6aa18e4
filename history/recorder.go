// Package history records what the scheduler does. It connects the outbox on this process's disk with the database.
// The unit is the batch: the rows that one commit of the scheduler records. Append gets a batch before its commit, and
// Settle the outcome of that commit. If a process ends in between, the next leader finds the outcome in the registry
// and reports it; the database keeps the report in the table HISTORY_TERM.
//
//	Append ──▶ outbox ──▶ Run: up to 1,000 rows or 100 ms ──▶ database
//	Settle ──▶   │               │
//	             └── batches whose outcome is unknown: set aside, until HISTORY_TERM shows the outcome
//
// The scheduler never waits for the database. While it is down, rows wait on the disk; failures are logged and
// reported by Status. Every process drains its own outbox, whether it leads or not. Only the leader counts statistics
// and deletes old rows.
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
	"github.com/elasticjob-go/elasticjob/internal/steadyclock"
)

// Database stores the rows. After an error it is unknown whether anything was stored, and the same call may be
// repeated.
type Database interface {
	// Migrate brings the schema to the version that this program needs, and returns the versions before and after.
	Migrate(ctx context.Context) (from, to int64, err error)
	// Write stores batches and returns how many of their rows the database refused for their content.
	Write(ctx context.Context, batches []event.Batch) (refused int, err error)
	// Batches returns how many batches of a term are valid, if that is known.
	Batches(ctx context.Context, term int64) (n int64, known bool, err error)
	// Recount counts the ends of runs in minutes for which a write has marked a count as outdated, at most limit
	// minutes. It returns how many minutes it has counted, which is less than limit when no more are marked.
	Recount(ctx context.Context, limit int) (done int, err error)
	// DeleteOld deletes rows older than before, and the oldest rows of each large table beyond the given number of
	// rows. It deletes at most limit rows, and fewer only when no more are too old or too many.
	DeleteOld(ctx context.Context, before time.Time, rows int64, limit int) (deleted int, err error)
}

// Options are the settings of a Recorder.
type Options struct {
	// Dir is the folder of the outbox, OutboxBytes the bound of its size.
	Dir         string
	OutboxBytes int64
	Database    Database
	// Days bounds the age of rows, and Rows the number of rows of each large table.
	Days   int
	Rows   int64
	Logger *slog.Logger

	fs   outbox.FS        // for tests
	wall func() time.Time // the wall clock, for tests
}

// Recorder records events. Its methods may be called concurrently, except for Run and Close, which belong to one
// owner.
type Recorder struct {
	opt Options
	log *outbox.Log
	// ages is the clock by which the age of rows counts, and opened the time at which the recorder was opened. Only
	// maintain uses them after Open.
	ages   steadyclock.Clock
	opened time.Time

	lossThrottle, hangThrottle logThrottle

	mu          sync.Mutex
	status      Status
	leads       bool
	leadChanged chan struct{} // closed and replaced when leads changes
	term        progress      // of the newest term that has appended
	broken      bool          // whether the last call of the database failed
	hanging     int           // the number of batches that the disk has not confirmed in time
	// unreported are the reports about former terms that were in lost batches of unreportedTerm. The next batch of that
	// term repeats them: only the first batch of a term has reports, and batches that are set aside would otherwise
	// wait for the reports of the next leader.
	unreported     []event.Term
	unreportedTerm int64

	hangingAppends sync.WaitGroup // the goroutines that wait for the hanging batches
}

// Open opens the outbox, which may contain entries of an earlier process.
func Open(opt Options) (*Recorder, error) {
	log, err := outbox.Open(opt.Dir, outbox.Options{Bytes: opt.OutboxBytes, Logger: opt.Logger, FS: opt.fs})
	if err != nil {
		return nil, err
	}
	if opt.wall == nil {
		opt.wall = time.Now
	}
	r := &Recorder{opt: opt, log: log, leadChanged: make(chan struct{}), opened: time.Now()}
	r.ages.Now(opt.wall(), 0)
	r.status = Status{Down: "not yet connected", DownSince: time.Now()}
	r.term.changed = make(chan struct{})
	return r, nil
}

// diskTimeout is how long a hanging disk may delay a step of the scheduler.
const diskTimeout = 2 * time.Second

// Append adds a batch to the outbox, and returns when the batch is on disk or counts as lost. If the disk does not
// answer within diskTimeout, Append returns while the batch is still being written. Until the disk answers, later
// calls return at once.
func (r *Recorder) Append(b event.Batch) {
	r.mu.Lock()
	if r.unreportedTerm == b.Term {
		b.Terms = slices.Concat(r.unreported, b.Terms)
	}
	r.mu.Unlock()
	data, err := json.Marshal(b)
	if err != nil {
		r.recordAppend(&b, fmt.Errorf("encode a batch of the history: %w", err))
		return
	}
	r.mu.Lock()
	r.term.recordAppend(b.Term, b.Number)
	hanging := r.hanging > 0
	r.mu.Unlock()
	answer := r.log.Append(b.Term, b.Number, b.Len(), data)
	if !hanging {
		timeout := time.NewTimer(diskTimeout)
		defer timeout.Stop()
		select {
		case err := <-answer:
			r.recordAppend(&b, err)
			return
		case <-timeout.C:
		}
	}
	select {
	case err := <-answer: // refused immediately
		r.recordAppend(&b, err)
		return
	default:
	}
	r.mu.Lock()
	r.hanging++
	r.mu.Unlock()
	if n, ok := r.hangThrottle.due(1); ok {
		r.opt.Logger.Warn("history outbox: disk not answering: new rows wait in memory, and would be lost with this process",
			"folder", r.opt.Dir, "batches", n)
	}
	r.hangingAppends.Go(func() {
		err := <-answer
		r.recordAppend(&b, err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hanging--
	})
}

// recordAppend records the result of appending a batch.
func (r *Recorder) recordAppend(b *event.Batch, err error) {
	if len(b.Terms) > 0 {
		r.mu.Lock()
		if r.unreported, r.unreportedTerm = nil, 0; err != nil {
			r.unreported, r.unreportedTerm = b.Terms, b.Term
		}
		r.mu.Unlock()
	}
	rows := int64(b.Len())
	if err == nil {
		if n := r.lossThrottle.overdue(); n > 0 {
			r.opt.Logger.Error("history rows lost: the outbox was full or failed, and accepts rows again", "rows", n,
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
	if n, ok := r.lossThrottle.due(rows); ok {
		r.opt.Logger.Warn("history rows lost: the outbox is full or fails; jobs run on without a record",
			"rows", n, "folder", r.opt.Dir, "error", err)
	}
}

// Settle records whether the commit of a batch has happened.
func (r *Recorder) Settle(term, number int64, happened bool) {
	outcome := outbox.Never
	if happened {
		outcome = outbox.Happened
	}
	r.mu.Lock()
	lost := r.term.settle(term, number, happened)
	r.mu.Unlock()
	if !lost { // a lost batch is not in the outbox, which may also have no space for its settlement
		r.log.Settle(term, number, outcome)
	}
}

// Stored waits until the number of batches of a term that are in the database or lost exceeds the number after, and
// returns the new number. It counts from the first batch of the term up to the first one that is neither.
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

// Lead tells the recorder whether this process leads. When the process stops leading, the outcome of its last batch may
// never be settled here. That batch is then set aside until the first batch of the next leader reports its outcome.
func (r *Recorder) Lead(leads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads = leads
	close(r.leadChanged)
	r.leadChanged = make(chan struct{})
	if !leads && r.term.newest > 0 {
		r.log.Settle(r.term.term, r.term.newest, outbox.Uncertain)
	}
}

// Close closes the outbox, whose entries stay on disk. Run must have returned. Close waits for a hanging disk until
// ctx ends.
func (r *Recorder) Close(ctx context.Context) error {
	if err := r.log.Close(ctx); err != nil {
		return err
	}
	r.hangingAppends.Wait()
	return nil
}
