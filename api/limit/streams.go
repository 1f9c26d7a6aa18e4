package limit

import (
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// retryStream is the delay that refusals suggest to the client.
const retryStream = 15 * time.Second

// minStreamsPerCaller is the smallest limit of streams for one caller.
const minStreamsPerCaller = 4

// Streams counts and limits the open streams of one kind. Each stream holds file descriptors, also one that this
// server forwards to the leader.
type Streams struct {
	// what names the followed data in messages.
	what string

	mu       sync.Mutex
	open     int
	byCaller map[callerKey]int
}

// NewStreams returns a counter of streams. what names the data that clients follow, such as "events".
func NewStreams(what string) *Streams { return &Streams{what: what} }

// OutOfDescriptors returns the failure for a request for a stream while the process has no file descriptors left.
func (s *Streams) OutOfDescriptors() error {
	f := failure.Unavailable("out_of_descriptors",
		"this server has no file descriptors left and refuses to follow %s: request it without following, or try again later; its log has the limit",
		s.what)
	f.RetryAfter = retryStream
	return f
}

// Enter counts a stream of the caller until leave is called, or returns a failure if there are too many. limit is the
// maximum number of open streams. One caller may have a quarter of them, or minStreamsPerCaller if that is more. A
// caller of kind Machine may have all.
func (s *Streams) Enter(who caller.Caller, limit int) (leave func(), err error) {
	key, share := callerKey{who.Kind, who.Name}, limit
	if who.Kind != auth.Machine {
		share = min(limit, max(limit/4, minStreamsPerCaller))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.byCaller[key] >= share:
		return nil, s.refuse("you already follow %s of this server %d times, the maximum for one caller", s.what, share)
	case s.open >= limit:
		return nil, s.refuse("%[2]d clients already follow %[1]s of this server, the maximum", s.what, limit)
	}
	if s.byCaller == nil {
		s.byCaller = map[callerKey]int{}
	}
	s.open++
	s.byCaller[key]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if s.byCaller[key]--; s.byCaller[key] == 0 {
			delete(s.byCaller, key)
		}
	}, nil
}

func (s *Streams) refuse(why string, args ...any) error {
	f := failure.Unavailable("too_many_streams", why+": close some, or request it without following", args...)
	f.RetryAfter = retryStream
	return f
}

// Count returns the number of open streams.
func (s *Streams) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}
