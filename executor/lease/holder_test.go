package lease

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/internal/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a Holder whose clock the test sets, with one task.
type stage struct {
	*Holder
	now     time.Duration
	renewed []time.Duration
	ended   []string
	late    time.Duration // of the last end
}

func newStage(urls ...string) *stage {
	s := &stage{}
	s.Holder = New(Options{Now: func() time.Duration { return s.now }, Log: slog.New(slog.DiscardHandler)})
	s.Hold(Task{ID: "t", Grant: lease.Grant{Seconds: 10, Holder: "x", Key: "k", URLs: urls},
		Renewed: func(until time.Duration) { s.renewed = append(s.renewed, until) },
		End:     func(why string, late time.Duration) { s.ended, s.late = append(s.ended, why), late }})
	return s
}

// answer applies an answer at the time now to a request that was made at asked.
func (s *stage) answer(now, asked time.Duration, a lease.Answer) {
	s.now = now
	s.apply("u", asked, a)
}

// check ends the task if its lease is over.
func (s *stage) check(now, jump time.Duration) {
	for _, end := range s.expire(now, jump) {
		end()
	}
}

func TestHolder(t *testing.T) {
	t.Parallel()
	const sec = time.Second
	granted, ended := lease.Answer{Term: 2, Granted: []string{"t"}}, lease.Answer{Term: 2, Ended: []string{"t"}}
	for name, test := range map[string]struct {
		play    func(*stage)
		renewed []time.Duration
		ended   int
	}{
		"a lease lasts from its request": {func(s *stage) {
			s.answer(4*sec, 1*sec, granted)
			s.check(11*sec-1, 0)
		}, []time.Duration{11 * sec}, 0},
		"it ends once": {func(s *stage) {
			s.answer(4*sec, 1*sec, granted)
			s.check(11*sec, 0)
			s.check(12*sec, 0)
			s.answer(12*sec, 11*sec, granted)
			s.answer(12*sec, 11*sec, ended)
		}, []time.Duration{11 * sec}, 1},
		"an answer that comes after its end gives none": {func(s *stage) { s.answer(12*sec, 1*sec, granted) }, nil, 0},
		"answers overtake each other": {func(s *stage) {
			s.answer(6*sec, 5*sec, granted)
			s.answer(7*sec, 1*sec, granted)
			s.check(14*sec, 0)
		}, []time.Duration{15 * sec}, 0},
		"a deposed leader is ignored": {func(s *stage) {
			s.answer(2*sec, 1*sec, granted)
			s.answer(6*sec, 5*sec, lease.Answer{Term: 1, Granted: []string{"t"}})
			s.answer(7*sec, 6*sec, lease.Answer{Term: 1, Ended: []string{"t"}})
		}, []time.Duration{11 * sec}, 0},
		"the scheduler ends it":               {func(s *stage) { s.answer(2*sec, 1*sec, ended); s.answer(3*sec, 2*sec, ended) }, nil, 1},
		"an answer about others":              {func(s *stage) { s.answer(2*sec, 1*sec, lease.Answer{Term: 3, Granted: []string{"u"}}) }, nil, 0},
		"without a lease nothing can be over": {func(s *stage) { s.check(time.Hour, time.Hour) }, nil, 0},
		"the machine was paused": {func(s *stage) {
			s.answer(2*sec, 1*sec, granted)
			s.check(3*sec, maxJump)
		}, []time.Duration{11 * sec}, 1},
		"the clock is set back": {func(s *stage) {
			s.answer(2*sec, 1*sec, granted)
			s.check(3*sec, -time.Hour)
		}, []time.Duration{11 * sec}, 0},
		"a released task is forgotten": {func(s *stage) {
			s.answer(2*sec, 1*sec, granted)
			s.Release("t")
			s.check(time.Hour, 0)
			s.answer(6*sec, 5*sec, granted)
		}, []time.Duration{11 * sec}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			test.play(s)
			if !slices.Equal(s.renewed, test.renewed) || len(s.ended) != test.ended {
				t.Errorf("renewed until %v, ended %q", s.renewed, s.ended)
			}
		})
	}
}

// TestTheGraceIsShorterAfterAPause: a lease can end while all processes of the machine stand still.
func TestTheGraceIsShorterAfterAPause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ now, jump, late time.Duration }{
		"in time":                             {now: 11 * time.Second},
		"suspended":                           {now: 15 * time.Second, late: 4 * time.Second},
		"a virtual machine was paused":        {now: 3 * time.Second, jump: 12 * time.Second, late: 4 * time.Second},
		"paused for less time than its lease": {now: 3 * time.Second, jump: 5 * time.Second},
		"both":                                {now: 12 * time.Second, jump: 3 * time.Second, late: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			s.answer(2*time.Second, time.Second, lease.Answer{Term: 2, Granted: []string{"t"}})
			if s.check(test.now, test.jump); len(s.ended) != 1 || s.late != test.late {
				t.Errorf("ended %q, late by %s", s.ended, s.late)
			}
		})
	}
}

