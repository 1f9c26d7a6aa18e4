package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

const (
	// replans bounds how often a commit is planned anew because people edit the
	// very nodes that it is about.
	replans = 20
	// mostTries of one request, and a session's time, are enough; so are fewer that took longest sessions
	// together: a server whose disk hangs keeps the session alive and answers no write.
	mostTries = 10
	longest   = 2
	// sweepAtOnce bounds what a commit removes beside its writes.
	sweepAtOnce = 100
)

// Commit is one Multi: the election node's check, the fence from its last version, the
// writes (rule T2). Until the outcome is known it does not return, unless the
// session ends, which ctx does not shorten (rule T3).
func (t *term) Commit(ctx context.Context, writes []registry.Write) error {
	fail := func(err error) error { return fmt.Errorf("commit (writes: %d): %w", len(writes), err) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := checkWrites(writes, t.registry.limits); err != nil {
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

func checkWrites(writes []registry.Write, limits registry.Limits) error {
	for _, w := range writes {
		if err := checkPath(w.Path); err != nil {
			return err
		}
		switch {
		case hidden(w.Path) || isFolder(w.Path):
			return fmt.Errorf("%w: %q is a folder of the layout, which holds no value", registry.ErrBadPath, w.Path)
		case !w.Delete && isMark(w.Value):
			return fmt.Errorf("%w: the value of %q is the mark of nodes that are no entries", registry.ErrBadPath, w.Path)
		}
	}
	return registry.CheckWrites(writes, limits)
}

// commit plans on what is known, and again on what is so when ZooKeeper refuses. t.writing is held.
func (t *term) commit(ctx context.Context, writes []registry.Write) error {
	// fresh is what was looked up for this commit.
	fresh := map[string]node{}
	tidy := true
	for round := range replans {
		tidy = tidy && round < replans/2
		if err := t.learn(ctx, writes, fresh); err != nil {
			return err
		}
		p := t.plan(writes, fresh, tidy)
		if p.conflict != "" {
			if _, looked := fresh[p.conflict]; looked {
				return t.refuse(p.conflict)
			}
			t.known.forget(p.conflict)
			continue
		}
		if p.size > t.registry.limits.Commit {
			if tidy {
				tidy = false
				continue
			}
			if err := t.makeParents(p.parents, fresh); err != nil {
				return err
			}
			continue
		}
		refused, err := t.send(p)
		if err == nil {
			return nil
		}
		if refused == nil {
			return err
		}
		switch {
		case replannable(err):
			t.mistaken(refused, err, fresh)
		case refused.tidying:
			t.spare(refused.path, err)
		default:
			return t.permitted("write", refused.path, err)
		}
	}
	if len(writes) == 0 {
		return errors.New("its nodes change faster than it can be planned")
	}
	return &registry.Conflict{Path: writes[0].Path}
}

// replannable reports whether a refused operation may only have been planned wrongly.
func replannable(err error) bool {
	for _, e := range []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// spare has nothing tidied any more in the folder of a node that nobody asked to remove and that ZooKeeper
// refused to: whether a node may be deleted is a matter of the folder's ACL. Another term tries again.
func (t *term) spare(path string, why error) {
	folder, _ := split(path)
	level := slog.LevelWarn
	if len(t.spared) > 0 {
		level = slog.LevelInfo // a warning per term shows what is wrong
	}
	t.spared[folder] = true
	for litter := range t.litter {
		if in, _ := split(litter); in == folder {
			delete(t.litter, litter)
		}
	}
	node := t.place.full(path)
	t.place.Logger.Log(context.Background(), level, "an empty node that nothing needs can't be removed: such nodes stay in its folder until the next term begins, and everything else goes on",
		"term", t.leader.Term, "node", node, "error", t.permitted("remove "+node+" from", folder, why))
}

// mistaken forgets what a refused operation shows to be wrong.
func (t *term) mistaken(o *op, err error, fresh map[string]node) {
	drop := func(path string) {
		delete(fresh, path)
		delete(t.litter, path)
		t.known.forget(path)
	}
	drop(o.path)
	if _, creating := o.request.(*zk.CreateRequest); creating && errors.Is(err, zk.ErrNoNode) {
		for path := o.path; path != "/"; {
			path, _ = split(path)
			drop(path)
		}
	}
}

// learn looks up what has to be known of the writes' paths and is not.
func (t *term) learn(ctx context.Context, writes []registry.Write, fresh map[string]node) error {
	var missing []string
	asked := map[string]bool{}
	for _, w := range writes {
		for path := w.Path; ; path, _ = split(path) {
			if asked[path] {
				break
			}
			asked[path] = true
			if _, ok := fresh[path]; !ok {
				if n, ok := t.known.at(path); !ok {
					missing = append(missing, path)
				} else if n.kind != absent && path == w.Path && !w.Delete {
					break // what is above matters only to what comes or goes
				}
			}
			if path == "/" {
				break
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := t.nearby.bulk(ctx, opGetData, missing)
	if err != nil {
		return err
	}
	for i, path := range missing {
		n := node{kind: absent}
		if !errors.Is(found[i].err, zk.ErrNoNode) { // of what may not be read, the stat is there
			n = nodeOf(path, found[i].value, &found[i].stat)
		}
		fresh[path] = n
		t.known.set(path, n)
	}
	return nil
}

func nodeOf(path string, value []byte, stat *zk.Stat) node {
	return node{kind: kindOf(path, value), version: stat.Version, children: stat.NumChildren, whole: stat.NumChildren == 0, zxid: stat.Mzxid}
}

func (t *term) plan(writes []registry.Write, fresh map[string]node, tidy bool) *planner {
	p := &planner{place: t.place, tidy: tidy, spared: t.spared, after: map[string]node{}, look: func(path string) node {
		if n, ok := fresh[path]; ok {
			return n
		}
		n, _ := t.known.at(path)
		return n
	}}
	p.writes(writes)
	if tidy && p.conflict == "" {
		left := sweepAtOnce
		for path := range t.litter {
			if _, ok := t.known.at(path); ok && left > 0 {
				p.sweep(path)
				left--
			}
		}
	}
	return p
}

// makeParents makes parents ahead of a commit that would not fit one request with them.
func (t *term) makeParents(parents []string, fresh map[string]node) error {
	for len(parents) > 0 {
		p := t.plan(nil, fresh, false)
		n := 0
		for n < len(parents) && p.size+createBytes+len(t.place.full(parents[n]))+len(mark) <= t.registry.limits.Commit {
			p.create(parents[n], mark)
			p.after[parents[n]] = node{kind: parent, whole: true}
			n++
		}
		if refused, err := t.send(p); err != nil {
			switch {
			case refused == nil:
				return err
			case !replannable(err):
				return t.permitted("write", refused.path, err)
			}
			t.mistaken(refused, err, fresh)
			return nil // commit plans again
		}
		for path, n := range p.after {
			fresh[path] = n
		}
		parents = parents[n:]
	}
	return nil
}

// refuse tells a conflict, but only a leader: one who is not hears that first.
func (t *term) refuse(path string) error {
	for {
		_, err := t.client.Multi(
			&zk.CheckVersionRequest{Path: t.place.full(join(electionPath, t.own.name)), Version: -1},
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

// send sends a plan until its outcome is known. An operation that was refused is
// returned with its error.
func (t *term) send(p *planner) (refused *op, err error) {
	next := fence{t.leader.Term, t.commits + 1}
	requests := []any{
		&zk.CheckVersionRequest{Path: t.place.full(join(electionPath, t.own.name)), Version: -1},
		&zk.SetDataRequest{Path: t.place.full(fencePath), Data: next.bytes(), Version: t.fenceVersion},
	}
	for _, o := range p.ops {
		requests = append(requests, o.request)
	}
	unsure := false // an earlier try may have been done
	began, tries := time.Now(), 0
	over := func(why error) (*op, error) {
		t.end(why)
		if unsure {
			return nil, fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, t.Err())
		}
		return nil, t.Err()
	}
	for {
		if err := t.Err(); err != nil {
			return over(err)
		}
		results, err := t.client.Multi(requests...)
		if err == nil {
			t.committed(p, results[1].Stat, results[2:])
			return nil, nil
		}
		if answered(err) {
			failed := firstFailed(results)
			if failed >= 2 {
				return &p.ops[failed-2], err
			}
			if failed == 0 && isFence(err) {
				return over(errFenced)
			}
			// Whether it, or an earlier try, was done is for the fence to say.
			shown, stat, readErr := t.shows(next)
			switch {
			case readErr != nil:
				unsure = true
				return over(readErr)
			case shown:
				t.committed(p, stat, nil)
				return nil, nil
			case failed >= 0 && isFence(err):
				return over(errFenced)
			}
			return nil, t.permitted("write", fencePath, err)
		}
		unsure = true
		tries++
		tried := time.Since(began)
		switch {
		case errors.Is(err, zk.ErrSessionExpired):
			return over(err)
		case tries > mostTries && tried > t.place.SessionTimeout, tried > longest*t.place.SessionTimeout:
			if errors.Is(err, zk.ErrConnectionClosed) {
				err = fmt.Errorf("is jute.maxbuffer of the servers smaller than %d? %w", wireLimit, err)
			}
			return over(fmt.Errorf("no answer in %d tries and %s to a request of %d bytes; does a disk of ZooKeeper hang? %w", tries, tried.Round(time.Second), p.size, err))
		}
		t.place.Logger.Debug("a commit got no answer: asking again (rule T3)", "term", next.term, "commit", next.commit, "error", err)
		if err := t.wait(context.Background()); err != nil {
			return over(err)
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
	value, stat, err := t.read(context.Background(), fencePath)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	found, err := readFence(value)
	return err == nil && found == f, stat, nil
}

// committed keeps what a plan made. Without results versions are not sure.
func (t *term) committed(p *planner, fence *zk.Stat, results []zk.MultiResponse) {
	t.commits++
	t.fenceVersion = fence.Version
	for i, o := range p.ops {
		n := p.after[o.path]
		_, setting := o.request.(*zk.SetDataRequest)
		switch {
		case n.kind == absent:
			continue
		case setting && i < len(results) && results[i].Stat != nil:
			n.version = results[i].Stat.Version
		case setting:
			n.kind = unknown
		}
		n.zxid = fence.Mzxid
		p.after[o.path] = n
	}
	for path, n := range p.after {
		t.known.set(path, n)
		delete(t.litter, path)
	}
	for _, path := range p.emptied {
		t.litter[path] = true
	}
}
