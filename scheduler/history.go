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

// History stores a term's batches. All of its methods may be called concurrently.
type History interface {
	// Append keeps a batch. It returns when the batch is on disk, or counts as lost, or the disk has taken too long.
	// The batches of a term are appended one after the other, in order.
	Append(batch event.Batch)
	// Settle tells the history whether the commit of a batch has happened, or never will. It is not called while that
	// is unknown.
	Settle(term, number int64, happened bool)
	// Stored waits until more than after of the term's first batches are in the database or count as lost, and returns
	// their number. Its error is that of ctx.
	Stored(ctx context.Context, term, after int64) (int64, error)
	// Lead tells the history whether this process leads.
	Lead(leads bool)
}

// record starts to put a batch on disk, concurrently with its commit. The caller calls finish with the outcome of the
// commit; finish waits until the batch is on disk.
func (r *termRunner) record(b event.Batch) (finish func(error)) {
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

// followHistory reports to the machine how many of the term's batches are stored.
func (r *termRunner) followHistory() {
	var batches int64
	for {
		stored, err := r.s.opt.History.Stored(r.ctx, r.core.HistoryTerm(), batches)
		if err != nil {
			return // the term has ended
		}
		batches = stored
		r.inbox.put(func(m *term.Machine) { m.HistoryStored(stored) })
		select { // the number only determines which data may be forgotten, so it need not be exact
		case <-time.After(historyCheckInterval):
		case <-r.ctx.Done():
			return
		}
	}
}

// historyCheckInterval is the minimum interval between two reports of stored batches.
const historyCheckInterval = time.Second
