// Package fencing hands out the fencing tokens of attempts (rule K6).
package fencing

import (
	"fmt"
	"strconv"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// tokensPerWrite is how many tokens are reserved by one write to the registry, so that few launches need a write.
const tokensPerWrite = 1000

// Tokens hands out fencing tokens. Each token is greater than every earlier token, including those that earlier
// leaders handed out, and those that were handed out before the registry was restored from a copy.
//
// A copy of the registry doesn't know the tokens that were handed out after it was made. The first token of each term
// is therefore greater than the wall clock in milliseconds. Fewer than a thousand attempts a second are launched on
// average, so no earlier token has reached that number, as long as the clock was right.
type Tokens struct {
	shared *step.Shared
	// last is the last token of this term. It is valid once begun is set.
	last  int64
	begun bool
	// limit is the highest token that is reserved. It is stored before any token up to it is used.
	limit int64
	// changed is set while the limit has to be stored.
	changed bool
}

// New returns Tokens without a stored limit.
func New(s *step.Shared) *Tokens { return &Tokens{shared: s} }

// Restore sets the limit from its stored value, while a term is loaded.
func (t *Tokens) Restore(value []byte) (err error) {
	if t.limit, err = strconv.ParseInt(string(value), 10, 64); err != nil {
		return fmt.Errorf("read the limit of fencing tokens: %w", err)
	}
	return nil
}

// Next returns the token for the next attempt. Tokens are positive and below 2^53, so that programs can read them as
// floating-point numbers without loss.
func (t *Tokens) Next() int64 {
	if !t.begun {
		t.begun = true
		t.last = max(t.limit, t.shared.Wall().UnixMilli())
		t.limit = t.last
	}
	t.last++
	if t.last > t.limit {
		t.limit, t.changed = t.last+tokensPerWrite-1, true
	}
	return t.last
}

// Write adds the limit to the commit, if it has changed since the last commit.
func (t *Tokens) Write(c *store.Commit) {
	if t.changed {
		c.Raw(store.PathFencing, strconv.AppendInt(nil, t.limit, 10))
		t.changed = false
	}
}
