package mesos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
)

var (
	// ErrClosed is a session's Err after Close.
	ErrClosed = errors.New("session closed")
	// ErrSilent is a session's Err after the master's heartbeats stopped.
	ErrSilent = errors.New("no event from the master in time")
)

// missedHeartbeats is the number of heartbeat intervals without an event after which the session ends.
const missedHeartbeats = 5

// defaultHeartbeat is Mesos' default, for masters that do not send their interval.
const defaultHeartbeat = 15 * time.Second

// session is one subscription. One goroutine reads the stream into a buffered channel. When a slow scheduler lets the
// channel fill up, the reader blocks and TCP holds the master back. No event is lost, memory is bounded, and calls
// continue, because they use other connections. The heartbeat timer is stopped while the reader is blocked.
//
// The session ends when its context ends. The context's cause is what Err returns, and no call outlives the context.
type session struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	log       *slog.Logger
	transport *http.Transport

	master    *url.URL
	header    http.Header
	framework string
	tls       bool // agents speak TLS

	body         io.Closer
	records      *records
	silenceTimer *time.Timer
	silenceLimit time.Duration
	events       chan cluster.Event
	done         chan struct{}
	background   sync.WaitGroup

	// A call in progress holds calling as a reader. Close locks it as a writer, and so waits for the calls.
	calling sync.RWMutex
}

var _ cluster.Session = (*session)(nil)

func newSession(ctx context.Context, cancel context.CancelCauseFunc, opts Options, transport *http.Transport,
	master *url.URL, resp *http.Response) *session {
	header := requestHeader(opts.Credentials, mediaType)
	header.Set(streamHeader, resp.Header.Get(streamHeader))
	return &session{
		ctx: ctx, cancel: cancel, log: opts.Logger.With("master", master.Host), transport: transport,
		master: master, header: header, tls: opts.TLS != nil,
		body: resp.Body, records: newRecords(resp.Body),
		events: make(chan cluster.Event, opts.Queue), done: make(chan struct{}),
	}
}

// awaitSubscribed waits at most limit for the first event, which must be SUBSCRIBED. The heartbeat timer is stopped
// when it returns.
func (s *session) awaitSubscribed(limit time.Duration) (cluster.Subscribed, error) {
	s.silenceLimit = limit
	s.silenceTimer = time.AfterFunc(limit, func() { s.cancel(ErrSilent) })
	event, err := s.read()
	if err != nil {
		return cluster.Subscribed{}, err
	}
	switch e := event.(type) {
	case cluster.Subscribed:
		s.framework = e.FrameworkID
		s.silenceLimit = missedHeartbeats * e.Heartbeat
		return e, nil
	case cluster.FrameworkError:
		return cluster.Subscribed{}, subscribeError(e)
	default:
		return cluster.Subscribed{}, fmt.Errorf("the first event is a %T, not SUBSCRIBED", event)
	}
}

// start delivers the first event and starts the goroutine that reads the stream. If background is not nil, it runs in
// another goroutine of the session.
func (s *session) start(first cluster.Subscribed, background func(*session)) {
	s.log.Info("mesos session opened", "framework", s.framework, "master_id", first.MasterID)
	s.events <- first
	if background != nil {
		s.background.Go(func() { background(s) })
	}
	go s.run()
}

// run delivers the events and then ends the session.
func (s *session) run() {
	defer close(s.done)
	defer close(s.events)
	reason := s.deliver()
	s.cancel(reason)
	s.silenceTimer.Stop()
	_ = s.body.Close()
	s.background.Wait()
	s.transport.CloseIdleConnections()
	s.log.Info("mesos session ended", "framework", s.framework, "reason", s.Err())
}

// deliver passes events on until the session ends, and returns the reason.
func (s *session) deliver() error {
	for {
		event, err := s.read()
		if err != nil {
			return err
		}
		select {
		case s.events <- event:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
		if frameworkError, ok := event.(cluster.FrameworkError); ok {
			return frameworkError
		}
	}
}

// read returns the next event that the scheduler needs. It skips other events, which only show that the master is
// alive. The heartbeat timer runs while read waits.
func (s *session) read() (cluster.Event, error) {
	for {
		s.silenceTimer.Reset(s.silenceLimit)
		record, err := s.records.next()
		s.silenceTimer.Stop()
		if s.ctx.Err() != nil {
			return nil, context.Cause(s.ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("the event stream broke: %w", err)
		}
		var e scheduler.Event
		if err := e.Unmarshal(record); err != nil {
			return nil, fmt.Errorf("decode an event: %w", err)
		}
		if event := decodeEvent(&e, s.tls); event != nil {
			return event, nil
		}
		s.log.Debug("mesos event ignored", "type", e.Type.String())
	}
}

// watchLeader ends the session when ZooKeeper no longer names its master as the leader. While ZooKeeper does not
// answer, the session continues, because a master that loses ZooKeeper ends by itself.
func (s *session) watchLeader(d *detector, own leader) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			return
		}
		current, err := d.leader(s.ctx)
		switch {
		case err == nil && current.node == own.node && *current.url == *own.url:
		case err == nil:
			s.cancel(fmt.Errorf("%w: ZooKeeper names %s", ErrNotLeading, current.url.Host))
		case errors.Is(err, errNoLeader):
			s.cancel(fmt.Errorf("%w: %w", ErrNotLeading, err))
		case errors.Is(err, errClosed):
			return
		default:
			s.log.Debug("mesos leader unknown", "error", err)
		}
	}
}

// Events returns the channel of events. It is closed when the session has ended; events that arrived before can still
// be read.
func (s *session) Events() <-chan cluster.Event { return s.events }

// Err returns why the session ended: ErrClosed, ErrSilent, a cluster.FrameworkError, or an error that wraps
// ErrNotLeading or the error that broke the stream (io.EOF if the master closed it). It returns nil while the session
// is open.
func (s *session) Err() error { return context.Cause(s.ctx) }

// Close ends the session. When it returns, the session's goroutines have ended, no call is in progress, and none will
// be sent. Close may be called more than once.
func (s *session) Close() error {
	s.cancel(ErrClosed)
	s.calling.Lock() // a call that begins after this sees that the session has ended
	defer s.calling.Unlock()
	<-s.done
	s.transport.CloseIdleConnections()
	return nil
}
