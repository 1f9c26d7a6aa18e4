package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/campaign"
)

var _ registry.Shared = (*Registry)(nil)

// ReadShared reads a shared value. While the database can't be reached, it retries until ctx ends.
func (r *Registry) ReadShared(ctx context.Context, name string) (registry.Entry, error) {
	fail := func(err error) (registry.Entry, error) {
		return registry.Entry{}, fmt.Errorf("read the shared value %s: %w", name, err)
	}
	if err := registry.CheckShared(name, false, nil, registry.Condition{}); err != nil {
		return registry.Entry{}, err
	}
	for {
		e := registry.Entry{Path: name}
		err := r.store.withTimeout(ctx, func(ctx context.Context) error {
			return r.store.sharedDB.QueryRowContext(ctx, "SELECT version, value FROM REGISTRY_SHARED WHERE name = ?",
				name).Scan(&e.Version, &e.Value)
		})
		switch {
		case err == nil:
			return e, nil
		case errors.Is(err, sql.ErrNoRows), hasCode(err, noSuchTable):
			return fail(registry.ErrNotFound)
		case !isRetryable(err):
			return fail(r.store.explain("read", err))
		}
		if err := r.pauseBeforeRetry(ctx, err); err != nil {
			return fail(err)
		}
	}
}

// WriteShared writes a shared value. While the database can't be reached, it retries until ctx ends. If an answer is
// lost, it writes again. The condition keeps the value from being written twice, and the writer's id in the row then
// shows whether the first write succeeded.
func (r *Registry) WriteShared(
	ctx context.Context, name string, value []byte, condition registry.Condition,
) (int64, error) {
	if err := registry.CheckShared(name, true, value, condition); err != nil {
		return 0, err
	}
	w := sharedWrite{name: name, writer: uuid.NewString(), value: notNil(value), condition: condition}
	mayBeWritten := false // an earlier try may have written the value
	fail := func(err error) (int64, error) {
		err = fmt.Errorf("write the shared value %s: %w", name, err)
		if mayBeWritten {
			err = fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, err)
		}
		return 0, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		var version int64
		var met bool
		err := r.store.withTimeout(ctx, func(ctx context.Context) (err error) {
			version, met, err = w.try(ctx, r.store)
			return err
		})
		switch {
		case err == nil && met:
			return version, nil
		case err == nil && mayBeWritten:
			return w.wasWritten(ctx, r.store)
		case err == nil:
			return 0, &registry.Conflict{Path: name}
		case hasCode(err, noSuchTable):
			if err := r.store.prepare(ctx, r.memory.get()); err != nil {
				return fail(err)
			}
			continue
		case !isRetryable(err):
			return fail(r.store.explain("write", err))
		}
		mayBeWritten = mayBeWritten || isOutcomeUnknown(err)
		if err := r.pauseBeforeRetry(ctx, err); err != nil {
			return fail(err)
		}
	}
}

// sharedWrite is a write of a shared value. writer is a unique id of the write.
type sharedWrite struct {
	name, writer string
	value        []byte
	condition    registry.Condition
}

// try writes the value and returns its new version, if the condition is met.
func (w sharedWrite) try(ctx context.Context, s *store) (version int64, met bool, err error) {
	required, mustExist := w.condition.Version()
	if !mustExist {
		_, err := s.sharedDB.ExecContext(ctx,
			"INSERT INTO REGISTRY_SHARED (name, version, writer, value) VALUES (?, 0, ?, ?)", w.name, w.writer,
			w.value)
		if hasCode(err, duplicateEntry) {
			return 0, false, nil
		}
		return 0, err == nil, err
	}
	done, err := s.sharedDB.ExecContext(ctx,
		"UPDATE REGISTRY_SHARED SET version = version + 1, writer = ?, value = ? WHERE name = ? AND version = ?",
		w.writer, w.value, w.name, required)
	if err != nil {
		return 0, false, err
	}
	n, err := done.RowsAffected()
	return required + 1, n == 1, err
}

// wasWritten determines why the condition of a repeated write is not met. If an earlier try, whose answer was lost,
// has written the value, it returns the version. Otherwise it returns a *registry.Conflict, or
// registry.ErrOutcomeUnknown if the value has changed again.
func (w sharedWrite) wasWritten(ctx context.Context, s *store) (int64, error) {
	var version int64
	var writer string
	after := int64(0) // the version after a successful write
	if required, mustExist := w.condition.Version(); mustExist {
		after = required + 1
	}
	err := s.sharedDB.QueryRowContext(ctx, "SELECT version, writer FROM REGISTRY_SHARED WHERE name = ?",
		w.name).Scan(&version, &writer)
	switch {
	case err == nil && writer == w.writer:
		return version, nil
	case err == nil && version == after:
		return 0, &registry.Conflict{Path: w.name}
	case err == nil:
		err = errors.New("it has changed again since")
	}
	return 0, fmt.Errorf("%w: write the shared value %s: %w", registry.ErrOutcomeUnknown, w.name, err)
}

// pauseBeforeRetry waits before the next try. If ctx ends or the registry is closed, it returns an error. cause is the
// error of the last try.
func (r *Registry) pauseBeforeRetry(ctx context.Context, cause error) error {
	select {
	case <-time.After(firstPause):
		return nil
	case <-r.leadership.Context().Done():
		return campaign.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", r.store.explain("ask", cause), ctx.Err())
	}
}
