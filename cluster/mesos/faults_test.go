package mesos_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// subscribeThrough opens a session through a proxy, at a master with the given heartbeat interval in seconds.
func subscribeThrough(t *testing.T, m *master, heartbeat float64) (*netproxy.Proxy, *mesos.Driver, cluster.Session) {
	t.Helper()
	m.first = []scheduler.Event{subscribed(heartbeat)}
	p := netproxy.Start(t, strings.TrimPrefix(m.url, "http://"))
	d := driver(t, mesos.Options{Masters: []string{"http://" + p.Address()},
		Timeouts: mesos.Timeouts{Connect: time.Second, Answer: time.Second}})
	return p, d, open(t, d)
}

// mustBeUnknown checks the error of a call whose answer was lost (rule L3).
func mustBeUnknown(t *testing.T, err error) {
	t.Helper()
	var refused *cluster.Refused
	switch {
	case err == nil:
		t.Error("the call is reported as successful")
	case errors.As(err, &refused):
		t.Errorf("the call is reported as refused: %v", err)
	case !strings.Contains(err.Error(), "outcome unknown"):
		t.Errorf("the error does not say that the outcome is unknown: %v", err)
	}
}

func accept(t *testing.T, s cluster.Session) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return s.Launch(ctx, cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"},
		Tasks: []cluster.TaskLaunch{launch("t1")}})
}

// Whatever ends a session, earlier events can be read, Err returns the reason, no call is sent afterwards, and a new
// session works once the network does.
func TestEndsOfSessions(t *testing.T) {
	t.Parallel()
	withProxy := func(fault func(*netproxy.Proxy)) func(*master, *netproxy.Proxy) {
		return func(_ *master, p *netproxy.Proxy) { fault(p) }
	}
	message := func(message string) func(*master, *netproxy.Proxy) {
		return func(m *master, _ *netproxy.Proxy) { m.send(failed(message), rescind("never read")) }
	}
	removed := cluster.FrameworkError{Message: "Framework has been removed", Removed: true}
	failedOver := cluster.FrameworkError{Message: "Framework failed over", FailedOver: true}
	other := cluster.FrameworkError{Message: "Something else"}
	for name, tt := range map[string]struct {
		strike    func(*master, *netproxy.Proxy)
		heartbeat float64       // 15 s if 0
		last      cluster.Event // the last event that is read, after a RESCIND
		why       error         // what the reason wraps; nil: anything but silence
	}{
		"the framework is removed":      {message(removed.Message), 0, removed, removed},
		"the framework has failed over": {message(failedOver.Message), 0, failedOver, failedOver},
		"another ERROR":                 {message(other.Message), 0, other, other},
		"the master ends the stream":    {func(m *master, _ *netproxy.Proxy) { close(m.hangUp) }, 0, nil, io.EOF},
		"an event is broken":            {func(m *master, _ *netproxy.Proxy) { m.frames <- []byte("4\n\xff\xff\xff\xff") }, 0, nil, nil},
		"the network is cut":            {withProxy((*netproxy.Proxy).Cut), 0, nil, nil},
		"the network is cut in an event": {func(m *master, p *netproxy.Proxy) {
			p.DropAfter(3)
			m.send(rescind("o2"))
		}, 0, nil, nil},
		"nothing passes": {withProxy((*netproxy.Proxy).Blackhole), 0.05, nil,
			mesos.ErrSilent}, // after five missed heartbeats
		"the master's side ends": {withProxy((*netproxy.Proxy).HalfClose), 0, nil, io.ErrUnexpectedEOF},
		"the client's side ends": {withProxy((*netproxy.Proxy).HalfCloseToTarget), 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p, d, s := subscribeThrough(t, m, cmp.Or(tt.heartbeat, 15))
			if err := s.Err(); err != nil {
				t.Errorf("alive, Err is %v", err)
			}
			m.send(rescind("o1"))
			if got := next(t, s); got != (cluster.Rescind{OfferID: "o1"}) {
				t.Errorf("got %v", got)
			}
			tt.strike(m, p)
			if tt.last != nil {
				if got := next(t, s); got != tt.last {
					t.Errorf("the last event is %v", got)
				}
			}
			if err := ended(t, s); tt.why != nil && !errors.Is(err, tt.why) ||
				tt.why == nil && errors.Is(err, mesos.ErrSilent) {
				t.Errorf("ended with %v", err)
			}
			if err := accept(t, s); err == nil || errors.As(err, new(*cluster.Refused)) ||
				len(m.requests(scheduler.Call_ACCEPT)) > 0 {
				t.Errorf("a call after the end: %v", err)
			}
			p.Heal()
			again := open(t, d)
			if err := accept(t, again); err != nil && again.Err() == nil {
				t.Errorf("after healing: %v", err)
			}
		})
	}
}

// Rule L3: an ACCEPT that may have arrived is neither reported as done nor as rejected, and is not sent again.
func TestAcceptOverABrokenNetwork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault    func(*netproxy.Proxy)
		arrivals int
	}{
		"its answer is lost": {func(p *netproxy.Proxy) { p.DropAfter(0) }, 1},
		"it does not leave":  {(*netproxy.Proxy).Blackhole, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p, _, s := subscribeThrough(t, m, 15)
			tt.fault(p)
			start := time.Now()
			mustBeUnknown(t, accept(t, s))
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			if n := len(m.requests(scheduler.Call_ACCEPT)); n != tt.arrivals {
				t.Errorf("%d ACCEPT arrived, want %d", n, tt.arrivals)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A call that hangs in the network ends with its session.
func TestCallsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	arrived := make(chan struct{})
	m.answer = func(_ http.ResponseWriter, r *http.Request, _ *scheduler.Call) {
		close(arrived)
		<-r.Context().Done()
	}
	p, _, s := subscribeThrough(t, m, 15)
	answer := make(chan error, 1)
	go func() { answer <- accept(t, s) }()
	<-arrived
	p.Cut()
	mustBeUnknown(t, <-answer)
	if err := ended(t, s); errors.Is(err, mesos.ErrSilent) {
		t.Errorf("ended with %v", err)
	}
}

func TestSubscribeThroughADeadNetwork(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p, d, s := subscribeThrough(t, m, 15)
	_ = s.Close()
	p.Blackhole()
	start := time.Now()
	mustFail(t, d)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	p.Heal()
	p.Delay(20 * time.Millisecond)
	open(t, d)
}
