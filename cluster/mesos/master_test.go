package mesos_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	mesosapi "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

const (
	streamID  = "e0f6c9d3-529c-412e-8656-9cc1883be2f7"
	masterID  = "000cf189-4b77-4a79-9ed1-b4a875b522e1"
	framework = "elasticjob-1"
	timeout   = 10 * time.Second
)

// received is a request that the master received.
type received struct {
	call   scheduler.Call
	raw    []byte
	header http.Header
	path   string
	from   string
}

// master is a fake of Mesos' leading master: it sends events in RecordIO protobuf and receives calls.
type master struct {
	url string
	// subscribe and answer, if set before the first request, replace the default behaviour.
	subscribe http.HandlerFunc
	answer    func(http.ResponseWriter, *http.Request, *scheduler.Call)
	// first are the first events of a new stream.
	first []scheduler.Event

	listener net.Listener
	frames   chan []byte
	hangUp   chan struct{}

	mu    sync.Mutex
	calls []received
}

func newMaster(t *testing.T) *master {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveMaster(t, l)
}

func serveMaster(t *testing.T, l net.Listener) *master {
	t.Helper()
	m := &master{
		url: "http://" + l.Addr().String(), listener: l,
		frames: make(chan []byte, 1000), hangUp: make(chan struct{}),
		first: []scheduler.Event{subscribed(15)},
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		wg.Wait()
	})
	return m
}

func (m *master) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	got := received{raw: raw, header: r.Header.Clone(), path: r.URL.Path, from: r.RemoteAddr}
	if err := got.call.Unmarshal(raw); err != nil {
		http.Error(w, "Failed to parse body into protobuf", http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.calls = append(m.calls, got)
	m.mu.Unlock()
	switch {
	case got.call.Type == scheduler.Call_SUBSCRIBE && m.subscribe != nil:
		m.subscribe(w, r)
	case got.call.Type == scheduler.Call_SUBSCRIBE:
		m.stream(w, r)
	case r.Header.Get("Mesos-Stream-Id") != streamID:
		http.Error(w, "The stream ID '"+r.Header.Get("Mesos-Stream-Id")+
			"' included in this request didn't match the stream ID currently associated with framework ID "+framework,
			http.StatusBadRequest)
	case m.answer != nil:
		m.answer(w, r, &got.call)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (m *master) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Mesos-Stream-Id", streamID)
	w.Header().Set("Content-Type", "application/x-protobuf")
	flush := http.NewResponseController(w)
	for i := range m.first {
		_, _ = w.Write(frame(&m.first[i]))
	}
	_ = flush.Flush()
	for {
		select {
		case f := <-m.frames:
			_, _ = w.Write(f)
			_ = flush.Flush()
		case <-m.hangUp:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (m *master) send(events ...scheduler.Event) {
	for i := range events {
		m.frames <- frame(&events[i])
	}
}

// requests returns the received calls of a type, in order of arrival.
func (m *master) requests(t scheduler.Call_Type) []received {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.calls), func(r received) bool { return r.call.Type != t })
}

func frame(e *scheduler.Event) []byte {
	record, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte(strconv.Itoa(len(record))+"\n"), record...)
}

func subscribed(heartbeat float64) scheduler.Event {
	port := uint32(5050)
	return scheduler.Event{Type: scheduler.Event_SUBSCRIBED, Subscribed: &scheduler.Event_Subscribed{
		FrameworkID:              &mesosapi.FrameworkID{Value: framework},
		HeartbeatIntervalSeconds: &heartbeat,
		MasterInfo:               &mesosapi.MasterInfo{ID: masterID, Port: &port},
	}}
}

func heartbeat() scheduler.Event { return scheduler.Event{Type: scheduler.Event_HEARTBEAT} }

func failed(message string) scheduler.Event {
	return scheduler.Event{Type: scheduler.Event_ERROR, Error: &scheduler.Event_Error{Message: message}}
}

func rescind(id string) scheduler.Event {
	return scheduler.Event{Type: scheduler.Event_RESCIND,
		Rescind: &scheduler.Event_Rescind{OfferID: mesosapi.OfferID{Value: id}}}
}

// subscribe opens a session that is closed at the end of the test, and reads its Subscribed event.
func subscribe(t *testing.T, opts mesos.Options) cluster.Session {
	t.Helper()
	s, err := trySubscribe(t, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if first, ok := next(t, s).(cluster.Subscribed); !ok {
		t.Fatalf("first event is %T", first)
	}
	return s
}

func trySubscribe(t *testing.T, opts mesos.Options) (cluster.Session, error) {
	t.Helper()
	d, err := mesos.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return d.Subscribe(ctx, cluster.Framework{ID: framework, Name: "elasticjob", FailoverTimeout: time.Hour})
}

// next returns the next event, or nil when the session has ended.
func next(t *testing.T, s cluster.Session) cluster.Event {
	t.Helper()
	select {
	case e := <-s.Events():
		return e
	case <-time.After(timeout):
		t.Fatal("no event came")
		return nil
	}
}

// ended reads a session to its end and returns why it ended.
func ended(t *testing.T, s cluster.Session) error {
	t.Helper()
	for next(t, s) != nil {
		continue
	}
	if s.Err() == nil {
		t.Fatal("the session ended without a reason")
	}
	return s.Err()
}

// pipes is an in-memory listener, whose connections synctest can control.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5050} }
