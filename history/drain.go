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
	// A transaction is full when it has maxRows rows. gatherTimeout is how long after its first batch the drain waits
	// for more.
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
	downThrottle   logThrottle // of the message that the database can't be written to
	readThrottle   logThrottle // of the message that the outbox can't be read
	asideThrottle  logThrottle // of the message that a batch that is set aside can't be read or removed
	lastAsideCheck time.Time   // the last check of the batches that are set aside
	// pendingAside are the batches of uncertain outcome that must still be set aside, because the disk failed. While
	// there are any, no entry of the outbox is marked as done.
	pendingAside []outbox.Entry
}

// gathered is the content of one transaction.
type gathered struct {
	batches []event.Batch
	rows    int64
	last    outbox.Entry
	hasLast bool // whether last is set; it may belong to a batch that is not written
}

// Run drains the outbox until ctx ends. While this process leads, it also counts statistics and deletes old rows. It
// returns within a few seconds after the end of ctx. Rows that are not written by then stay in the outbox.
func (r *Recorder) Run(ctx context.Context) {
	var maintained sync.WaitGroup
	defer maintained.Wait()
	maintained.Go(func() { r.maintain(ctx) })
	d := &drain{Recorder: r, ctx: ctx}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { pause(work, flushTimeout); stop() })()
	// This migrates the schema before there are rows.
	d.try(work, true, func(ctx context.Context) error { return d.store(ctx, nil) })
	for {
		isEnding := ctx.Err() != nil
		g := d.gather(work)
		if !d.write(work, g) || isEnding && !g.hasLast {
			return
		}
	}
}

// gather takes batches from the outbox until it has maxRows rows, or until gatherTimeout after the first batch. If no
// batch comes within asideCheckInterval, gather returns without one, so that the batches that are set aside are
// checked. After the end of Run's context it waits only for gatherTimeout, because the last settlement may still be on
// its way to the disk.
func (d *drain) gather(ctx context.Context) (g gathered) {
	parent, timeout := d.ctx, asideCheckInterval
	if parent.Err() != nil {
		parent, timeout = ctx, gatherTimeout
	}
	waitCtx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	for g.rows < maxRows {
		e, err := d.log.Next(waitCtx)
		if err != nil {
			if waitCtx.Err() == nil {
				if _, ok := d.readThrottle.due(1); ok {
					d.opt.Logger.Warn("history outbox not read, retrying", "error", err)
				}
				pause(d.ctx, firstRetryInterval)
			}
			return g
		}
		if !g.hasLast {
			d.setOldest(e.Time)
			gatherCtx, cancel := context.WithTimeout(parent, gatherTimeout)
			defer cancel()
			waitCtx = gatherCtx
		}
		g.hasLast, g.last = true, e
		if e.Outcome == outbox.Uncertain {
			d.pendingAside = append(d.pendingAside, e)
		} else if b, ok := d.decode(e); ok {
			g.batches, g.rows = append(g.batches, b), g.rows+int64(b.Len())
		}
	}
	return g
}

// decode reads a batch. A batch that can't be read although its checksum is right was written by another release. Its
// rows are lost.
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

// write writes the gathered batches and checks the batches that are set aside. If there are gathered batches, it
// retries until they are written. It returns false when the drain must end.
func (d *drain) write(ctx context.Context, g gathered) bool {
	if !d.try(ctx, !g.hasLast, func(ctx context.Context) error { return d.store(ctx, g.batches) }) {
		return !g.hasLast && d.ctx.Err() == nil
	}
	if g.hasLast {
		d.markStored(g)
	}
	if len(d.log.Aside()) > 0 && time.Since(d.lastAsideCheck) >= asideCheckInterval {
		d.try(ctx, true, d.resolveAside)
		d.lastAsideCheck = time.Now()
	}
	return true
}

// store writes batches in one transaction, after it has migrated the database if necessary.
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
	refused, err := d.opt.Database.Write(ctx, batches)
	if err != nil {
		return err
	}
	d.addRefused(int64(refused))
	rows := -int64(refused)
	for i := range batches {
		rows += int64(batches[i].Len())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Written += rows
	d.status.LastWritten = time.Now()
	return nil
}

// markStored sets the gathered batches of uncertain outcome aside, and marks everything gathered as done: the other
// batches are in the database.
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

// resolveAside handles the batches that were set aside and whose validity the database now shows: it writes the valid
// ones, and removes the files of all. A batch whose file can't be read or removed does not delay the others, and is
// tried again at the next check.
func (d *drain) resolveAside(ctx context.Context) error {
	for _, k := range d.log.Aside() {
		n, known, err := d.opt.Database.Batches(ctx, k.Term)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		var valid []event.Batch
		var asideErr error
		if k.Number <= n {
			var e outbox.Entry
			if e, asideErr = d.log.ReadAside(k); asideErr == nil {
				if b, ok := d.decode(e); ok {
					valid = []event.Batch{b}
				}
			}
		}
		if err := d.store(ctx, valid); err != nil {
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

// try calls do until it succeeds, with growing pauses. It returns false after a failure if once is set or Run's context
// has ended. It logs the beginning of an outage, repeats that each minute, and logs the end.
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

// call calls do. If do has not returned after callTimeout, call reports the database as down, and waits on.
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
