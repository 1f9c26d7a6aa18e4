package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

const (
	// replans bounds how often a commit is planned again because people edit the
	// very nodes that it is about.
	replans = 20
	// mostTries of one request, and a session's time, are enough; so are fewer that took longest sessions
	// together: a server whose disk hangs keeps the session alive and answers no write.
	mostTries = 10
	longest   = 2
	// wireLimit is ZooKeeper's jute.maxbuffer unless it was set: no request is longer.
	wireLimit = 0xfffff
	// frameBytes is room for what a request has beside its operations: headers, the
	// fence and the check of the election node, and the registry's own operations of a staged commit.
	frameBytes = 4096
)

// mostBytes is how many bytes of operations fit one request.
func (p *place) mostBytes() int { return wireLimit - frameBytes - 6*len(p.root) }

// Commit makes the writes by one Multi with the election node's check and the fence from its last version (rule T2), or
// by several if they are too large for one; see stage. Until the outcome is known it does not return, unless the
// session ends, which ctx does not shorten (rule T3).
func (t *term) Commit(ctx context.Context, writes []registry.Write) error {
	fail := func(err error) error { return fmt.Errorf("commit (writes: %d): %w", len(writes), err) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := checkWrites(writes); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if err := t.Err(); err != nil {
		return fail(err)
	}
	err := t.commit(ctx, writes)
	var conflict *registry.Conflict
	if err == nil || errors.As(err, &conflict) {
		return err
	}
	return fail(err)
}

// commit plans on what is known, and again on what is so when ZooKeeper refuses. t.writing is held.
func (t *term) commit(ctx context.Context, writes []registry.Write) error {
	fresh := map[string]nodeState{} // what was looked up for this commit
	for range replans {
		if err := t.fetchStats(ctx, writes, fresh); err != nil {
			return err
		}
		unknown := false // an edit by hand that was noticed just now
		p := plan(writes, func(path string) nodeState {
			if n, ok := fresh[path]; ok {
				return n
			}
			n, ok := t.known.at(path)
			unknown = unknown || !ok
			return n
		})
		if unknown {
			continue
		}
		if p.conflict != "" {
			if _, looked := fresh[p.conflict]; looked {
				return t.refuse(p.conflict)
			}
			t.known.forget(p.conflict)
			continue
		}
		send := t.send
		if sizeOf(t.place, p.ops) > t.place.mostBytes() {
			send = t.stage
		}
		refused, results, err := send(p.ops)
		switch {
		case err == nil:
			t.keepKnown(p, results)
			return nil
		case refused == nil:
			return err
		case !replannable(err) || refused.Path == "":
			return t.permitted("write", refused.node(), err)
		}
		t.known.forget(refused.Path)
		delete(fresh, refused.Path)
	}
	if len(writes) == 0 {
		return errors.New("its nodes change faster than it can be planned")
	}
	return &registry.Conflict{Path: writes[0].Path}
}

// replannable reports whether a refused operation may only have been planned wrongly.
func replannable(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion)
}

// fetchStats looks up the writes' entries of which nothing is known.
func (t *term) fetchStats(ctx context.Context, writes []registry.Write, fresh map[string]nodeState) error {
	var missing []string
	for _, w := range writes {
		_, looked := fresh[w.Path]
		if _, ok := t.known.at(w.Path); !ok && !looked {
			missing = append(missing, w.Path)
			fresh[w.Path] = nodeState{}
		}
	}
	found := make([]nodeState, len(missing))
	err := parallel(ctx, foreground, len(missing), func(ctx context.Context, i int) error {
		stat, err := t.stat(ctx, nodeOf(missing[i]))
		if err == nil {
			found[i] = nodeState{there: true, version: stat.Version, state: stateOf(stat)}
		} else if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		t.known.set(missing[i], found[i])
		return nil
	})
	for i, path := range missing {
		fresh[path] = found[i]
	}
	return err
}

// keepKnown keeps what a commit has made. Without results, versions are not sure.
func (t *term) keepKnown(p planned, results *done) {
	for path, n := range p.after {
		if results == nil {
			t.known.forget(path)
			continue
		}
		n.state.mzxid = results.zxid
		t.known.set(path, n)
	}
	if results == nil || len(results.answers) != len(p.ops) {
		return
	}
	for i, o := range p.ops {
		if stat := results.answers[i].Stat; o.Kind == opSet && stat != nil && p.after[o.Path].there {
			t.known.set(o.Path, nodeState{there: true, version: stat.Version, state: stateOf(stat)})
		}
	}
}

