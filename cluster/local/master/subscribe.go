package master

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// lastWords is how long the end of a stream may take to be read.
const lastWords = 5 * time.Second

// subscription is one stream of events: a queue that is filled under the master's
// mutex, and written by the request that opened it.
type subscription struct {
	id    string
	limit int
	// abandon ends the writing, and so the request.
	abandon context.CancelFunc
	wake    chan struct{}

	mu    sync.Mutex
	queue []encoding.Marshaler
	ended bool
}

func newSubscription(limit int, abandon context.CancelFunc) *subscription {
	return &subscription{id: uuid.NewString(), limit: limit, abandon: abandon, wake: make(chan struct{}, 1)}
}

// push queues an event; a subscriber that is too far behind is dropped.
func (s *subscription) push(event encoding.Marshaler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if len(s.queue) >= s.limit {
		s.ended, s.queue = true, nil
		s.abandon()
		return
	}
	s.queue = append(s.queue, event)
	s.nudge()
}

// end closes the stream once what is queued was written.
func (s *subscription) end(last ...encoding.Marshaler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.queue = append(s.queue, last...)
	s.ended = true
	time.AfterFunc(lastWords, s.abandon)
	s.nudge()
}

func (s *subscription) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) take() (events []encoding.Marshaler, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.queue = s.queue, nil
	return events, s.ended
}

// write sends what is queued, and heartbeats, until the stream ends. The heartbeats
// begin at once, as Mesos' do, after the first event.
func (s *subscription) write(ctx context.Context, stream *apihttp.Stream, heartbeat time.Duration) error {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		events, ended := s.take()
		if len(events) > 0 {
			if err := stream.Send(ctx, events...); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-ticker.C:
			s.push(&scheduler.Event{Type: scheduler.Event_HEARTBEAT})
		}
	}
}

func (m *Master) serveSubscribe(w http.ResponseWriter, r *http.Request, call *scheduler.Call_Subscribe, codec encoding.Codec) {
	ctx, abandon := context.WithCancel(r.Context())
	defer abandon()
	s := newSubscription(m.opts.Queue, abandon)
	if err := m.subscribe(call, s); err != nil {
		apihttp.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer m.unsubscribed(s)
	stream, err := apihttp.NewStream(w, codec, http.Header{streamID: {s.id}})
	if err == nil {
		err = s.write(ctx, stream, m.opts.Heartbeat)
	}
	if err != nil && r.Context().Err() == nil {
		m.log.Warn("subscriber was dropped", "stream", s.id, "error", err)
	}
}

// subscribe makes s the framework's stream and queues its first events.
func (m *Master) subscribe(call *scheduler.Call_Subscribe, s *subscription) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	info := *call.FrameworkInfo
	if info.GetID().GetValue() == "" {
		info.ID = &mesos.FrameworkID{Value: fmt.Sprintf("%s-%04d", m.id, m.nextFramework)}
		m.nextFramework++
	}
	id := info.ID.Value
	if m.registry.isRemoved(id) {
		s.end(errorEvent("Framework has been removed"))
		return nil
	}
	if refused := m.refusedRoles(&info); refused != "" {
		s.end(errorEvent(refused))
		return nil
	}
	if err := m.registry.addFramework(&info); err != nil {
		return err
	}
	f := m.frameworks[id]
	if f == nil {
		f = m.addFramework(info)
	}
	f.expiry.stop()
	f.info = info
	if f.stream != nil {
		f.stream.end(errorEvent("Framework failed over"))
	}
	// Filters stay: Mesos clears them when it sees a framework's connection end, and that of a
	// subscriber whose host froze is still open.
	m.withdrawOffers(f)
	f.suppressed = slices.Contains(call.SuppressedRoles, f.role())
	f.stream = s

	interval := m.opts.Heartbeat.Seconds()
	s.push(subscribed{&scheduler.Event{
		Type: scheduler.Event_SUBSCRIBED,
		Subscribed: &scheduler.Event_Subscribed{
			FrameworkID: info.ID, HeartbeatIntervalSeconds: &interval, MasterInfo: m.info(),
		},
	}})
	s.push(&scheduler.Event{Type: scheduler.Event_HEARTBEAT})
	for _, a := range m.agents {
		a.courier.send(func() { a.link.Subscribed(info) })
	}
	m.log.Info("framework subscribed", "framework", id, "name", info.Name, "stream", s.id)
	m.allocate(time.Now())
	return nil
}

// unsubscribed is called when a stream has ended, whatever the reason.
func (m *Master) unsubscribed(s *subscription) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.frameworks {
		if f.stream != s {
			continue
		}
		m.log.Info("framework disconnected", "framework", f.id, "stream", s.id)
		f.stream = nil
		m.withdrawOffers(f)
		clear(f.filters)
		m.expectSubscriber(f)
	}
}

// refusedRoles says in Mesos' words that the framework wants roles that it may not have.
func (m *Master) refusedRoles(info *mesos.FrameworkInfo) string {
	if len(m.opts.Roles) == 0 {
		return ""
	}
	roles := info.Roles
	if len(roles) == 0 {
		roles = []string{info.GetRole()}
	}
	var refused []string
	for _, role := range roles {
		// Everybody has the default role; "" is an old name of it.
		if role != "*" && role != "" && !slices.Contains(m.opts.Roles, role) {
			refused = append(refused, role)
		}
	}
	if len(refused) == 0 {
		return ""
	}
	slices.Sort(refused)
	return "Roles { " + strings.Join(refused, ", ") + " } are not present in the master's --roles"
}

func errorEvent(message string) *scheduler.Event {
	return &scheduler.Event{Type: scheduler.Event_ERROR, Error: &scheduler.Event_Error{Message: message}}
}
