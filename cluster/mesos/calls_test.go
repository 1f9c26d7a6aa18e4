package mesos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	mesosapi "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

var testExecutor = cluster.Executor{
	Version: 1, ID: "my_app@-@S0@-@1", Framework: framework, Name: "my_app",
	Resources: resources.Amount{CPUMilli: 100, MemMilli: 64_000},
	Command:   []string{"./executor", "--name", "my_app"},
	BinaryURI: "http://127.0.0.1:8899/artifacts/executor-linux-amd64-abc",
}

func launch(id string) cluster.TaskLaunch {
	return cluster.TaskLaunch{
		TaskID: id, Name: "my_job", Task: wire.Task{TaskID: id, JobName: "my_job"}, Executor: testExecutor,
		Resources: resources.Amount{CPUMilli: 101, MemMilli: 32_001},
	}
}

func scalar(name string, v float64) mesosapi.Resource {
	return mesosapi.Resource{Name: name, Type: mesosapi.SCALAR.Enum(), Scalar: &mesosapi.Value_Scalar{Value: v}}
}

func ptr[T any](v T) *T { return &v }

// TestCalls checks what the master receives for each call, against recordings and Mesos' documentation.
func TestCalls(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	executor := &mesosapi.ExecutorInfo{
		Type: mesosapi.ExecutorInfo_CUSTOM, ExecutorID: mesosapi.ExecutorID{Value: testExecutor.ID},
		FrameworkID: &mesosapi.FrameworkID{Value: framework}, Name: ptr("my_app"),
		Command: &mesosapi.CommandInfo{
			Shell: ptr(false), Value: ptr("./executor"), Arguments: []string{"./executor", "--name", "my_app"},
			URIs: []mesosapi.CommandInfo_URI{{
				Value: testExecutor.BinaryURI, Executable: ptr(true), Cache: ptr(true), Extract: ptr(false),
				OutputFile: ptr("executor"),
			}},
		},
		Resources: []mesosapi.Resource{scalar("cpus", 0.1), scalar("mem", 64)},
	}
	one := launch("t1")
	description, err := one.Description()
	if err != nil {
		t.Fatal(err)
	}
	task := mesosapi.TaskInfo{
		Name: "my_job", TaskID: mesosapi.TaskID{Value: "t1"}, AgentID: mesosapi.AgentID{Value: "S0"},
		Resources: []mesosapi.Resource{scalar("cpus", 0.101), scalar("mem", 32.001)}, Executor: executor,
		Data: description,
	}
	tests := map[string]struct {
		call func(context.Context) error
		want scheduler.Call
	}{
		"accept": {
			func(ctx context.Context) error {
				return s.Launch(ctx, cluster.Launch{
					AgentID: "S0", OfferIDs: []string{"o1", "o2"}, Tasks: []cluster.TaskLaunch{launch("t1")},
					Refuse: 1500 * time.Millisecond,
				})
			},
			scheduler.Call{Type: scheduler.Call_ACCEPT, Accept: &scheduler.Call_Accept{
				OfferIDs: []mesosapi.OfferID{{Value: "o1"}, {Value: "o2"}},
				Operations: []mesosapi.Offer_Operation{{
					Type:   mesosapi.Offer_Operation_LAUNCH,
					Launch: &mesosapi.Offer_Operation_Launch{TaskInfos: []mesosapi.TaskInfo{task}},
				}},
				Filters: &mesosapi.Filters{RefuseSeconds: ptr(1.5)},
			}},
		},
		"decline": {
			func(ctx context.Context) error { return s.Decline(ctx, []string{"o1"}, 0) },
			scheduler.Call{Type: scheduler.Call_DECLINE, Decline: &scheduler.Call_Decline{
				OfferIDs: []mesosapi.OfferID{{Value: "o1"}}, Filters: &mesosapi.Filters{RefuseSeconds: ptr(0.0)},
			}},
		},
		"kill": {
			func(ctx context.Context) error {
				return s.Kill(ctx, cluster.Kill{TaskID: "t1", AgentID: "S0", Grace: 3 * time.Second})
			},
			scheduler.Call{Type: scheduler.Call_KILL, Kill: &scheduler.Call_Kill{
				TaskID: mesosapi.TaskID{Value: "t1"}, AgentID: &mesosapi.AgentID{Value: "S0"},
				KillPolicy: &mesosapi.KillPolicy{GracePeriod: &mesosapi.DurationInfo{Nanoseconds: 3e9}},
			}},
		},
		"kill somewhere": {
			func(ctx context.Context) error { return s.Kill(ctx, cluster.Kill{TaskID: "t1"}) },
			scheduler.Call{Type: scheduler.Call_KILL,
				Kill: &scheduler.Call_Kill{TaskID: mesosapi.TaskID{Value: "t1"}}},
		},
		"shutdown": {
			func(ctx context.Context) error { return s.EndExecutor(ctx, "e1", "S0") },
			scheduler.Call{Type: scheduler.Call_SHUTDOWN, Shutdown: &scheduler.Call_Shutdown{
				ExecutorID: mesosapi.ExecutorID{Value: "e1"}, AgentID: mesosapi.AgentID{Value: "S0"},
			}},
		},
		"message": {
			func(ctx context.Context) error {
				return s.(cluster.Messenger).SendMessage(ctx, "e1", "S0", []byte("data"))
			},
			scheduler.Call{Type: scheduler.Call_MESSAGE, Message: &scheduler.Call_Message{
				ExecutorID: mesosapi.ExecutorID{Value: "e1"}, AgentID: mesosapi.AgentID{Value: "S0"}, Data: []byte("data"),
			}},
		},
		"reconcile": {
			func(ctx context.Context) error {
				return s.Reconcile(ctx, []cluster.TaskRef{{TaskID: "t1", AgentID: "S0"}, {TaskID: "t2"}})
			},
			scheduler.Call{Type: scheduler.Call_RECONCILE,
				Reconcile: &scheduler.Call_Reconcile{Tasks: []scheduler.Call_Reconcile_Task{
					{TaskID: mesosapi.TaskID{Value: "t1"}, AgentID: &mesosapi.AgentID{Value: "S0"}}, {TaskID: mesosapi.TaskID{Value: "t2"}},
				}}},
		},
		"reconcile all": {
			func(ctx context.Context) error { return s.Reconcile(ctx, nil) },
			scheduler.Call{Type: scheduler.Call_RECONCILE, Reconcile: &scheduler.Call_Reconcile{}},
		},
		"acknowledge": {
			func(ctx context.Context) error {
				return s.Acknowledge(ctx, cluster.Ack{TaskID: "t1", AgentID: "S0", UUID: []byte("0123456789abcdef")})
			},
			scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, Acknowledge: &scheduler.Call_Acknowledge{
				TaskID: mesosapi.TaskID{Value: "t1"}, AgentID: mesosapi.AgentID{Value: "S0"},
				UUID: []byte("0123456789abcdef"),
			}},
		},
		"revive":   {s.RequestOffers, scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{}}},
		"suppress": {s.StopOffers, scheduler.Call{Type: scheduler.Call_SUPPRESS, Suppress: &scheduler.Call_Suppress{}}},
	}
	for name, tt := range tests {
		before := len(m.requests(tt.want.Type))
		if err := tt.call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := m.requests(tt.want.Type)[before:]
		tt.want.FrameworkID = &mesosapi.FrameworkID{Value: framework}
		if len(got) != 1 || !tt.want.Equal(got[0].call) {
			t.Errorf("%s: the master got %v, want once %v", name, got, tt.want.GoString())
		}
	}
}

