package master

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// closeTimeout limits how long a stream that is ended takes to write its last events.
const closeTimeout = 5 * time.Second

// subscription is one stream of events. Its queue is filled under the master's mutex and written by the request that
// opened it.
type subscription struct {
	id     string
	events *queue.Queue[encoding.Marshaler]
	// abandon ends the request at once, without the queued events.
	abandon context.CancelFunc
}

func newSubscription(limit int, abandon context.CancelFunc) *subscription {
	return &subscription{id: uuid.NewString(), events: queue.New[encoding.Marshaler](limit), abandon: abandon}
}

// heartbeat is the second event of a stream, and is sent at regular intervals after that.
var heartbeat = &scheduler.Event{Type: scheduler.Event_HEARTBEAT}

// push queues an event. A subscriber that is too slow is disconnected.
func (s *subscription) push(event encoding.Marshaler) {
	if !s.events.Push(event) {
		s.abandon()
	}
}

// end closes the stream after the queued events and last were written.
func (s *subscription) end(last ...encoding.Marshaler) {
	s.events.Close(last...)
	time.AfterFunc(closeTimeout, s.abandon)
}

// serveSubscribe handles SUBSCRIBE. It sends events to the framework until the subscription ends.
func (m *Master) serveSubscribe(w http.ResponseWriter, r *http.Request, call *scheduler.Call_Subscribe) {
	ctx, abandon := context.WithCancel(r.Context())
	defer abandon()
	s := newSubscription(maxEvents, abandon)
	if err := m.subscribe(call, s); err != nil {
		apihttp.Answer(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer m.unsubscribed(s)
	err := apihttp.Stream(ctx, w, r, http.Header{streamID: {s.id}}, s.events, m.opts.Heartbeat, heartbeat)
	if err != nil && r.Context().Err() == nil {
		m.log.Warn("subscriber dropped", "stream", s.id, "error", err)
	}
}

// subscribe makes s the stream of the framework, which it adds if it is new, and queues the first events. It ends an
// earlier stream of the framework. A removed framework gets only an ERROR event.
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
	if err := m.registry.addFramework(&info); err != nil {
		return err
	}
	f := m.frameworks[id]
	if f == nil {
		f = m.addFramework(info)
	}
	f.cancelExpiry()
	f.info = info
	if f.stream != nil {
		f.stream.end(errorEvent("Framework failed over"))
	}
	// The filters remain if the former stream is still open, as in Mesos, which clears them when the connection ends.
	// It is still open, for example, if the former subscriber's host froze.
	m.withdrawOffers(f)
	f.suppressed = len(call.SuppressedRoles) > 0
	f.stream = s

	interval := m.opts.Heartbeat.Seconds()
	s.push(&scheduler.Event{
		Type: scheduler.Event_SUBSCRIBED,
		Subscribed: &scheduler.Event_Subscribed{
			FrameworkID: info.ID, HeartbeatIntervalSeconds: &interval, MasterInfo: m.info(),
		},
	})
	s.push(heartbeat)
	for _, a := range m.agents {
		a.orders.Push(link.Order{Subscribed: &link.Proto[mesos.FrameworkInfo]{Of: info}})
	}
	m.log.Info("framework subscribed", "framework", id, "name", info.Name, "stream", s.id)
	m.allocate(time.Now())
	return nil
}

// unsubscribed handles that a stream has ended, for any reason. It does nothing if the framework has a later stream.
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
		m.startExpiry(f)
	}
}

func errorEvent(message string) *scheduler.Event {
	return &scheduler.Event{Type: scheduler.Event_ERROR, Error: &scheduler.Event_Error{Message: message}}
}

// info returns the MasterInfo that frameworks receive.
func (m *Master) info() *mesos.MasterInfo {
	ip4, ip, port := m.opts.Address.Addr().As4(), m.opts.Address.Addr().String(), uint32(m.opts.Address.Port())
	version, pid := Version, "master@"+m.opts.Address.String()
	return &mesos.MasterInfo{
		ID: m.id,
		// As in Mesos: the address in network order, read on a little-endian machine.
		IP:   binary.LittleEndian.Uint32(ip4[:]),
		Port: &port, PID: &pid, Hostname: &ip, Version: &version,
		Address:      &mesos.Address{Hostname: &ip, IP: &ip, Port: int32(port)},
		Capabilities: []mesos.MasterInfo_Capability{{Type: mesos.MasterInfo_Capability_AGENT_UPDATE}},
	}
}
