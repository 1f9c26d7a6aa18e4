package link

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

const deadline = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listener is an agent that says what it is asked.
type listener struct {
	id    string
	asked chan string
}

func (l *listener) say(format string, args ...any) { l.asked <- fmt.Sprintf(format, args...) }
func (l *listener) Info() mesos.AgentInfo {
	return mesos.AgentInfo{ID: &mesos.AgentID{Value: l.id}, Hostname: "127.0.0.1"}
}
func (l *listener) RunTasks(f mesos.FrameworkInfo, tasks []mesos.TaskInfo) {
	for _, t := range tasks {
		l.say("run %s of %s: %s", t.TaskID.Value, f.GetID().GetValue(), t.Data)
	}
}
func (l *listener) KillTask(f, task string, policy *mesos.KillPolicy) {
	l.say("kill %s of %s: %t %d", task, f, policy != nil, policy.GetGracePeriod().GetNanoseconds())
}
func (l *listener) ShutdownExecutor(f, executor string) { l.say("shut %s of %s", executor, f) }
func (l *listener) ShutdownFramework(f string)          { l.say("remove %s", f) }
func (l *listener) Message(f, executor string, data []byte) {
	l.say("tell %s of %s: %q", executor, f, data)
}
func (l *listener) Acknowledge(f, task string, uuid []byte) { l.say("ack %s of %s: %x", task, f, uuid) }
func (l *listener) Ping(connected bool, pong func()) {
	l.say("ping %t", connected)
	pong()
}
func (l *listener) Subscribed(f mesos.FrameworkInfo) { l.say("subscribed %s", f.Name) }

func (l *listener) heard(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-l.asked:
			if got != w {
				t.Fatalf("the agent was asked to %q, want %q", got, w)
			}
		case <-time.After(deadline):
			t.Fatalf("the agent was not asked to %q", w)
		}
	}
}

type world struct {
	server *Server
	client *Client
}

func start(t *testing.T) *world {
	t.Helper()
	m, err := master.Open(master.Options{
		InMemoryRegistry: true, Address: netip.MustParseAddrPort("127.0.0.1:5050"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{server: NewServer(m, slog.New(slog.DiscardHandler))}
	web := httptest.NewServer(w.server.Handler())
	w.client = NewClient(Options{
		Find: func(context.Context) (string, error) { return web.URL, nil }, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		w.client.Close()
		w.server.Close()
		web.Close()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) remote(id string) *remote {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return w.server.agents[id]
}

func TestOrdersArriveAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	w := start(t)
	agent := &listener{id: "a1", asked: make(chan string, 100)}
	if err := w.client.Register(agent, master.Recovered{}); err != nil {
		t.Fatal(err)
	}
	r := w.remote("a1")
	framework := mesos.FrameworkInfo{ID: &mesos.FrameworkID{Value: "f"}, Name: "name"}
	r.RunTasks(framework, []mesos.TaskInfo{
		{TaskID: mesos.TaskID{Value: "t1"}, Data: []byte("one")}, {TaskID: mesos.TaskID{Value: "t2"}},
	})
	r.KillTask("f", "t1", nil)
	r.KillTask("f", "t1", &mesos.KillPolicy{})
	r.KillTask("f", "t2", &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: 7}})
	r.ShutdownExecutor("f", "e")
	r.Message("f", "e", []byte{0, 255})
	r.Acknowledge("f", "t1", []byte{1, 2})
	r.Subscribed(framework)
	r.ShutdownFramework("f")
	ponged := make(chan struct{})
	r.Ping(true, func() { close(ponged) })
	agent.heard(t, "run t1 of f: one", "run t2 of f: ", "kill t1 of f: false 0", "kill t1 of f: true 0", "kill t2 of f: true 7",
		"shut e of f", `tell e of f: "\x00\xff"`, "ack t1 of f: 0102", "subscribed name", "remove f", "ping true")
	select {
	case <-ponged:
	case <-time.After(deadline):
		t.Error("no pong")
	}

	// The end of the session makes the agent register again; what is said to the old one is lost.
	r.abandon()
	agent.heard(t, "ping false")
	if err := w.client.Register(agent, master.Recovered{}); err != nil {
		t.Fatal(err)
	}
	r.Message("f", "e", []byte("old"))
	w.remote("a1").Message("f", "e", []byte("new"))
	for got := ""; got != `tell e of f: "new"`; {
		select {
		case got = <-agent.asked:
			if got != "ping false" && !strings.HasSuffix(got, `"new"`) {
				t.Errorf("the agent was asked to %q", got)
			}
		case <-time.After(deadline):
			t.Fatal("the new session says nothing")
		}
	}
}

func TestRegistrationIsTheSameOnTheOtherSide(t *testing.T) {
	t.Parallel()
	running := mesos.TASK_RUNNING
	framework, executor := mesos.FrameworkInfo{Name: "f"}, mesos.ExecutorInfo{ExecutorID: mesos.ExecutorID{Value: "e"}}
	still := master.Recovered{
		Frameworks: []mesos.FrameworkInfo{framework}, Executors: []mesos.ExecutorInfo{executor},
		Tasks: []master.TaskState{
			{FrameworkID: "f", Task: mesos.TaskInfo{TaskID: mesos.TaskID{Value: "t1"}}, Latest: mesos.TASK_FINISHED,
				Status: &mesos.TaskStatus{TaskID: mesos.TaskID{Value: "t1"}, State: &running}},
			{FrameworkID: "f", Task: mesos.TaskInfo{TaskID: mesos.TaskID{Value: "t2"}}, Latest: mesos.TASK_STAGING},
		},
	}
	info := mesos.AgentInfo{ID: &mesos.AgentID{Value: "a"}, Hostname: "h"}
	asked, err := encodeRegistration(info, still)
	if err != nil {
		t.Fatal(err)
	}
	gotInfo, got, err := asked.decode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(still, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(info, gotInfo); diff != "" {
		t.Error(diff)
	}
}