// Rule L3: a rejected call is distinguished from one with an unknown outcome. Neither is sent again, on a new
// connection or on a reused one.
func TestCallsAreSentOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		status int // of the refusal; 0: outcome unknown
	}{
		"bad request":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Not a valid UUID", 400) }, 400},
		"forbidden":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, 403},
		"master not ready": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 503},
		"no leader any more": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "//"+r.Host+"/elsewhere")
			w.WriteHeader(307)
		}, 307},
		"gateway timeout": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(504) }, 0},
		"not a master":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }, 0},
		"cut":             {func(w http.ResponseWriter, _ *http.Request) { cut(w) }, 0},
		"cut in the answer": {func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, _ := http.NewResponseController(w).Hijack()
			_, _ = buf.WriteString("HTTP/1.1 202 Acc")
			_ = buf.Flush()
			_ = conn.Close()
		}, 0},
	}
	for name, tt := range tests {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, connection kept: %v", name, kept), func(t *testing.T) {
				t.Parallel()
				m := newMaster(t)
				m.answer = func(w http.ResponseWriter, r *http.Request, call *scheduler.Call) {
					if call.Type == scheduler.Call_REVIVE {
						w.WriteHeader(http.StatusAccepted)
						return
					}
					tt.answer(w, r)
				}
				s := subscribe(t, mesos.Options{Masters: []string{m.url}})
				if kept {
					if err := s.RequestOffers(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				err := s.Launch(t.Context(),
					cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"}, Tasks: []cluster.TaskLaunch{launch("t1")}})
				var refused *cluster.Refused
				switch {
				case err == nil:
					t.Error("no error")
				case tt.status == 0 && errors.As(err, &refused):
					t.Errorf("refused, but the outcome is unknown: %v", err)
				case tt.status != 0 && (!errors.As(err, &refused) || refused.Status != tt.status):
					t.Errorf("error %v, want a refusal with %d", err, tt.status)
				}
				accepts, revives := m.requests(scheduler.Call_ACCEPT), m.requests(scheduler.Call_REVIVE)
				if len(accepts) != 1 {
					t.Fatalf("the master got it %d times", len(accepts))
				}
				if kept && accepts[0].from != revives[0].from {
					t.Error("the connection was not kept")
				}
			})
		}
	}
}

