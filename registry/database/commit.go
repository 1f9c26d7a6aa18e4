package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Commit makes all writes in one transaction. It checks ctx only before it begins; after that, only the end of the
// term interrupts it.
func (t *term) Commit(ctx context.Context, writes []registry.Write) error {
	fail := func(err error) error { return fmt.Errorf("commit (writes: %d): %w", len(writes), err) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := registry.CheckWrites(writes); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	p, mayBeDone := newPlan(writes), false // mayBeDone: an earlier try may have committed
	endTerm := func(err error) error {
		t.end(err)
		if err = fail(t.Err()); mayBeDone {
			err = fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, err)
		}
		return err
	}
	for wait := firstPause; ; wait = min(2*wait, maxPause) {
		if t.Err() != nil {
			return endTerm(t.Err())
		}
		sent, err := t.try(p, mayBeDone)
		mayBeDone = mayBeDone || sent && isOutcomeUnknown(err)
		var conflict *registry.Conflict
		switch {
		case err == nil:
			t.recordCommit(t.changes.Load() + 1)
			return nil
		case errors.As(err, &conflict):
			return conflict
		case errors.Is(err, errDeposed), errors.As(err, new(rolledBackError)):
			return endTerm(err)
		case !isRetryable(err) && mayBeDone:
			return endTerm(t.store.explain("find out whether a commit was made", err))
		case !isRetryable(err):
			return fail(t.store.explain("write", err))
		}
		t.store.Logger.Debug("commit failed, retrying", "term", t.Number(), "error", err)
		select {
		case <-time.After(wait):
		case <-t.ctx.Done():
		}
	}
}

// try sends the transaction of a commit, in as few requests as possible: a small commit without conditions is a single
// request. sent is true if the COMMIT was sent. If there is no answer then, only the fence's row shows whether the
// transaction was committed. mayBeDone says that this has happened to an earlier try. After a conflict or a refusal,
// the transaction is rolled back.
func (t *term) try(p plan, mayBeDone bool) (sent bool, err error) {
	conn, err := t.connection()
	if err != nil {
		return false, err
	}
	defer func() {
		switch {
		case err == nil:
			t.connUsed = time.Now()
		case isOutcomeUnknown(err) && !errors.As(err, new(*registry.Conflict)):
			t.dropConn()
		default:
			t.rollBack()
		}
	}()
	statements := append([]statement{t.fenceStatement()}, p.statements()...)
	if len(p.conditional) > 0 {
		// The conditions are checked after the fence, so that a deposed term does not mistake its end for a conflict.
		if err = t.exec(conn, statements[0]); err == nil {
			err = t.store.withTimeout(t.ctx,
				func(ctx context.Context) error { return t.checkConditions(ctx, conn, p) })
		}
		statements = statements[1:]
	}
	for _, request := range requests(append(statements, statement{text: "COMMIT"})) {
		if err != nil {
			break
		}
		sent = strings.HasSuffix(request.text, "COMMIT")
		err = t.exec(conn, request)
	}
	if hasCode(err, outOfRange) {
		return false, t.store.withTimeout(t.ctx,
			func(ctx context.Context) error { return t.resolveRefusal(ctx, conn, mayBeDone) })
	}
	return sent, err
}

// exec sends one request of a commit.
func (t *term) exec(conn *sqlx.Conn, s statement) error {
	return t.store.withTimeout(t.ctx, func(ctx context.Context) error { return s.exec(ctx, conn) })
}

// fenceStatement returns the statement that begins a transaction and increments the count in the fence's row. It
// succeeds only if the row is as this term's last commit has left it (rule T2). Otherwise it adds 1 to the greatest
// BIGINT, which is an error in every SQL mode, so that the server skips the rest of the request.
func (t *term) fenceStatement() statement {
	return statement{"START TRANSACTION; UPDATE REGISTRY_FENCE SET changes = IF(term = ? AND holder = ? AND changes = ?, changes + 1, 9223372036854775807 + changes + 1) WHERE id = 1",
		[]any{t.leader.Term, t.holder, t.changes.Load()}, 0}
}

// resolveRefusal determines why the fence refused a commit. It returns nil if an earlier try of the same commit, whose
// answer was lost, was committed. mayBeDone says whether there was such a try.
func (t *term) resolveRefusal(ctx context.Context, conn *sqlx.Conn, mayBeDone bool) error {
	changes := t.changes.Load()
	var now rows
	if err := conn.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
		return err
	}
	if err := t.checkFence(now, changes); err != nil {
		return err
	}
	if !mayBeDone && now.Changes == changes+1 {
		return fmt.Errorf("%w: %w: the fence has one change more than were answered: a proxy has sent a request twice",
			errDeposed, registry.ErrOutcomeUnknown)
	}
	if now.Changes != changes+1 {
		return fmt.Errorf("%w: the fence is at change %d, not %d: another program has written to it", errDeposed,
			now.Changes, changes)
	}
	// InnoDB shows a commit a moment before the commit is on the disk. It writes its log in order, so when this later
	// commit is answered, the earlier one is on the disk too.
	if _, err := conn.ExecContext(ctx, "UPDATE REGISTRY_LEASE SET renewals = renewals + 1 WHERE id = 1"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

// checkConditions checks the conditions of the commit against the stored versions.
func (t *term) checkConditions(ctx context.Context, conn *sqlx.Conn, p plan) error {
	versions := map[string]int64{}
	for _, batch := range batches(p.conditional, func(path string) int { return len(path) }) {
		var found []struct {
			Path    string
			Version int64
		}
		if err := conn.SelectContext(ctx, &found,
			"SELECT path, version FROM REGISTRY_ENTRY WHERE path IN "+placeholders(len(batch)),
			arguments(batch)...); err != nil {
			return err
		}
		for _, e := range found {
			versions[e.Path] = e.Version
		}
	}
	if path := p.conflict(versions); path != "" {
		return &registry.Conflict{Path: path}
	}
	return nil
}

// connection returns the connection for commits. If the connection was idle for so long that the server may have
// closed it, it opens a new one.
func (t *term) connection() (*sqlx.Conn, error) {
	if t.conn != nil && time.Since(t.connUsed) > time.Duration(t.store.idleTimeoutSeconds())*time.Second/2 {
		t.dropConn()
	}
	if t.conn == nil {
		err := t.store.withTimeout(t.ctx, func(ctx context.Context) (err error) {
			t.conn, err = t.store.db.Connx(ctx)
			return err
		})
		if err != nil {
			t.conn = nil
			return nil, err
		}
		t.connUsed = time.Now()
	}
	return t.conn, nil
}

// rollBack rolls the transaction back. If that fails, it drops the connection.
func (t *term) rollBack() {
	if err := t.exec(t.conn, statement{text: "ROLLBACK"}); err != nil {
		t.dropConn()
	}
}

// dropConn closes the connection for commits, so that the server rolls back its transaction.
func (t *term) dropConn() {
	if t.conn != nil {
		discard(t.conn)
		t.conn = nil
	}
}
