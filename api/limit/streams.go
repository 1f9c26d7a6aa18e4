package limit

import (
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// retryStream is after how long a refused caller may ask again.
const retryStream = 15 * time.Second

// leastStreams is how many streams one caller may have, however few a server has.
const leastStreams = 4

// Streams counts the answers of a kind that last as long as their clients like, each of which holds descriptors: this
// server's own, and those that it passes on from the leader.
type Streams struct {
	// what they follow, as messages have it.
	what string

	mu   sync.Mutex
	open int
	of   map[holder]int
}

// NewStreams counts streams that follow something.
func NewStreams(what string) *Streams { return &Streams{what: what} }

// OutOfDescriptors is the answer while the process has no descriptors left for streams.
func (n *Streams) OutOfDescriptors() error {
	f := failure.Unavailable("out_of_descriptors",
		"this server has no file descriptors left, and so lets nobody follow %s: "+
			"ask without following, or try again later; its log has the limit", n.what)
	f.RetryAfter = retryStream
	return f
}

// Enter takes a place for a stream of that caller, which leave gives back. There are most, and one caller has a
// quarter of them at most; on a machine that is its only user, all.
func (n *Streams) Enter(who caller.Caller, most int) (leave func(), err error) {
	by, share := holder{who.Kind, who.Name}, most
	if who.Kind != auth.Machine {
		share = min(most, max(most/4, leastStreams))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.of[by] >= share:
		return nil, n.refuse("you follow %s of this server %d times already, as often as one caller may", n.what,
			share)
	case n.open >= most:
		return nil, n.refuse("%[2]d clients follow %[1]s of this server already, as many as may", n.what, most)
	}
	if n.of == nil {
		n.of = map[holder]int{}
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
	f := failure.Unavailable("too_many_streams", why+": close some, or ask for what you need without following",
		args...)
	f.RetryAfter = retryStream
	return f
}

// Count is how many are open.
func (n *Streams) Count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}
