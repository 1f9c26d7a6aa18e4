package scheduler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// History is where a term's batches go. All of its methods may be called concurrently.
type History interface {
	// Append keeps a batch, and returns when it is on disk, or is counted as lost, or the disk has taken too long.
	// Batches of a term come one after the other.
	Append(batch event.Batch)
	// Settle says whether the commit of a batch has happened or never will. It is not called while nobody knows.
	Settle(term, number int64, happened bool)
	// Stored waits until more than after of the term's batches, counted from the first, are in the database or counted
	// as lost, and returns how many. Its error is that of ctx.
	Stored(ctx context.Context, term, after int64) (int64, error)
	// Lead says whether this process leads.
	Lead(leads bool)
}

// record begins to put a batch on disk, beside its commit. What it returns waits for that, and takes what became of
// the commit.
func (r *termRunner) record(b event.Batch) func(error) {
	if b.Number == 0 {
		return func(error) {}
	}
	var recorded sync.WaitGroup
	recorded.Go(func() { r.s.opt.History.Append(b) })
	return func(err error) {
		recorded.Wait()
		if !errors.Is(err, registry.ErrOutcomeUnknown) {
			r.s.opt.History.Settle(b.Term, b.Number, err == nil)
		}
	}
}

// followHistory tells the machine how many of the term's batches are stored.
func (r *termRunner) followHistory() {
	var batches int64
	for {
		stored, err := r.s.opt.History.Stored(r.ctx, r.core.HistoryTerm(), batches)
		if err != nil {
			return // the term has ended
		}
		batches = stored
		r.inbox.put(func(m *term.Machine) { m.HistoryStored(stored) })
		select { // it is news for what may be forgotten only
		case <-time.After(historyLook):
		case <-r.ctx.Done():
			return
		}
	}
}

// historyLook is how long after one report of what is stored the next one may come.
const historyLook = time.Second