// awaitCommit waits for the end of a commit under way.
func (t *term) awaitCommit() {
	t.writing.RLock()
	defer t.writing.RUnlock()
}

// refuse reports a conflict, but only to a leader: one who is not learns that first.
func (t *term) refuse(path string) error {
	for {
		_, err := t.client.Multi(
			&zk.CheckVersionRequest{Path: t.place.full(electionPath + "/" + t.own.name), Version: -1},
			&zk.CheckVersionRequest{Path: t.place.full(fencePath), Version: t.fenceVersion})
		switch {
		case err == nil:
			return &registry.Conflict{Path: path}
		case isFence(err):
			t.end(errFenced)
			return t.Err()
		case answered(err):
			return t.permitted("check", electionPath, err)
		}
		if err := t.wait(context.Background()); err != nil {
			return err
		}
	}
}

var errFenced = errors.New("ZooKeeper refused the fence: another leader has taken over")

// isFence reports whether the refusal of the election node's check or of the fence is for what they say, and not
// because of, say, a quota.
func isFence(err error) bool { return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) }

// done is what a Multi has done: its transaction, and the answers to its operations unless they got lost.
type done struct {
	zxid    int64
	answers []zk.MultiResponse
}

// send sends operations in one fenced Multi until the outcome is known. An operation that was refused is
// returned with its error; then nothing was done.
func (t *term) send(ops []op) (refused *op, results *done, err error) {
	next := fence{t.leader.Term, t.commits + 1}
	requests := []any{
		&zk.CheckVersionRequest{Path: t.place.full(electionPath + "/" + t.own.name), Version: -1},
		&zk.SetDataRequest{Path: t.place.full(fencePath), Data: next.bytes(), Version: t.fenceVersion},
	}
	for i := range ops {
		requests = append(requests, ops[i].request(t.place))
	}
	committed := func(fence *zk.Stat, answers []zk.MultiResponse) (*op, *done, error) {
		t.commits++
		t.fenceVersion = fence.Version
		return nil, &done{zxid: fence.Mzxid, answers: answers}, nil
	}
	unsure := false // an earlier try may have been done
	began, tries := time.Now(), 0
	ended := func(why error) (*op, *done, error) {
		t.end(why)
		if unsure {
			return nil, nil, fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, t.Err())
		}
		return nil, nil, t.Err()
	}
	for {
		if err := t.Err(); err != nil {
			return ended(err)
		}
		results, err := t.client.Multi(requests...)
		if err == nil {
			return committed(results[1].Stat, results[2:])
		}
		if answered(err) {
			failed := firstFailed(results)
			if failed >= 2 {
				return &ops[failed-2], nil, err
			}
			if failed == 0 && isFence(err) {
				return ended(errFenced)
			}
			// Whether it, or an earlier try, was done is for the fence to say.
			shown, stat, readErr := t.shows(next)
			switch {
			case readErr != nil:
				unsure = true
				return ended(readErr)
			case shown:
				return committed(stat, nil)
			case failed >= 0 && isFence(err):
				return ended(errFenced)
			}
			return nil, nil, t.permitted("write", fencePath, err)
		}
		unsure = true
		tries++
		tried := time.Since(began)
		switch {
		case errors.Is(err, zk.ErrSessionExpired):
			return ended(err)
		case tries > mostTries && tried > t.place.SessionTimeout, tried > longest*t.place.SessionTimeout:
			if errors.Is(err, zk.ErrConnectionClosed) {
				err = fmt.Errorf("is jute.maxbuffer of the servers smaller than %d? %w", wireLimit, err)
			}
			return ended(fmt.Errorf("no answer in %d tries and %s to a request of %d bytes; does a disk of ZooKeeper hang? %w", tries, tried.Round(time.Second), sizeOf(t.place, ops), err))
		}
		t.place.Logger.Debug("a commit got no answer: asking again (rule T3)", "term", next.term, "commit", next.commit, "error", err)
		if err := t.wait(context.Background()); err != nil {
			return ended(err)
		}
	}
}

// firstFailed is the operation that a Multi failed at, or -1.
func firstFailed(results []zk.MultiResponse) int {
	for i, r := range results {
		if r.Error != nil {
			return i
		}
	}
	return -1
}

// shows reports whether the fence shows the term and commit.
func (t *term) shows(f fence) (yes bool, stat *zk.Stat, err error) {
	value, stat, err := t.get(context.Background(), fencePath)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	found, err := readFence(value)
	return err == nil && found == f, stat, nil
}
