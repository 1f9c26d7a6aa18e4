package embedded

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/elasticjob-go/elasticjob/registry"
)

var _ registry.Shared = (*Registry)(nil)

// ReadShared returns a shared value. It works even if the file is lost, while its pages can be read.
func (r *Registry) ReadShared(ctx context.Context, name string) (registry.Entry, error) {
	fail := func(err error) (registry.Entry, error) {
		return registry.Entry{}, fmt.Errorf("read the shared value %s of %s: %w", name, r.path, err)
	}
	if err := registry.CheckShared(name, false, nil, registry.Condition{}); err != nil {
		return registry.Entry{}, err
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	var e registry.Entry
	err := r.view(sharedBucket, func(shared *bolt.Bucket) (err error) {
		v := shared.Get([]byte(name))
		if v == nil {
			return registry.ErrNotFound
		}
		e, err = decode(name, v)
		return err
	})
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// WriteShared writes and syncs a value. A failed write ends all use of the registry, as in Commit.
func (r *Registry) WriteShared(ctx context.Context, name string, value []byte,
	condition registry.Condition) (version int64, err error) {
	fail := func(err error) (int64, error) {
		return 0, fmt.Errorf("write the shared value %s of %s: %w", name, r.path, err)
	}
	if err := registry.CheckShared(name, true, value, condition); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := r.usable(); err != nil {
		return fail(err)
	}
	faulted, err := r.update(func(tx *bolt.Tx) (err error) {
		version, err = applyOne(tx.Bucket(sharedBucket), registry.Write{Path: name, Value: value, If: condition})
		return err
	})
	var conflict *registry.Conflict
	switch {
	case errors.As(err, &conflict) && !faulted:
		return 0, conflict
	case err == nil:
		err = r.checkFile() // a write to a removed file is lost when this process ends
	default:
		err = r.failWith(err, faulted)
	}
	if err != nil {
		return fail(fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, err))
	}
	r.reserveSpace()
	return version, nil
}
