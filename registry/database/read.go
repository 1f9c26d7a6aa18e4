package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// These are the parts of the statement of a read, which returns the fence's row beside each entry. It has no ORDER BY,
// because for that the database would build a temporary table of all values.
const (
	readBegin = "SELECT f.term AS term, f.holder AS holder, f.changes AS changes, f.lineage AS lineage, e.path AS path, e.version AS version, e.value AS value" +
		" FROM REGISTRY_FENCE f LEFT JOIN REGISTRY_ENTRY e ON "
	readEnd = " WHERE f.id = 1"
)

// errNoFence is the error for a registry without a fence's row. Its entries may be of any time.
var errNoFence = errors.New("the row of REGISTRY_FENCE is missing: tables may have been restored while servers ran; stop the servers, restore all tables of the registry, and start them again")

// List reads all entries below the path in one statement, so they are all of one moment.
func (t *term) List(ctx context.Context, path string) ([]registry.Entry, error) {
	if err := registry.CheckListPath(path); err != nil {
		return nil, err
	}
	// All paths below /a are between /a/ and /a0, because 0 is the character after the slash.
	below := strings.TrimSuffix(path, "/")
	found, err := t.read(ctx, "e.path > ? AND e.path < ?", []byte(below+"/"), []byte(below+"0"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	return found, nil
}

// Get reads one entry.
func (t *term) Get(ctx context.Context, path string) (registry.Entry, error) {
	if err := registry.CheckPath(path); err != nil {
		return registry.Entry{}, err
	}
	found, err := t.read(ctx, "e.path = ?", []byte(path))
	if err == nil && len(found) == 0 {
		err = registry.ErrNotFound
	}
	if err != nil {
		return registry.Entry{}, fmt.Errorf("get %s: %w", path, err)
	}
	return found[0], nil
}

// read reads the entries that meet the SQL condition where. If the term has ended, it returns an error, because
// another term may have written before the read.
func (t *term) read(ctx context.Context, where string, args ...any) ([]registry.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(nil) })()
	timeout := time.AfterFunc(t.store.requestTimeout(), func() { cancel(context.DeadlineExceeded) })
	defer timeout.Stop()
	found, err := t.readEntries(ctx, func() { timeout.Reset(t.store.requestTimeout()) }, where, args...)
	if ended := t.Err(); ended != nil {
		return nil, ended
	}
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil, t.store.explain("read", context.DeadlineExceeded)
	}
	return found, err
}

// readEntries reads the entries, and calls progress for each row.
func (t *term) readEntries(
	ctx context.Context, progress func(), where string, args ...any,
) (found []registry.Entry, err error) {
	changes := t.changes.Load()
	answer, err := t.store.db.QueryContext(ctx, readBegin+where+readEnd, args...)
	if err != nil {
		return nil, t.store.explain("read", err)
	}
	defer answer.Close()
	var now rows
	var path sql.NullString
	var version sql.NullInt64
	fenceChecked := false
	for answer.Next() {
		progress()
		var value []byte
		if err := answer.Scan(&now.Term, &now.Holder, &now.Changes, &now.Lineage, &path, &version,
			&value); err != nil {
			return nil, t.store.explain("read", err)
		}
		if !fenceChecked {
			if err := t.checkFence(now, changes); err != nil {
				return nil, fmt.Errorf("the database %s answered with data that is older than this term, as when a proxy sends reads to replicas: %w",
					t.store.name, err)
			}
			fenceChecked = true
		}
		if path.Valid { // otherwise no entry matched
			found = append(found, registry.Entry{Path: path.String, Version: version.Int64, Value: notNil(value)})
		}
	}
	err = answer.Err()
	if err == nil && !fenceChecked {
		err = errNoFence
	}
	slices.SortFunc(found, func(a, b registry.Entry) int { return strings.Compare(a.Path, b.Path) })
	return found, t.store.explain("read", err)
}
