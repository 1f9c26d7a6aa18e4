package history

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/outbox"
)

const (
	// maxRows is the number of rows per transaction, and gatherTimeout how long the drain waits for that many.
	maxRows       = 1000
	gatherTimeout = 100 * time.Millisecond
	// A failed call of the database is repeated after firstRetryInterval, then after twice that, and so on up to
	// maxRetryInterval.
	firstRetryInterval = 100 * time.Millisecond
	maxRetryInterval   = 10 * time.Second
	// asideCheckInterval is the interval of the checks whether batches that are set aside have become valid or
	// invalid.
	asideCheckInterval = 3 * time.Second
	// flushTimeout is how long after the end of Run's context the remaining rows are written to a database that is up.
	flushTimeout = 3 * time.Second
	// callTimeout is how long a call of the database may stay unanswered before the database counts as down.
	callTimeout = 10 * time.Second
)

// drain writes the entries of the outbox to the database. It is used by one goroutine.
type drain struct {
	*Recorder
	ctx            context.Context // the drain ends after ctx has ended
	migrated       bool
	downThrottle   logThrottle    // the database can't be written to
	readThrottle   logThrottle    // the outbox can't be read
	asideThrottle  logThrottle    // a batch that is set aside can't be read or removed
	lastAsideCheck time.Time      // the last check of the batches that are set aside
	pendingAside   []outbox.Entry // of unknown validity, not set aside as the disk failed; nothing after them is done
}

// gathered is the content of one transaction.
type gathered struct {
	batches []event.Batch
	rows    int64
	last    outbox.Entry
	any     bool // last is set; it may belong to a batch that is not written
}

// Run drains the outbox, and counts and deletes while this process leads, until ctx ends. It returns within a few
// seconds after that. Rows that are not written by then stay in the outbox.
func (r *Recorder) Run(ctx context.Context) {
	var maintained sync.WaitGroup
	defer maintained.Wait()
	maintained.Go(func() { r.maintain(ctx) })
	d := &drain{Recorder: r, ctx: ctx}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { pause(work, flushTimeout); stop() })()
	// Migrate the schema before there are rows.
	d.try(work, true, func(ctx context.Context) error { return d.store(ctx, nil) })
	for {
		ends := ctx.Err() != nil
		g := d.gather(work)
		if !d.write(work, g) || ends && !g.any {
			return
		}
	}
}

// gather takes batches from the outbox until there are enough rows or the wait is over. It returns empty from time to
// time, so that the batches that are set aside are checked. After the end of ctx it waits only briefly, because the
// last settlement may still be on its way to the disk.
func (d *drain) gather(ctx context.Context) (g gathered) {
	from, timeout := d.ctx, asideCheckInterval
	if from.Err() != nil {
		from, timeout = ctx, gatherTimeout
	}
	waiting, cancel := context.WithTimeout(from, timeout)
	defer cancel()
	for g.rows < maxRows {
		e, err := d.log.Next(waiting)
		if err != nil {
			if waiting.Err() == nil {
				if _, ok := d.readThrottle.due(1); ok {
					d.opt.Logger.Warn("history outbox not read, retrying", "error", err)
				}
				pause(d.ctx, firstRetryInterval)
			}
			return g
		}
		if !g.any {
			d.setOldest(e.Time)
			soon, cancel := context.WithTimeout(from, gatherTimeout)
			defer cancel()
			waiting = soon
		}
		g.any, g.last = true, e
		if e.Outcome == outbox.Uncertain {
			d.pendingAside = append(d.pendingAside, e)
		} else if b, ok := d.decode(e); ok {
			g.batches, g.rows = append(g.batches, b), g.rows+int64(b.Len())
		}
	}
	return g
}

// decode reads a batch. One that can't be read although its checksum is right was written by another release and is
// lost.
func (d *drain) decode(e outbox.Entry) (b event.Batch, ok bool) {
	if err := json.Unmarshal(e.Data, &b); err != nil {
		d.addRefused(int64(e.Rows))
		d.opt.Logger.Warn("history rows lost: outbox batch of another release", "term", e.Term, "number",
			e.Number, "rows", e.Rows, "error", err)
		return b, false
	}
	return b, true
}

func (r *Recorder) setOldest(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Oldest = t
}

func (r *Recorder) addRefused(rows int64) {
	if rows == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Lost.Refused += rows
	r.status.LostLast = time.Now()
}

// write writes what was gathered, retrying until it succeeds. It returns false when the drain must end.
func (d *drain) write(ctx context.Context, g gathered) bool {
	if !d.try(ctx, !g.any, func(ctx context.Context) error { return d.store(ctx, g.batches) }) {
		return !g.any && d.ctx.Err() == nil
	}
	if g.any {
		d.markStored(g)
	}
	if len(d.log.Aside()) > 0 && time.Since(d.lastAsideCheck) >= asideCheckInterval {
		d.try(ctx, true, d.resolveAside)
		d.lastAsideCheck = time.Now()
	}
	return true
}

