package auth

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
)

// change applies a change to the stored document. It retries while other processes change the document first, and
// while the outcome of a write is unknown. apply may be called several times, each time with the document that was just
// read. Besides the document it may set only variables of which the last value counts. change returns an error of apply
// at once.
func (a *Access) change(ctx context.Context, apply func(*accessDocument) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	release, err := a.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	id := randomHex(8)
	var unknown error // of the last write whose outcome is unknown
	for {
		made, err := a.tryChange(ctx, id, unknown != nil, apply)
		var conflict *registry.Conflict
		switch {
		case made:
			return nil
		case errors.Is(err, registry.ErrOutcomeUnknown):
			unknown = err
		case errors.As(err, &conflict): // another process changed the document first
		case unknown != nil:
			return fmt.Errorf("%w; then: %w", unknown, err)
		default:
			return err
		}
		select {
		case <-time.After(5*time.Millisecond + rand.N(45*time.Millisecond)):
		case <-ctx.Done():
			return fmt.Errorf("change users and tokens: %w", errors.Join(ctx.Err(), unknown))
		}
	}
}

// tryChange reads the document, applies the change, and writes the document if no other process has changed it since.
// mayBeMade says that an earlier write of the same change has an unknown outcome. If the document then contains the
// change's id, the change has been made, and tryChange only adopts the document.
func (a *Access) tryChange(
	ctx context.Context, id string, mayBeMade bool, apply func(*accessDocument) error,
) (made bool, err error) {
	readAt := a.now()
	e, err := a.shared.ReadShared(ctx, sharedName)
	if errors.Is(err, registry.ErrNotFound) && a.copy.Load() == nil {
		// The conflict makes the caller try again with the document that exists now.
		return false, cmp.Or[error](a.create(ctx), &registry.Conflict{Path: sharedName})
	}
	if err != nil {
		return false, err
	}
	doc, err := parseDocument(e.Value)
	if err != nil {
		return false, fmt.Errorf("read the shared value %s: %w", sharedName, err)
	}
	if mayBeMade && slices.Contains(doc.Changes, id) {
		return true, a.adopt(e, readAt)
	}
	if err := apply(&doc); err != nil {
		return false, err
	}
	doc.Changes = append(doc.Changes, id)
	doc.Changes = doc.Changes[max(0, len(doc.Changes)-maxChanges):]
	value, err := doc.encode()
	if err != nil {
		return false, err
	}
	version, err := a.shared.WriteShared(ctx, sharedName, value, registry.AtVersion(e.Version))
	if err != nil {
		return false, err
	}
	return true, a.adopt(registry.Entry{Value: value, Version: version}, readAt)
}

// randomBytes returns random bytes for secrets and ids.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = cryptorand.Read(b) // never fails
	return b
}

// randomHex returns this number of random bytes in hexadecimal.
func randomHex(bytes int) string { return hex.EncodeToString(randomBytes(bytes)) }

// PendingAudit returns the audit rows in the copy of the document: no leader has moved them into the audit log yet. It
// returns nil while no valid copy is available.
func (a *Access) PendingAudit() []event.Audit {
	s, err := a.current()
	if err != nil {
		return nil
	}
	return slices.Clone(s.Audit)
}

// TakeAudit removes audit rows from the document. The leader calls it when the audit log has stored them. It ignores
// unknown ids.
func (a *Access) TakeAudit(ctx context.Context, ids []string) error {
	taken := make(map[string]bool, len(ids))
	for _, id := range ids {
		taken[id] = true
	}
	err := a.change(ctx, func(doc *accessDocument) error {
		before := len(doc.Audit)
		doc.Audit = slices.DeleteFunc(doc.Audit, func(row event.Audit) bool { return taken[row.ID] })
		if len(doc.Audit) == before {
			return errUnchanged
		}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// errUnchanged makes change return without a write, because the document would not change.
var errUnchanged = errors.New("nothing to change")
