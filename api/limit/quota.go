// Package limit bounds costly requests and answers that last, in all and for each caller.
package limit

import (
	"net/http"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// costlyAtOnce is how many requests of one costly kind are worked on at once.
const costlyAtOnce = 2

// Quota bounds how many requests of a costly kind are worked on at once: one of each caller, and costlyAtOnce of all.
// Nobody waits, because a queue would hold the requests, and their memory, of a caller that sends many.
type Quota struct {
	// code is that of refusals, what the kind of requests that they name.
	code, what string
	// retryAfter is when a refused caller may try again.
	retryAfter time.Duration

	mu      sync.Mutex
	running map[holder]bool
}

// NewQuota bounds requests of a kind: refusals have a code, name the kind, and say when to try again.
func NewQuota(code, what string, retryAfter time.Duration) *Quota {
	return &Quota{code: code, what: what, retryAfter: retryAfter}
}

// holder is who has a place: a user and a token of the same name are two.
type holder struct {
	kind auth.Kind
	name string
}

// Enter takes a place for a request of that caller, which leave gives back, or refuses it with 429.
func (q *Quota) Enter(who caller.Caller) (leave func(), err error) {
	by := holder{who.Kind, who.Name}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.running[by]:
		return nil, q.refuse("one of yours is being worked on already, and a caller has one at a time")
	case len(q.running) >= costlyAtOnce:
		return nil, q.refuse("two of other callers are being worked on already, and two at a time are the most")
	}
	if q.running == nil {
		q.running = map[holder]bool{}
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
