// Package fencing hands out the fencing tokens of attempts (rule K6).
package fencing

import (
	"fmt"
	"strconv"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// reserved is how many tokens one write to the registry reserves, so that few launches write.
const reserved = 1000

// Tokens hands out fencing tokens. A token is greater than every earlier one, also than those of earlier leaders and
// of a registry that was restored from a copy since.
//
// The copy doesn't know which tokens were handed out after it was made. Each term therefore begins at the wall clock's
// milliseconds at least: fewer than a thousand attempts a second are launched on average, so that no earlier token
// reached that number while the clock was right.
type Tokens struct {
	shared *step.Shared
	last   int64
	// limit is the highest token that is reserved. It is stored before any token up to it is used.
	limit          int64
	begun, changed bool
}

// New returns Tokens without a stored limit.
func New(s *step.Shared) *Tokens { return &Tokens{shared: s} }

// Restore sets the stored limit while a term is loaded.
func (t *Tokens) Restore(value []byte) (err error) {
	if t.limit, err = strconv.ParseInt(string(value), 10, 64); err != nil {
		return fmt.Errorf("read the limit of fencing tokens: %w", err)
	}
	return nil
}

// Next returns the token of the next attempt. Tokens are positive and below 2^53, so that programs may read them as
// floating-point numbers.
func (t *Tokens) Next() int64 {
	if !t.begun {
		t.begun = true
		t.last = max(t.limit, t.shared.Wall().UnixMilli())
		t.limit = t.last
	}
	t.last++
	if t.last > t.limit {
		t.limit, t.changed = t.last+reserved-1, true
	}
	return t.last
}

// Write adds the limit to the commit, if it has changed.
func (t *Tokens) Write(c *store.Commit) {
	if t.changed {
		c.Raw(store.PathFencing, strconv.AppendInt(nil, t.limit, 10))
		t.changed = false
	}
}