func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// A call does not fail because the master closes each connection.
func TestMasterWithoutKeepAlive(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.answer = func(w http.ResponseWriter, _ *http.Request, _ *scheduler.Call) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusAccepted)
	}
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	for i := range 20 {
		if err := s.RequestOffers(t.Context()); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if n := len(m.requests(scheduler.Call_REVIVE)); n != 20 {
		t.Errorf("%d calls came", n)
	}
}

func TestOldStreamIsRefused(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.subscribe = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mesos-Stream-Id", "stale")
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(frame(&m.first[0]))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	var refused *cluster.Refused
	if err := s.RequestOffers(t.Context()); !errors.As(err, &refused) || refused.Status != 400 ||
		!strings.HasPrefix(refused.Message, "The stream ID 'stale' included in this request didn't match") {
		t.Errorf("error %v", err)
	}
}

func TestCallStopsWithItsContext(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.answer = func(_ http.ResponseWriter, r *http.Request, _ *scheduler.Call) { <-r.Context().Done() }
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.RequestOffers(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("the session ended with the call: %v", err)
	}
}

func TestImpossibleCallsAreNotSent(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	for name, change := range map[string]func(*cluster.Executor){
		"version of another release": func(e *cluster.Executor) { e.Version = 4 },
		"no command":                 func(e *cluster.Executor) { e.Command = nil },
	} {
		task := launch("t1")
		change(&task.Executor)
		var refused *cluster.Refused
		err := s.Launch(t.Context(), cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"},
			Tasks: []cluster.TaskLaunch{launch("t0"), task}})
		if !errors.As(err, &refused) || refused.Status != 0 {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := s.Acknowledge(t.Context(), cluster.Ack{TaskID: "t1", AgentID: "S0"}); err == nil {
		t.Error("acknowledged an update without uuid")
	}
	if n := len(m.requests(scheduler.Call_ACCEPT)) + len(m.requests(scheduler.Call_ACKNOWLEDGE)); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	const workers, each = 100, 10
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := s.Launch(t.Context(),
					cluster.Launch{AgentID: "S0", OfferIDs: []string{id},
						Tasks: []cluster.TaskLaunch{launch(id)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, r := range m.requests(scheduler.Call_ACCEPT) {
		seen[r.call.Accept.OfferIDs[0].Value]++
	}
	if len(seen) != workers*each {
		t.Errorf("%d of %d calls came", len(seen), workers*each)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// Calls race with the end of their session.
func TestCallsMeetTheEnd(t *testing.T) {
	t.Parallel()
	for range 20 {
		m := newMaster(t)
		arrived := make(chan struct{})
		m.answer = func(w http.ResponseWriter, r *http.Request, _ *scheduler.Call) {
			select {
			case arrived <- struct{}{}:
				w.WriteHeader(http.StatusAccepted)
			case <-r.Context().Done():
			}
		}
		s := subscribe(t, mesos.Options{Masters: []string{m.url}})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for s.Err() == nil {
					_ = s.RequestOffers(t.Context())
				}
			})
		}
		for range 20 {
			<-arrived
		}
		_ = s.Close()
		wg.Wait()
	}
}
