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

// ReadShared reads a shared value. It retries until ctx ends while the database can't be reached.
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

// WriteShared writes a shared value. It retries until ctx ends while the database can't be reached. After a lost
// answer it writes again: the condition prevents a second write, and the writer's mark in the row shows whether the
// first succeeded.
func (r *Registry) WriteShared(ctx context.Context, name string, value []byte, condition registry.Condition) (int64,
	error) {
	if err := registry.CheckShared(name, true, value, condition); err != nil {
		return 0, err
	}
	w := sharedWrite{name: name, writer: uuid.NewString(), value: notNil(value), condition: condition}
	unsure := false
	fail := func(err error) (int64, error) {
		err = fmt.Errorf("write the shared value %s: %w", name, err)
		if unsure {
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
		case err == nil && unsure:
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
		unsure = unsure || isOutcomeUnknown(err)
		if err := r.pauseBeforeRetry(ctx, err); err != nil {
			return fail(err)
		}
	}
}

// sharedWrite is one write of a shared value.
type sharedWrite struct {
	name, writer string
	value        []byte
	condition    registry.Condition
}

// try writes the value if the condition holds, and returns the new version.
func (w sharedWrite) try(ctx context.Context, s *store) (version int64, met bool, err error) {
	at, there := w.condition.Version()
	if !there {
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
		w.writer, w.value, w.name, at)
	if err != nil {
		return 0, false, err
	}
	n, err := done.RowsAffected()
	return at + 1, n == 1, err
}

// wasWritten reports whether the condition no longer holds because an earlier try, whose answer was lost, succeeded.
func (w sharedWrite) wasWritten(ctx context.Context, s *store) (int64, error) {
	var version int64
	var writer string
	at, there := w.condition.Version()
	want := int64(0)
	if there {
		want = at + 1
	}
	err := s.sharedDB.QueryRowContext(ctx, "SELECT version, writer FROM REGISTRY_SHARED WHERE name = ?",
		w.name).Scan(&version, &writer)
	switch {
	case err == nil && writer == w.writer:
		return version, nil
	case err == nil && version == want:
		return 0, &registry.Conflict{Path: w.name}
	case err == nil:
		err = errors.New("it has changed again since")
	}
	return 0, fmt.Errorf("%w: write the shared value %s: %w", registry.ErrOutcomeUnknown, w.name, err)
}

// pauseBeforeRetry waits before the next try. Its error contains the cause of the failed one.
func (r *Registry) pauseBeforeRetry(ctx context.Context, why error) error {
	select {
	case <-time.After(firstPause):
		return nil
	case <-r.leadership.Context().Done():
		return campaign.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", r.store.explain("ask", why), ctx.Err())
	}
}
