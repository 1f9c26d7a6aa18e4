// Package limit bounds expensive requests and streams, in total and for each caller.
package limit

import (
	"net/http"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// maxConcurrent is the maximum number of requests of one expensive kind in progress at once.
const maxConcurrent = 2

// Quota bounds how many requests of an expensive kind are in progress at once: one for each caller, and maxConcurrent
// in total. Requests beyond that are refused instead of queued, because a queue would keep the requests of a caller
// that sends many, and their memory.
type Quota struct {
	// code is the code of refusals; what names the kind of requests in their message.
	code, what string
	// retryAfter is the delay after which a refused caller may try again.
	retryAfter time.Duration

	mu      sync.Mutex
	running map[callerKey]bool
}

// NewQuota returns a quota for a kind of requests. Refusals have the code, name the kind as what, and tell the client
// to retry after retryAfter.
func NewQuota(code, what string, retryAfter time.Duration) *Quota {
	return &Quota{code: code, what: what, retryAfter: retryAfter}
}

// callerKey identifies a caller that holds a place. A user and a token of the same name are different callers.
type callerKey struct {
	kind auth.Kind
	name string
}

// Enter takes a place for a request of the caller. leave gives the place back. If none is free, Enter returns a
// failure with status 429.
func (q *Quota) Enter(who caller.Caller) (leave func(), err error) {
	by := callerKey{who.Kind, who.Name}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.running[by]:
		return nil, q.refuse("another request of yours is in progress, and a caller may have one at a time")
	case len(q.running) >= maxConcurrent:
		return nil, q.refuse("two requests of other callers are in progress, the maximum")
	}
	if q.running == nil {
		q.running = map[callerKey]bool{}
	}
	q.running[by] = true
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.running, by)
	}, nil
}

func (q *Quota) refuse(why string) error {
	f := failure.New(http.StatusTooManyRequests, q.code, "too many %s: %s; try again in a moment", q.what, why)
	f.RetryAfter, f.Undone = q.retryAfter, true
	return f
}
