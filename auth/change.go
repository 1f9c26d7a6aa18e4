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

// change makes a change of the document and its audit row in one write, and retries while other processes change the
// document first. apply may be called several times, so it must change nothing but its argument. An error of apply
// ends the change.
func (d *Access) change(ctx context.Context, apply func(*accessDocument) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	done, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	id := randomHex(8)
	for unsure := error(nil); ; {
		made, err := d.tryChange(ctx, id, unsure != nil, apply)
		var conflict *registry.Conflict
		switch {
		case made:
			return nil
		case errors.Is(err, registry.ErrOutcomeUnknown):
			unsure = err
		case errors.As(err, &conflict): // another process changed the document first
		case unsure != nil:
			return fmt.Errorf("%w; then: %w", unsure, err)
		default:
			return err
		}
		select {
		case <-time.After(5*time.Millisecond + rand.N(45*time.Millisecond)):
		case <-ctx.Done():
			return fmt.Errorf("change users and tokens: %w", errors.Join(ctx.Err(), unsure))
		}
	}
}

func (d *Access) tryChange(ctx context.Context, id string, unsure bool, apply func(*accessDocument) error) (made bool,
	err error) {
	began := d.now()
	e, err := d.shared.ReadShared(ctx, sharedName)
	if errors.Is(err, registry.ErrNotFound) && d.copy.Load() == nil {
		return false, cmp.Or[error](d.create(ctx), &registry.Conflict{Path: sharedName}) // then retry
	}
	if err != nil {
		return false, err
	}
	doc, err := parseDocument(e.Value)
	if err != nil {
		return false, fmt.Errorf("read the shared value %s: %w", sharedName, err)
	}
	if unsure && slices.Contains(doc.Changes, id) {
		return true, d.adopt(e, began)
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
	version, err := d.shared.WriteShared(ctx, sharedName, value, registry.AtVersion(e.Version))
	if err != nil {
		return false, err
	}
	return true, d.adopt(registry.Entry{Value: value, Version: version}, began)
}

// randomBytes returns random bytes for secrets and ids.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = cryptorand.Read(b) // never fails
	return b
}

func randomHex(bytes int) string { return hex.EncodeToString(randomBytes(bytes)) }

// PendingAudit returns the audit rows of changes of the document that no leader has taken yet, according to the copy.
func (d *Access) PendingAudit() []event.Audit {
	s, err := d.current()
	if err != nil {
		return nil
	}
	return slices.Clone(s.Audit)
}

// TakeAudit removes audit rows that are stored elsewhere now. It ignores unknown ids.
func (d *Access) TakeAudit(ctx context.Context, ids []string) error {
	taken := make(map[string]bool, len(ids))
	for _, id := range ids {
		taken[id] = true
	}
	err := d.change(ctx, func(doc *accessDocument) error {
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

// errUnchanged ends a change that would change nothing.
var errUnchanged = errors.New("nothing to change")