// serve answers requests for leases, and records them.
func serve(t *testing.T, answer func(lease.Request) (lease.Answer, string, int)) (url string, seen *[]lease.Request) {
	seen = new([]lease.Request)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := lease.Message{Holder: r.Header.Get(lease.HolderHeader), Body: body,
			Signature: r.Header.Get(lease.SignatureHeader)}
		q, err := m.OpenRequest("k")
		if err != nil || r.URL.Path != lease.Path {
			t.Errorf("%s: %v", r.URL, err)
		}
		*seen = append(*seen, q)
		a, key, status := answer(q)
		sealed := a.Seal(m.Holder, key)
		w.Header().Set(lease.SignatureHeader, sealed.Signature)
		w.WriteHeader(status)
		_, _ = w.Write(sealed.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

// TestServersAreTried checks that the servers are asked until one has answered, and from then on that server first.
func TestServersAreTried(t *testing.T) {
	t.Parallel()
	grant := func(q lease.Request) lease.Answer {
		return lease.Answer{Start: q.Start, Number: q.Number, Term: 1, Granted: q.Tasks}
	}
	standby, asked := serve(t, func(q lease.Request) (lease.Answer, string, int) { return grant(q), "k", 503 })
	forger, forged := serve(t, func(q lease.Request) (lease.Answer, string, int) { return grant(q), "another", 200 })
	replayer, replayed := serve(t, func(q lease.Request) (lease.Answer, string, int) {
		q.Number--
		return grant(q), "k", 200
	})
	leader, answered := serve(t, func(q lease.Request) (lease.Answer, string, int) { return grant(q), "k", 200 })
	s := newStage("http://127.0.0.1:1", standby, forger, replayer, leader)
	defer s.client.CloseIdleConnections()
	for range 2 {
		s.now += time.Second
		s.ask(context.Background(), time.Minute)
	}
	if !slices.Equal(s.renewed, []time.Duration{11 * time.Second, 12 * time.Second}) {
		t.Errorf("renewed until %v", s.renewed)
	}
	if len(*asked) != 1 || len(*forged) != 1 || len(*replayed) != 1 || len(*answered) != 2 {
		t.Errorf("asked %d, %d, %d and %d times", len(*asked), len(*forged), len(*replayed), len(*answered))
	}
	for i, q := range slices.Concat(*asked, *forged, *replayed, *answered) {
		if q.Number != uint64(i)+2 || q.Start != s.start || q.Holder != "x" || !slices.Equal(q.Tasks, []string{"t"}) {
			t.Errorf("request %d: %+v", i, q)
		}
	}
}

// TestRequestsByWayOfTheCluster checks that requests go by way of the cluster while no server can be reached by HTTP.
// A lease lasts from the request that was answered, and a second answer to the same request is ignored.
func TestRequestsByWayOfTheCluster(t *testing.T) {
	t.Parallel()
	s := newStage("http://127.0.0.1:1")
	defer s.client.CloseIdleConnections()
	var sent []lease.Request
	s.opt.Send = func(_ context.Context, data []byte) error {
		m, ok := lease.Unpack(data)
		r, err := m.OpenRequest("k")
		if !ok || err != nil {
			t.Errorf("%s: %v", data, err)
		}
		sent = append(sent, r)
		return nil
	}
	for range 3 {
		s.now += time.Second
		s.ask(context.Background(), time.Minute)
	}
	if len(sent) != 3 {
		t.Fatalf("%d requests", len(sent))
	}
	receive := func(r lease.Request, key string) {
		s.Receive(lease.Answer{Start: r.Start, Number: r.Number, Term: 1, Granted: r.Tasks}.Seal("x", key).Pack())
	}
	other := sent[1]
	other.Start++
	receive(sent[1], "another")
	receive(other, "k")
	s.Receive([]byte("not for leases"))
	receive(sent[1], "k")
	receive(sent[1], "k")
	receive(sent[0], "k")
	receive(sent[2], "k")
	if !slices.Equal(s.renewed, []time.Duration{12 * time.Second, 13 * time.Second}) {
		t.Errorf("renewed until %v", s.renewed)
	}
	if s.Failed() == nil {
		t.Error("Failed returned nil, although no server has answered by HTTP")
	}
}

// TestEveryAddressOfANameIsTried: the name of a headless Service has the addresses of all servers. The server that
// answered last is asked without the name service, and the others when it no longer does.
func TestEveryAddressOfANameIsTried(t *testing.T) {
	t.Parallel()
	leads := "127.0.0.2"
	var asked []string
	port := ""
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		asked = append(asked, host)
		if host != leads {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m := lease.Message{Holder: r.Header.Get(lease.HolderHeader), Body: body,
			Signature: r.Header.Get(lease.SignatureHeader)}
		q, _ := m.OpenRequest("k")
		m = lease.Answer{Start: q.Start, Number: q.Number, Term: 1, Granted: q.Tasks}.Seal("x", "k")
		w.Header().Set(lease.SignatureHeader, m.Signature)
		_, _ = w.Write(m.Body)
	})
	all, err := net.Listen("tcp4", "0.0.0.0:0") // also for 127.0.0.1 to 127.0.0.3
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	s.Listener = all
	s.Start()
	defer s.Close()
	_, port, _ = net.SplitHostPort(all.Addr().String())

	h, lookups := newStage("http://leases:"+port), 0
	defer h.client.CloseIdleConnections()
	known := true
	h.opt.Lookup = func(_ context.Context, host string) ([]string, error) {
		lookups++
		if host != "leases" || !known {
			return nil, errors.New("no such host")
		}
		return []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, nil
	}
	for _, step := range []struct {
		leads   string
		known   bool
		asked   []string
		lookups int
		renewed int
	}{
		{"127.0.0.2", true, []string{"127.0.0.1", "127.0.0.2"}, 1, 1},
		{"127.0.0.2", false, []string{"127.0.0.2"}, 1, 2},
		{"127.0.0.3", false, []string{"127.0.0.2"}, 2, 2},
		{"127.0.0.3", true, []string{"127.0.0.2", "127.0.0.1", "127.0.0.3"}, 3, 3},
	} {
		leads, known, asked = step.leads, step.known, nil
		h.now += time.Second
		h.ask(context.Background(), time.Minute)
		if !slices.Equal(asked, step.asked) || lookups != step.lookups || len(h.renewed) != step.renewed {
			t.Errorf("%+v: asked %v, %d lookups, renewed %d times", step, asked, lookups, len(h.renewed))
		}
	}
}
