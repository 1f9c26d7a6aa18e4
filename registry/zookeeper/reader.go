package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// Reads travel together: bulkNodes in a request, and bulksInFlight requests at a
// time. What is in flight is at most some 100 MiB, when all values are of the largest kind
// that the scheduler writes.
const (
	bulkNodes     = 64
	bulksInFlight = 6
)

// reader reads many nodes for a term: on the term's own session where they are few, on one
// of its own where they may be any number. There an answer may take as long as it takes, since no
// heartbeat of the term waits behind it.
type reader struct {
	term   *term
	client *client
	most   atomic.Int32 // nodes in a request: fewer once one broke the connection
}

func newReader(t *term, c *client) *reader {
	r := &reader{term: t, client: c}
	r.most.Store(bulkNodes)
	return r
}

// errReader says that the reading session ended: another has to begin from the beginning.
var errReader = errors.New("the session for reading ended")

// aside has work read on a session of its own, which sees at least what the fence tells: all
// commits of the term so far, and all of earlier ones (rule T1).
func (t *term) aside(ctx context.Context, least fence, work func(*reader) error) error {
	for {
		err := t.asideOnce(ctx, least, work)
		if !errors.Is(err, errReader) {
			return err
		}
		t.place.Logger.Warn("reading ZooKeeper from the beginning", "error", err)
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
}

func (t *term) asideOnce(ctx context.Context, least fence, work func(*reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.lasts, cancel)()
	_, c, err := connect(t.place)
	if err != nil {
		return err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.abandon)()
	if err = c.join(ctx); err == nil {
		// What the term's watches do not tell, having been asked for too late, is seen here: they are there when
		// what was asked for after them has its answer.
		_, err = t.stat(ctx, "/")
	}
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		r := newReader(t, c)
		defer r.progress()()
		if err = r.catchUp(ctx, least); err == nil {
			err = work(r)
		}
	}
	if over := t.Err(); over != nil {
		return over
	}
	return err
}

// progress tells now and then that reading goes on, until the function returned is called.
func (r *reader) progress() (stop func()) {
	done := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		began, tick := time.Now(), time.NewTicker(complain)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.term.place.Logger.Warn("reading ZooKeeper takes long: a slow link?", "for", time.Since(began).Round(time.Second), "bytes", r.client.wires.brought.Load())
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		told.Wait()
	}
}

// catchUp waits until the session sees what the fence tells, and what others had done before now. It never goes
// back from there.
func (r *reader) catchUp(ctx context.Context, least fence) error {
	p := r.term.place
	for {
		_, err := r.client.Sync(p.root)
		if err == nil {
			var value []byte
			if value, _, err = r.client.Get(p.full(fencePath)); err == nil {
				now, err := readFence(value)
				if err == nil && (now.term > least.term || now.term == least.term && now.commit >= least.commit) {
					return nil
				}
			}
		}
		if answered(err) && !errors.Is(err, zk.ErrNoNode) {
			return p.refused("read", p.full(fencePath), err)
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// wait is between tries; see term.wait.
func (r *reader) wait(ctx context.Context) error {
	if err := r.term.wait(ctx); err != nil {
		return err
	}
	if r.isLost() {
		return fmt.Errorf("%w: %w", errReader, r.client.whyLost())
	}
	return nil
}

// isLost reports whether the session is over: the library has then begun another, which may see less.
func (r *reader) isLost() bool {
	select {
	case <-r.client.lost:
		return true
	default:
		return false
	}
}

// parallel runs n pieces of work, some at a time, until the first error.
func parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(bulksInFlight, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := work(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// bulk reads values or children of many nodes, however often the connection
// breaks while the session lives. A node that is not there has zk.ErrNoNode in its
// place, one that may not be read zk.ErrNoAuth, with its stat.
func (r *reader) bulk(ctx context.Context, code int32, paths []string) ([]got, error) {
	found := make([]got, len(paths))
	parts := (len(paths) + bulkNodes - 1) / bulkNodes
	err := parallel(ctx, parts, func(ctx context.Context, part int) error {
		from := part * bulkNodes
		to := min(from+bulkNodes, len(paths))
		return r.part(ctx, code, found[from:to], paths[from:to])
	})
	return found, err
}

func (r *reader) part(ctx context.Context, code int32, found []got, paths []string) error {
	for len(paths) > 0 {
		most := r.most.Load()
		n := min(int(most), len(paths))
		full := make([]string, 0, n)
		for _, path := range paths[:n] {
			full = append(full, r.term.place.full(path))
		}
		some, err := r.client.wires.readBulk(ctx, code, full)
		switch {
		case err == nil && !r.isLost():
			copy(found, some)
			if err := r.checkBulk(ctx, found[:n], paths[:n]); err != nil {
				return err
			}
			found, paths = found[n:], paths[n:]
			continue
		case err != nil && answered(err):
			return r.term.permitted("read many nodes, the first", paths[0], err)
		case errors.Is(err, errCut) && most > 1 && r.most.CompareAndSwap(most, most/2):
			r.term.place.Logger.Warn("the connection to ZooKeeper broke in a read of many nodes: asking for fewer at once", "nodes", most/2)
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkBulk looks up the stat of nodes that may not be read, for which nobody needs a permission.
func (r *reader) checkBulk(ctx context.Context, found []got, paths []string) error {
	for i := range found {
		switch g := &found[i]; {
		case errors.Is(g.err, zk.ErrNoAuth):
			stat, err := r.term.stat(ctx, paths[i])
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			if g.stat = stat; err != nil {
				g.err = err
			}
		case g.err != nil && !errors.Is(g.err, zk.ErrNoNode):
			return r.term.permitted("read", paths[i], g.err)
		}
	}
	return nil
}
