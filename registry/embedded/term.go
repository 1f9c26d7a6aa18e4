package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/elasticjob-go/elasticjob/registry"
)

// term is one leader's term in the file.
type term struct {
	registry *Registry
	number   int64
	// commits is the number of the term's commits. Only Commit uses it, while it holds registry.mu.
	commits int64

	mu   sync.Mutex
	err  error
	done chan struct{}
}

func (t *term) Number() int64         { return t.number }
func (t *term) Done() <-chan struct{} { return t.done }

func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Changed returns nil, because only this process can write to the file.
func (t *term) Changed() <-chan string { return nil }

// end ends the term for a reason. It does nothing if the term has already ended.
func (t *term) end(reason error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = reason
		close(t.done)
	}
}

// Resign ends the term. It writes nothing, because the first write of the next term fences this one.
func (t *term) Resign(context.Context) error {
	t.registry.mu.Lock()
	defer t.registry.mu.Unlock()
	t.end(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.number))
	return nil
}

// List reads the entries in one transaction, so the result has all of a commit or nothing of it.
func (t *term) List(ctx context.Context, path string) ([]registry.Entry, error) {
	if err := registry.CheckListPath(path); err != nil {
		return nil, err
	}
	prefix := []byte(path)
	if path != "/" {
		prefix = append(prefix, '/')
	}
	var found []registry.Entry
	err := t.view(ctx, func(entries *bolt.Bucket) error {
		c := entries.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if len(found)%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			e, err := decode(string(k), v)
			if err != nil {
				return err
			}
			found = append(found, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	return found, nil
}

func (t *term) Get(ctx context.Context, path string) (registry.Entry, error) {
	if err := registry.CheckPath(path); err != nil {
		return registry.Entry{}, err
	}
	var e registry.Entry
	err := t.view(ctx, func(entries *bolt.Bucket) (err error) {
		v := entries.Get([]byte(path))
		if v == nil {
			return registry.ErrNotFound
		}
		e, err = decode(path, v)
		return err
	})
	if err != nil {
		return registry.Entry{}, fmt.Errorf("get %s: %w", path, err)
	}
	return e, nil
}

// view calls read with the entries. It returns an error if ctx or the term has ended.
func (t *term) view(ctx context.Context, read func(*bolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.Err(); err != nil {
		return err
	}
	return t.registry.view(entriesBucket, read)
}

// Confirm checks that the term has not ended, and that its file, which no other process can open, is still in its
// place.
func (t *term) Confirm(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := t.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := t.Err(); err != nil {
		return err
	}
	if err := r.checkFile(); err != nil {
		return fmt.Errorf("%w: %w", registry.ErrTermEnded, err)
	}
	return nil
}

// Commit writes and syncs. After a failed write the term has ended, and all further writes fail. The commit may still
// have happened, if the page that makes it valid was written.
func (t *term) Commit(ctx context.Context, writes []registry.Write) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit (writes: %d): %w", len(writes), err)
	}
	if err := registry.CheckWrites(writes); err != nil {
		return err
	}
	r := t.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := t.Err(); err != nil {
		return fmt.Errorf("commit (writes: %d): %w", len(writes), err)
	}
	if err := r.checkFile(); err != nil {
		return fmt.Errorf("%w: commit (writes: %d): %w", registry.ErrTermEnded, len(writes), err)
	}
	var conflict *registry.Conflict
	faulted, err := r.update(func(tx *bolt.Tx) error { return t.apply(tx, writes) })
	switch {
	case errors.As(err, &conflict) && !faulted:
		return conflict
	case errors.Is(err, registry.ErrTermEnded) && !faulted:
		t.end(err)
		return fmt.Errorf("commit (writes: %d): %w", len(writes), err)
	case err == nil:
		err = r.checkFile() // a write to a removed file is lost when this process ends
	default:
		err = r.failWith(err, faulted)
	}
	if err != nil {
		err = fmt.Errorf("%w: commit (writes: %d) to %s: %w", registry.ErrTermEnded, len(writes), r.path, err)
		if t.mayBeCommitted(t.commits + 1) {
			err = fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, err)
		}
		return err
	}
	t.commits++
	r.reserveSpace()
	return nil
}

// apply checks the fence and counts the commit (rule T2). Then it makes the writes in their order, and checks the
// condition of each.
func (t *term) apply(tx *bolt.Tx, writes []registry.Write) error {
	leader := tx.Bucket(leaderBucket)
	term, commit := numberAt(leader, termKey), numberAt(leader, commitKey)
	if term != t.number || commit != t.commits {
		return fmt.Errorf("%w: the registry is at commit %d of term %d, not %d of %d", registry.ErrTermEnded, commit,
			term, t.commits, t.number)
	}
	if err := putNumber(leader, commitKey, t.commits+1); err != nil {
		return err
	}
	entries := tx.Bucket(entriesBucket)
	for _, w := range writes {
		if _, err := applyOne(entries, w); err != nil {
			return err
		}
	}
	return nil
}

// applyOne makes one write and returns the new version of the entry. The version is 0 after a delete. If the condition
// does not hold, the error is *registry.Conflict.
func applyOne(entries *bolt.Bucket, w registry.Write) (int64, error) {
	key := []byte(w.Path)
	version := int64(-1)
	stored := entries.Get(key)
	if stored != nil {
		e, err := decode(w.Path, stored)
		if err != nil {
			return 0, err
		}
		version = e.Version
	}
	if !w.If.Met(stored != nil, version) {
		return 0, &registry.Conflict{Path: w.Path}
	}
	if w.Delete {
		return 0, entries.Delete(key)
	}
	value := make([]byte, 8, 8+len(w.Value))
	binary.BigEndian.PutUint64(value, uint64(version+1))
	return version + 1, entries.Put(key, append(value, w.Value...))
}

// mayBeCommitted reports whether the commit with this number may be in the file. It returns false only if this process
// can read the file and does not find the commit there.
func (t *term) mayBeCommitted(commit int64) bool {
	if t.registry.faulted {
		return true
	}
	visible := false
	_, err := guarded(func() error {
		return t.registry.db.View(func(tx *bolt.Tx) error {
			visible = numberAt(tx.Bucket(leaderBucket), commitKey) == commit
			return nil
		})
	})
	return visible || err != nil
}

// decode returns a stored entry. It copies the bytes, because bbolt's memory is valid only within the transaction.
func decode(path string, stored []byte) (registry.Entry, error) {
	if len(stored) < 8 {
		return registry.Entry{}, fmt.Errorf("the entry %s is damaged: %d bytes are too short for a version", path,
			len(stored))
	}
	return registry.Entry{
		Path:    path,
		Version: int64(binary.BigEndian.Uint64(stored)),
		Value:   append(make([]byte, 0, len(stored)-8), stored[8:]...),
	}, nil
}
