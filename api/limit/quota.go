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

// maxConcurrent is the maximum number of requests of one kind that are in progress at the same time.
const maxConcurrent = 2

// Quota limits the expensive requests of one kind that are in progress at the same time: one for each caller, and
// maxConcurrent in total. Further requests are refused and not queued, because the queue of a caller with many
// requests would take memory.
type Quota struct {
	// code is the code of refusals; what names the kind of requests in their message.
	code, what string
	// retryAfter is the delay that refusals suggest to the client.
	retryAfter time.Duration

	mu      sync.Mutex
	running map[callerKey]bool
}

// NewQuota returns a quota for one kind of requests. what names the kind in messages, such as "package checks".
func NewQuota(code, what string, retryAfter time.Duration) *Quota {
	return &Quota{code: code, what: what, retryAfter: retryAfter}
}

// callerKey identifies a caller. A user and a token with the same name are different callers.
type callerKey struct {
	kind auth.Kind
	name string
}

// Enter counts a request of the caller until leave is called. If the quota is used up, it returns a failure with
// status 429.
func (q *Quota) Enter(who caller.Caller) (leave func(), err error) {
	key := callerKey{who.Kind, who.Name}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.running[key]:
		return nil, q.refuse("another request of yours is in progress, and a caller may have one at a time")
	case len(q.running) >= maxConcurrent:
		return nil, q.refuse("two requests of other callers are in progress, the maximum")
	}
	if q.running == nil {
		q.running = map[callerKey]bool{}
	}
	q.running[key] = true
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.running, key)
	}, nil
}

func (q *Quota) refuse(why string) error {
	f := failure.New(http.StatusTooManyRequests, q.code, "too many %s: %s; try again in a moment", q.what, why)
	f.RetryAfter, f.Undone = q.retryAfter, true
	return f
}