// store writes batches in one transaction.
func (d *drain) store(ctx context.Context, batches []event.Batch) error {
	if !d.migrated {
		from, to, err := d.opt.Database.Migrate(ctx)
		if err != nil {
			return err
		}
		if from != to {
			d.opt.Logger.Info("history database migrated", "from", from, "to", to)
		}
		d.migrated = true
	}
	if len(batches) == 0 {
		return nil
	}
	lost, err := d.opt.Database.Write(ctx, batches)
	if err != nil {
		return err
	}
	d.addRefused(int64(lost))
	rows := -int64(lost)
	for i := range batches {
		rows += int64(batches[i].Len())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Written += rows
	d.status.LastWritten = time.Now()
	return nil
}

// markStored marks everything that was gathered as done: it is in the database or set aside.
func (d *drain) markStored(g gathered) {
	var left []outbox.Entry
	for _, e := range d.pendingAside {
		if err := d.log.SetAside(e); err != nil {
			d.opt.Logger.Warn("history batch of unknown outcome not set aside, retrying", "error", err)
			left = append(left, e)
		}
	}
	d.pendingAside = left
	if len(left) == 0 {
		if err := d.log.Done(g.last); err != nil {
			d.opt.Logger.Warn("history outbox not freed of stored rows, retrying with the next ones", "error", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range g.batches {
		d.term.store(g.batches[i].Term, g.batches[i].Number)
	}
	d.status.Oldest = time.Time{}
}

// resolveAside writes the batches that were set aside and are now known to be valid, and removes the invalid ones. A
// batch that the disk can't return delays no other, and is tried again.
func (d *drain) resolveAside(ctx context.Context) error {
	for _, k := range d.log.Aside() {
		n, known, err := d.opt.Database.Batches(ctx, k.Term)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		var found []event.Batch
		var asideErr error
		if k.Number <= n {
			var e outbox.Entry
			if e, asideErr = d.log.ReadAside(k); asideErr == nil {
				if b, ok := d.decode(e); ok {
					found = []event.Batch{b}
				}
			}
		}
		if err := d.store(ctx, found); err != nil {
			return err
		}
		if asideErr == nil {
			asideErr = d.log.RemoveAside(k)
		}
		if asideErr == nil {
			continue
		}
		if _, ok := d.asideThrottle.due(1); ok {
			d.opt.Logger.Error("history batch that was set aside not read or removed, retrying", "error", asideErr)
		}
	}
	return nil
}

// try calls the database until it succeeds, with growing pauses, until it fails after the end of ctx, or just once.
// The log reports the beginning of a failure, repeats it each minute, and reports the end.
func (d *drain) try(ctx context.Context, once bool, do func(context.Context) error) bool {
	for wait := firstRetryInterval; ; wait = min(2*wait, maxRetryInterval) {
		err := d.call(ctx, do)
		if err == nil {
			d.setUp()
			d.downThrottle = logThrottle{}
			return true
		}
		d.migrated = false // perhaps another or an empty database comes back
		d.reportDown(err)
		if once || d.ctx.Err() != nil {
			return false
		}
		pause(d.ctx, wait)
	}
}

// call calls the database. The database counts as down while a call is unanswered for longer than callTimeout.
func (d *drain) call(ctx context.Context, do func(context.Context) error) error {
	var mu sync.Mutex
	answered := false
	timer := time.AfterFunc(callTimeout, func() {
		mu.Lock()
		defer mu.Unlock()
		if !answered {
			d.reportDown(errNoAnswer)
		}
	})
	err := do(ctx)
	timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	answered = true
	return err
}

var errNoAnswer = fmt.Errorf("no answer for %v, still waiting", callTimeout)

func (d *drain) reportDown(err error) {
	d.setDown(err)
	if _, ok := d.downThrottle.due(1); ok {
		s := d.Status()
		d.opt.Logger.Warn("history database not writable, retrying: rows wait in the outbox",
			"since", s.DownSince, "rows", s.Waiting, "error", err)
	}
}

func (r *Recorder) setDown(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.broken {
		r.broken, r.status.DownSince = true, time.Now()
	}
	r.status.Down = err.Error()
}

func (r *Recorder) setUp() {
	r.mu.Lock()
	broken, since := r.broken, r.status.DownSince
	r.broken, r.status.Down, r.status.DownSince = false, "", time.Time{}
	r.mu.Unlock()
	if broken {
		r.opt.Logger.Info("history database writable again", "after",
			time.Since(since).Round(time.Millisecond), "rows", r.Status().Waiting)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
