package mesos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mesosapi "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

func TestSubscribeSendsTheFramework(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	d, err := mesos.New(mesos.Options{Masters: []string{m.url},
		Credentials: &mesos.Credentials{User: "ejc", Secret: "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	s, err := d.Subscribe(ctx, cluster.Framework{
		ID: framework, Name: "ElasticJob", User: "nobody", Hostname: "here", WebUI: "http://here:8899",
		Role: "batch", Principal: "ejc", FailoverTimeout: 7 * 24 * time.Hour,
	})
	cancel() // ctx bounds the call only
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	want := cluster.Subscribed{FrameworkID: framework, MasterID: masterID, Heartbeat: 15 * time.Second}
	if diff := cmp.Diff(cluster.Event(want), next(t, s)); diff != "" {
		t.Errorf("first event (-want +got):\n%s", diff)
	}
	m.send(heartbeat())
	if got := next(t, s); got != (cluster.Heartbeat{}) {
		t.Errorf("after the call's context ended: %v, %v", got, s.Err())
	}

	got := m.requests(scheduler.Call_SUBSCRIBE)
	if len(got) != 1 {
		t.Fatalf("%d SUBSCRIBE", len(got))
	}
	if user, secret, ok := (&http.Request{Header: got[0].header}).BasicAuth(); !ok || user != "ejc" ||
		secret != "hunter2" {
		t.Error("credentials were not sent")
	}
	if got[0].path != "/api/v1/scheduler" || got[0].header.Get("Accept") != "application/x-protobuf" {
		t.Errorf("sent to %s, accepting %s", got[0].path, got[0].header.Get("Accept"))
	}
	week, yes := 604800.0, true
	name := func(s string) *string { return &s }
	wantCall := scheduler.Call{
		Type:        scheduler.Call_SUBSCRIBE,
		FrameworkID: &mesosapi.FrameworkID{Value: framework},
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: &mesosapi.FrameworkInfo{
			ID: &mesosapi.FrameworkID{Value: framework}, Name: "ElasticJob", User: "nobody", Hostname: name("here"),
			WebUiURL: name("http://here:8899"), Role: name("batch"), Principal: name("ejc"),
			FailoverTimeout: &week, Checkpoint: &yes,
			Capabilities: []mesosapi.FrameworkInfo_Capability{{Type: mesosapi.FrameworkInfo_Capability_PARTITION_AWARE}},
		}},
	}
	if !wantCall.Equal(got[0].call) {
		t.Errorf("sent %v, want %v", got[0].call.GoString(), wantCall.GoString())
	}
}

func TestSubscribeFollowsRedirectsWithoutScheme(t *testing.T) {
	t.Parallel()
	leader := newMaster(t)
	follower := newMaster(t)
	follower.subscribe = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", strings.TrimPrefix(leader.url, "http:")+"/master/api/v1/scheduler")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	s := subscribe(t, mesos.Options{Masters: []string{"http://127.0.0.1:1", follower.url}})
	if err := s.RequestOffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := leader.requests(scheduler.Call_REVIVE); len(got) != 1 || got[0].path != "/master/api/v1/scheduler" {
		t.Errorf("the leader got %v", got)
	}
}

func TestSubscribeGivesUp(t *testing.T) {
	t.Parallel()
	removed := "Framework has been removed"
	tests := map[string]struct {
		first     []scheduler.Event
		subscribe http.HandlerFunc
		status    int // of a *cluster.Refused
		final     bool
		removed   bool
	}{
		"removed framework":  {first: []scheduler.Event{failed(removed)}, final: true, removed: true},
		"another event":      {first: []scheduler.Event{heartbeat()}},
		"bad request":        {subscribe: respond(400, "Failed to validate"), status: 400, final: true},
		"not allowed":        {subscribe: respond(401, ""), status: 401, final: true},
		"no leader elected":  {subscribe: respond(503, "No leader elected"), status: 503},
		"no stream id":       {subscribe: respond(200, "")},
		"no location":        {subscribe: respond(307, "")},
		"ends before events": {first: []scheduler.Event{}, subscribe: streamOf("")},
		"garbage":            {subscribe: streamOf("hello\nworld")},
		"not an event":       {subscribe: streamOf("3\nabc")},
		"cut in an event":    {subscribe: streamOf("300\nabc")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, second := newMaster(t), newMaster(t)
			m.first, m.subscribe = tt.first, tt.subscribe
			second.subscribe = respond(503, "")
			_, err := trySubscribe(t, mesos.Options{Masters: []string{m.url, second.url}})
			if err == nil {
				t.Fatal("subscribed")
			}
			var refused *cluster.Refused
			if tt.status != 0 && (!errors.As(err, &refused) || refused.Status != tt.status) {
				t.Errorf("error %v, want status %d", err, tt.status)
			}
			var failed cluster.FrameworkError
			if got := errors.As(err, &failed) && failed.Removed; got != tt.removed {
				t.Errorf("removed %v, error %v", got, err)
			}
			if tried := len(second.requests(scheduler.Call_SUBSCRIBE)) > 0; tried == tt.final {
				t.Errorf("the second master was tried: %v", tried)
			}
		})
	}
}

