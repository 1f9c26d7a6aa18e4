package agent

import (
	"context"
	"sync"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// session is one subscription of an executor: the events on their way to it.
// Events in it must not be changed any more.
type session struct {
	wake chan struct{}

	mu     sync.Mutex
	queue  []encoding.Marshaler
	closed bool
}

func newSession() *session { return &session{wake: make(chan struct{}, 1)} }

// send queues events; after close they are dropped, as on a broken connection.
func (s *session) send(events ...*executor.Event) {
	s.mu.Lock()
	if !s.closed {
		for _, event := range events {
			s.queue = append(s.queue, event)
		}
	}
	s.mu.Unlock()
	s.poke()
}

// close ends the subscription after what is queued.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.poke()
}

func (s *session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) take() (events []encoding.Marshaler, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.queue = s.queue, nil
	return events, !s.closed
}

// serve writes the session's events to stream until the session is closed, ctx
// ends or the executor is gone.
func (s *session) serve(ctx context.Context, stream *apihttp.Stream, heartbeat time.Duration) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		events, open := s.take()
		if len(events) > 0 {
			if err := stream.Send(ctx, events...); err != nil {
				return err
			}
		}
		if !open {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-beat.C:
			s.send(&executor.Event{Type: executor.Event_HEARTBEAT})
		}
	}
}
