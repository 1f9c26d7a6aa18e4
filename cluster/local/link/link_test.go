package link

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

const deadline = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// upstream is a master that records reports and returns prepared orders.
type upstream struct {
	registered chan Registration
	refuse     error
	orders     *queue.Queue[Order]
	news       chan News
	closed     chan struct{}
}

func newUpstream() *upstream {
	return &upstream{registered: make(chan Registration, 10), orders: queue.New[Order](0), news: make(chan News, 100),
		closed: make(chan struct{}, 10)}
}

func (u *upstream) Register(_ context.Context, r Registration) (Session, error) {
	if u.refuse != nil {
		return nil, u.refuse
	}
	u.registered <- r
	return u, nil
}

func (u *upstream) Orders() ([]Order, error) { return u.orders.Next(context.Background()) }
func (u *upstream) Report(n News) error      { u.news <- n; return nil }
func (u *upstream) Close()                   { u.orders.Close(); u.closed <- struct{}{} }

// serve makes the master reachable and returns a client of it.
func serve(t *testing.T, u *upstream, silence time.Duration, asks, brings *apihttp.Credentials) (*Client, *Server) {
	t.Helper()
	server := NewServer(u, silence, slog.New(slog.DiscardHandler))
	web := httptest.NewServer(asks.Guard(Realm, server))
	client := NewClient(web.URL, brings)
	t.Cleanup(func() {
		server.Close()
		client.http.CloseIdleConnections()
		web.Close()
	})
	return client, server
}

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(deadline):
		t.Fatalf("waited for %s", what)
		panic("not reached")
	}
}

func proto[T any](of T) Proto[T] { return Proto[T]{of} }

// A registration, orders and news arrive unchanged and in order.
func TestMessagesArriveUnchangedAndInOrder(t *testing.T) {
	t.Parallel()
	u := newUpstream()
	client, server := serve(t, u, time.Minute, nil, nil)
	running := mesos.TASK_RUNNING
	framework := mesos.FrameworkInfo{ID: &mesos.FrameworkID{Value: "f"}, Name: "name",
		// An enum value that the generated JSON does not know.
		Capabilities: []mesos.FrameworkInfo_Capability{{Type: 99}}}
	status := proto(mesos.TaskStatus{TaskID: mesos.TaskID{Value: "t1"}, State: &running, Data: []byte{0, 255}})
	registration := Registration{
		Agent:      proto(mesos.AgentInfo{ID: &mesos.AgentID{Value: "a"}, Hostname: "h"}),
		Frameworks: []Proto[mesos.FrameworkInfo]{proto(framework)},
		Executors:  []Proto[mesos.ExecutorInfo]{proto(mesos.ExecutorInfo{ExecutorID: mesos.ExecutorID{Value: "e"}})},
		Tasks: []TaskState{
			{Framework: "f", Task: proto(mesos.TaskInfo{TaskID: mesos.TaskID{Value: "t1"}}), Latest: mesos.TASK_FINISHED, Status: &status},
			{Framework: "f", Task: proto(mesos.TaskInfo{TaskID: mesos.TaskID{Value: "t2"}}), Latest: mesos.TASK_STAGING},
		},
	}
	session, err := client.Register(t.Context(), registration)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if diff := cmp.Diff(registration, await(t, "the registration", u.registered)); diff != "" {
		t.Errorf("registration (-sent +received):\n%s", diff)
	}

	of := Executor{Framework: "f", Executor: "e"}
	no, noPolicy, named := false, proto(mesos.KillPolicy{}), proto(framework)
	policy := proto(mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: 7}})
	orders := []Order{
		{Run: &Run{Framework: named, Tasks: []Proto[mesos.TaskInfo]{proto(mesos.TaskInfo{
			TaskID: mesos.TaskID{Value: "t1"}, Data: []byte("one"),
			Executor: &mesos.ExecutorInfo{Command: &mesos.CommandInfo{Shell: &no}}})}}},
		{Kill: &Kill{Framework: "f", Task: "t1"}}, {Kill: &Kill{Framework: "f", Task: "t1", Policy: &noPolicy}}, {Kill: &Kill{Framework: "f", Task: "t2", Policy: &policy}},
		{ShutdownExecutor: &of}, {Acknowledge: &Acknowledgement{Framework: "f", Task: "t1", UUID: []byte{1, 2}}},
		{Subscribed: &named}, {ShutdownFramework: "f"}, {Ping: true},
	}
	u.orders.Push(orders...)
	var got []Order
	for len(got) < len(orders) {
		more, err := session.Orders()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
	}
	if diff := cmp.Diff(orders, got); diff != "" {
		t.Errorf("orders (-sent +received):\n%s", diff)
	}

	for _, n := range []News{
		{Update: &StatusUpdate{Framework: "f", Status: status, Latest: mesos.TASK_FINISHED}},
		{Ended: &ExecutorEnded{Executor: of, WaitStatus: 1280}}, {Pong: true}, {Message: &Message{Executor: of, Data: []byte{0, 0xff, '\n'}}},
	} {
		if err := session.Report(n); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, await(t, "news", u.news)); diff != "" {
			t.Errorf("news (-sent +received):\n%s", diff)
		}
	}

	server.Close()
	if _, err := session.Orders(); err == nil {
		t.Error("the session outlives its server")
	}
	if _, err := client.Register(t.Context(), registration); err == nil {
		t.Error("a server that is closed opens a session")
	}
}

// Both sides detect the end of a session, whoever ends it.
func TestEndOfASession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*upstream, Session){
		"by the agent":  func(_ *upstream, s Session) { s.Close() },
		"by the master": func(u *upstream, _ Session) { u.orders.Close() },
		"by silence":    func(*upstream, Session) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, silence := newUpstream(), time.Minute
			if name == "by silence" {
				silence = 50 * time.Millisecond
			}
			client, _ := serve(t, u, silence, nil, nil)
			session, err := client.Register(t.Context(), Registration{})
			if err != nil {
				t.Fatal(err)
			}
			end(u, session)
			if orders, err := session.Orders(); err == nil {
				t.Errorf("got %v", orders)
			}
			session.Close()
			await(t, "the end on the master's side", u.closed)
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	own := &apihttp.Credentials{Principal: "p", Secret: "s"}
	away := errors.New("not now")
	for name, tt := range map[string]struct {
		refuse       error
		asks, brings *apihttp.Credentials
		want         error
	}{
		"taken":             {nil, own, own, nil},
		"wrong credentials": {nil, own, &apihttp.Credentials{Principal: "p", Secret: "x"}, ErrCredentials},
		"no credentials":    {nil, own, nil, ErrCredentials},
		"gone":              {ErrGone, nil, nil, ErrGone},
		"for now":           {away, nil, nil, away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream()
			u.refuse = tt.refuse
			client, _ := serve(t, u, time.Minute, tt.asks, tt.brings)
			session, err := client.Register(t.Context(), Registration{})
			if err == nil {
				session.Close()
			}
			for _, final := range []error{ErrGone, ErrCredentials} {
				if errors.Is(err, final) != errors.Is(tt.want, final) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
			}
			if (err == nil) != (tt.want == nil) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}