func respond(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func streamOf(bytes string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Mesos-Stream-Id", streamID)
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = io.WriteString(w, bytes)
	}
}

func TestSubscribeStopsWithItsContext(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.first = nil // an open stream without events
	ctx, cancel := context.WithCancel(t.Context())
	m.subscribe = func(w http.ResponseWriter, r *http.Request) {
		cancel()
		m.stream(w, r)
	}
	d := driver(t, mesos.Options{Masters: []string{m.url, m.url}})
	if _, err := d.Subscribe(ctx, cluster.Framework{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := len(m.requests(scheduler.Call_SUBSCRIBE)); n != 1 {
		t.Errorf("%d SUBSCRIBE", n)
	}
}

func TestHeartbeatWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		m := serveMaster(t, p)
		s := subscribe(t, mesos.Options{Masters: []string{m.url}, Dial: p.Dial})
		for range 20 { // any event shows life, even one that the scheduler does not get
			time.Sleep(74 * time.Second)
			m.send(scheduler.Event{Type: scheduler.Event_INVERSE_OFFERS})
		}
		synctest.Wait()
		if err := s.Err(); err != nil {
			t.Fatalf("ended while events came: %v", err)
		}
		start := time.Now()
		for range s.Events() {
			continue
		}
		if err := s.Err(); !errors.Is(err, mesos.ErrSilent) {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(start); took != 75*time.Second {
			t.Errorf("ended after %s of silence, want 5 intervals of 15 s", took)
		}
	})
}

func TestSilentMasterDoesNotHoldSubscribe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		m := serveMaster(t, p)
		m.first = nil
		d, err := mesos.New(mesos.Options{Masters: []string{m.url}, Dial: p.Dial})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Subscribe(t.Context(), cluster.Framework{}); !errors.Is(err, mesos.ErrSilent) {
			t.Errorf("error %v", err)
		}
	})
}

// In a list, masters that are silent or unreachable do not block the others.
func TestMastersThatDoNotAnswerDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"silent": true, "unreachable": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dead, p := newPipes(), newPipes()
				defer dead.Close()
				if silent {
					m := serveMaster(t, dead)
					m.first = nil
				}
				m := serveMaster(t, p)
				var restarts atomic.Bool
				m.subscribe = func(w http.ResponseWriter, r *http.Request) {
					if restarts.Load() {
						http.Error(w, "not yet", http.StatusServiceUnavailable)
						return
					}
					m.stream(w, r)
				}
				dial := func(ctx context.Context, network, address string) (net.Conn, error) {
					if address == "leads:5050" {
						return p.Dial(ctx, network, address)
					}
					return dead.Dial(ctx, network, address)
				}
				d := driver(t, mesos.Options{Masters: []string{"http://a:5050", "http://b:5050", "http://leads:5050",
					"http://c:5050"}, Dial: dial})
				for _, atMost := range []time.Duration{6 * time.Second, 0} { // then the responsive one is first
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					start := time.Now()
					s, err := d.Subscribe(ctx, cluster.Framework{})
					cancel()
					if err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); took > atMost {
						t.Errorf("it took %s, want at most %s", took, atMost)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				restarts.Store(true)
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					_, err := d.Subscribe(ctx, cluster.Framework{})
					cancel()
					if err == nil || !strings.Contains(err.Error(), "leads:5050") ||
						!strings.Contains(err.Error(), "subscribe at c:5050: no answer within") {
						t.Errorf("not all were asked: %v", err)
					}
				}
			})
		})
	}
}

// A scheduler that reads no events can still send calls, and loses no event.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}, Queue: 4})
	const n = 500
	for i := range n {
		m.send(rescind(fmt.Sprint(i)))
	}
	for range 10 {
		if err := s.RequestOffers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if got := next(t, s); got != (cluster.Rescind{OfferID: fmt.Sprint(i)}) {
			t.Fatalf("event %d is %v", i, got)
		}
	}
}

func TestLargeEvent(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	offers := make([]mesosapi.Offer, 20000)
	for i := range offers {
		offers[i] = mesosapi.Offer{Hostname: strings.Repeat("h", 300)}
	}
	m.send(scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: offers}})
	if got, ok := next(t, s).(cluster.Offers); !ok || len(got.Offers) != len(offers) {
		t.Errorf("got %d offers, session %v", len(got.Offers), s.Err())
	}
}

func TestCloseStopsEverything(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	reached := make(chan struct{})
	m.answer = func(_ http.ResponseWriter, r *http.Request, _ *scheduler.Call) {
		close(reached)
		<-r.Context().Done()
	}
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	answered := make(chan error, 1)
	go func() { answered <- s.RequestOffers(context.Background()) }()
	<-reached
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; !errors.Is(err, mesos.ErrClosed) {
		t.Errorf("the call under way: %v", err)
	}
	if err := s.StopOffers(t.Context()); !errors.Is(err, mesos.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if err := ended(t, s); !errors.Is(err, mesos.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if n := len(m.requests(scheduler.Call_SUPPRESS)); n != 0 {
		t.Errorf("%d calls were sent after Close", n)
	}
}
