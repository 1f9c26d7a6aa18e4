package limit

import (
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// retryStream is the delay after which a refused caller may try again.
const retryStream = 15 * time.Second

// minStreamsPerCaller is the minimum number of streams that one caller may have, however few the server has.
const minStreamsPerCaller = 4

// Streams counts the open streams of one kind. Each stream holds file descriptors, whether this server answers it or
// forwards it to the leader.
type Streams struct {
	// what names the followed data in messages.
	what string

	mu   sync.Mutex
	open int
	of   map[callerKey]int
}

// NewStreams returns a counter of streams that follow what.
func NewStreams(what string) *Streams { return &Streams{what: what} }

// OutOfDescriptors returns the answer while the process has no file descriptors left for streams.
func (n *Streams) OutOfDescriptors() error {
	f := failure.Unavailable("out_of_descriptors",
		"this server has no file descriptors left and refuses to follow %s: request it without following, or try again later; its log has the limit", n.what)
	f.RetryAfter = retryStream
	return f
}

// Enter takes a place for a stream of the caller, and leave gives it back. limit is the maximum number of open streams.
// One caller may have a quarter of them, but at least minStreamsPerCaller; a caller of kind Machine may have all.
func (n *Streams) Enter(who caller.Caller, limit int) (leave func(), err error) {
	by, share := callerKey{who.Kind, who.Name}, limit
	if who.Kind != auth.Machine {
		share = min(limit, max(limit/4, minStreamsPerCaller))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.of[by] >= share:
		return nil, n.refuse("you already follow %s of this server %d times, the maximum for one caller", n.what,
			share)
	case n.open >= limit:
		return nil, n.refuse("%[2]d clients already follow %[1]s of this server, the maximum", n.what, limit)
	}
	if n.of == nil {
		n.of = map[callerKey]int{}
	}
	n.open++
	n.of[by]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open--
		if n.of[by]--; n.of[by] == 0 {
			delete(n.of, by)
		}
	}, nil
}

func (n *Streams) refuse(why string, args ...any) error {
	f := failure.Unavailable("too_many_streams", why+": close some, or request it without following",
		args...)
	f.RetryAfter = retryStream
	return f
}

// Count returns the number of open streams.
func (n *Streams) Count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}
