package master

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

const deadline = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a master on loopback, as a framework sees it.
type world struct {
	t      testing.TB
	master *Master
	dir    string
	url    string
	port   string
	stop   func()
	client *http.Client
	agents int
}

func start(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	return startIn(t, t.TempDir(), change...)
}

func startIn(t testing.TB, dir string, change ...func(*Options)) *world {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddrPort(listener.Addr().String())
	opts := Options{Dir: dir, Address: address, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&opts)
	}
	m, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: m.Handler(), ReadHeaderTimeout: deadline}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	transport := &http.Transport{}
	w := &world{
		t: t, master: m, dir: dir, url: "http://" + address.String(), port: fmt.Sprint(address.Port()),
		client: &http.Client{Transport: transport},
	}
	w.stop = sync.OnceFunc(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		serving.Wait()
		transport.CloseIdleConnections()
	})
	t.Cleanup(w.stop)
	return w
}

// answer is what a call got.
type answer struct {
	Status  int
	Headers map[string]string
	Body    string
}

func (w *world) do(method, body string, headers map[string]string) answer {
	w.t.Helper()
	return w.request(method, "/api/v1/scheduler", body, headers)
}

// at posts JSON to another path.
func (w *world) at(path, body string) answer {
	w.t.Helper()
	return w.request(http.MethodPost, path, body, map[string]string{"Content-Type": "application/json"})
}

func (w *world) request(method, path, body string, headers map[string]string) answer {
	w.t.Helper()
	request, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{Status: response.StatusCode, Headers: map[string]string{}, Body: string(content)}
	for name := range response.Header {
		if name != "Date" {
			a.Headers[name] = response.Header.Get(name)
		}
	}
	return a
}

// framework is a subscriber that speaks JSON.
type testFramework struct {
	w        *world
	id       string
	stream   string
	response *http.Response
	events   chan map[string]any
	cancel   context.CancelFunc
}

const framework1 = `{"user":"root","name":"test","failover_timeout":604800,"checkpoint":true,"capabilities":[{"type":"PARTITION_AWARE"}]%s}`

// subscribe opens a stream; SUBSCRIBED is still to be read.
func (w *world) subscribe(id string, more ...string) *testFramework {
	w.t.Helper()
	extra, outer := strings.Join(more, ""), ""
	if id != "" {
		extra += fmt.Sprintf(`,"id":{"value":%q}`, id)
		outer = fmt.Sprintf(`"framework_id":{"value":%q},`, id)
	}
	body := `{"type":"SUBSCRIBE",` + outer + `"subscribe":{"framework_info":` + fmt.Sprintf(framework1, extra) + `}}`
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/v1/scheduler", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		w.t.Fatalf("SUBSCRIBE: status %d", response.StatusCode)
	}
	f := &testFramework{
		w: w, id: id, stream: response.Header.Get("Mesos-Stream-Id"), response: response,
		events: make(chan map[string]any, 1000), cancel: cancel,
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(f.events)
		frames := recordio.NewReader(response.Body)
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				return
			}
			var event map[string]any
			if err := json.Unmarshal(frame, &event); err != nil {
				w.t.Errorf("event %s: %v", frame, err)
				return
			}
			f.events <- event
		}
	})
	w.t.Cleanup(func() {
		cancel()
		reading.Wait()
		response.Body.Close()
	})
	return f
}

// subscribed is subscribe that reads SUBSCRIBED.
func (w *world) subscribed(id string, more ...string) *testFramework {
	w.t.Helper()
	f := w.subscribe(id, more...)
	event := f.next("SUBSCRIBED")
	f.id = dig(event, "subscribed", "framework_id", "value").(string)
	return f
}

// next is the next event that is no heartbeat; it has to be of that type.
func (f *testFramework) next(kind string) map[string]any {
	f.w.t.Helper()
	timeout := time.After(deadline)
	for {
		select {
		case event, open := <-f.events:
			if !open {
				f.w.t.Fatalf("stream has ended, expected %s", kind)
			}
			if event["type"] == "HEARTBEAT" && kind != "HEARTBEAT" {
				continue
			}
			if event["type"] != kind {
				f.w.t.Fatalf("event %v, expected %s", compact(event), kind)
			}
			return event
		case <-timeout:
			f.w.t.Fatalf("no %s within %v", kind, deadline)
		}
	}
}

func (f *testFramework) closed() {
	f.w.t.Helper()
	timeout := time.After(deadline)
	for {
		select {
		case event, open := <-f.events:
			if !open {
				return
			}
			if event["type"] != "HEARTBEAT" {
				f.w.t.Fatalf("event %v, expected the end of the stream", compact(event))
			}
		case <-timeout:
			f.w.t.Fatalf("stream has not ended within %v", deadline)
		}
	}
}

// disconnect breaks the connection, and returns when the master has seen that.
func (f *testFramework) disconnect() {
	f.w.t.Helper()
	f.cancel()
	for end := time.Now().Add(deadline); ; {
		switch got := f.post("RECONCILE", `"reconcile":{"tasks":[]}`); {
		case got.Status == http.StatusForbidden:
			return
		case time.Now().After(end):
			f.w.t.Fatalf("still subscribed %v after its connection broke: %+v", deadline, got)
		}
	}
}

// status is that of the next event, an UPDATE.
func (f *testFramework) status() map[string]any {
	f.w.t.Helper()
	return dig(f.next("UPDATE"), "update", "status").(map[string]any)
}

// offer is the only one of the next event, OFFERS.
func (f *testFramework) offer() map[string]any {
	f.w.t.Helper()
	offers := dig(f.next("OFFERS"), "offers", "offers").([]any)
	if len(offers) != 1 {
		f.w.t.Fatalf("%d offers, expected 1", len(offers))
	}
	return offers[0].(map[string]any)
}

func (f *testFramework) post(kind, body string) answer {
	f.w.t.Helper()
	if body != "" {
		body = "," + body
	}
	return f.w.do(http.MethodPost, fmt.Sprintf(`{"type":%q,"framework_id":{"value":%q}%s}`, kind, f.id, body),
		map[string]string{"Content-Type": "application/json", "Mesos-Stream-Id": f.stream})
}

// call is a call that has to be accepted.
func (f *testFramework) call(kind, body string) {
	f.w.t.Helper()
	if a := f.post(kind, body); a.Status != http.StatusAccepted || a.Body != "" || a.Headers["Content-Length"] != "0" {
		f.w.t.Fatalf("%s %s: %+v", kind, body, a)
	}
}

func (f *testFramework) accept(refuse float64, offer map[string]any, tasks ...string) {
	f.w.t.Helper()
	f.call("ACCEPT", fmt.Sprintf(`"accept":{"offer_ids":[{"value":%q}],"operations":[{"type":"LAUNCH","launch":{"task_infos":[%s]}}],"filters":{"refuse_seconds":%g}}`,
		offerID(offer), strings.Join(tasks, ","), refuse))
}

func (f *testFramework) decline(refuse float64, offer map[string]any) {
	f.w.t.Helper()
	f.call("DECLINE", fmt.Sprintf(`"decline":{"offer_ids":[{"value":%q}],"filters":{"refuse_seconds":%g}}`, offerID(offer), refuse))
}

func offerID(offer map[string]any) string { return dig(offer, "id", "value").(string) }

func resourcesOf(cpus, mem float64) string {
	return fmt.Sprintf(`[{"name":"cpus","type":"SCALAR","scalar":{"value":%g}},{"name":"mem","type":"SCALAR","scalar":{"value":%g}}]`, cpus, mem)
}

// command is a task with an executor of its own, which needs nothing for itself.
func command(id, agent string, cpus, mem float64) string {
	return fmt.Sprintf(`{"name":%q,"task_id":{"value":%q},"agent_id":{"value":%q},"resources":%s,"executor":{"type":"CUSTOM","executor_id":{"value":"of-%s"},"command":{"value":"true"}}}`,
		id, id, agent, resourcesOf(cpus, mem), id)
}

func custom(id, agent, executor string) string {
	return fmt.Sprintf(`{"name":%q,"task_id":{"value":%q},"agent_id":{"value":%q},"resources":%s,"executor":%s}`, id, id, agent, resourcesOf(0.1, 32), executor)
}

// memoryAgent is an agent without processes; what it is asked comes in calls.
type memoryAgent struct {
	info    mesos.AgentInfo
	deaf    atomic.Bool // answers no pings
	calls   chan string
	tasks   chan mesos.TaskInfo
	session link.Session
}

func newAgent(id string, cpus, mem float64) *memoryAgent {
	port := int32(5051)
	scalar := func(name string, value float64) mesos.Resource {
		return mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value}}
	}
	return &memoryAgent{
		calls: make(chan string, 1000), tasks: make(chan mesos.TaskInfo, 1000),
		info: mesos.AgentInfo{
			Hostname: "127.0.0.1", Port: &port, ID: &mesos.AgentID{Value: id},
			Resources: []mesos.Resource{scalar("cpus", cpus), scalar("mem", mem), scalar("disk", 10000)},
		},
	}
}

// agent registers a new agent.
func (w *world) agent(r link.Registration) *memoryAgent {
	w.t.Helper()
	a := newAgent(fmt.Sprintf("%s-S%d", w.master.id, w.agents), 8, 8192)
	w.agents++
	if err := w.register(a, r); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// register opens a session of an agent, and follows its orders until it ends.
func (w *world) register(a *memoryAgent, r link.Registration) error {
	w.t.Helper()
	r.Agent = proto(a.info)
	session, err := w.master.Register(w.t.Context(), r)
	if err != nil {
		return err
	}
	a.session = session
	go func() {
		for {
			orders, err := session.Orders()
			if err != nil {
				a.say("session ended")
				return
			}
			for i := range orders {
				a.obey(session, &orders[i])
			}
		}
	}()
	return nil
}

func proto[T any](of T) link.Proto[T] { return link.Proto[T]{Of: of} }

func (a *memoryAgent) id() string { return a.info.ID.Value }
func (a *memoryAgent) say(format string, args ...any) {
	a.calls <- fmt.Sprintf(format, args...)
}

func (a *memoryAgent) obey(session link.Session, o *link.Order) {
	switch {
	case o.Run != nil:
		for _, t := range o.Run.Tasks {
			a.tasks <- t.Of
			a.say("run %s", t.Of.TaskID.Value)
		}
	case o.Kill != nil:
		a.say("kill %s", o.Kill.Task)
	case o.ShutdownExecutor != nil:
		a.say("shutdown %s", o.ShutdownExecutor.Executor)
	case o.ShutdownFramework != "":
		a.say("remove %s", o.ShutdownFramework)
	case o.Acknowledge != nil:
		a.say("acknowledge %s %x", o.Acknowledge.Task, o.Acknowledge.UUID[:1])
	case o.Subscribed != nil:
		a.say("subscribed %s", o.Subscribed.Of.ID.Value)
	case o.Ping && !a.deaf.Load():
		_ = session.Report(link.News{Pong: true}) // the next order shows its end
	}
}

// asked waits for that call, past others.
func (a *memoryAgent) asked(t *testing.T, want string) {
	t.Helper()
	timeout := time.After(deadline)
	for {
		select {
		case got := <-a.calls:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("the agent was not asked to %s", want)
		}
	}
}

func (a *memoryAgent) report(frameworkID, taskID string, state mesos.TaskState, uuid byte) {
	source, id := mesos.SOURCE_EXECUTOR, bytes.Repeat([]byte{uuid}, 16)
	_ = a.session.Report(link.News{Update: &link.StatusUpdate{Framework: frameworkID, Latest: state, Status: proto(mesos.TaskStatus{
		TaskID: mesos.TaskID{Value: taskID}, State: &state, Source: &source, UUID: id, AgentID: a.info.ID,
		ContainerStatus: &mesos.ContainerStatus{ContainerID: &mesos.ContainerID{Value: "container-" + taskID}},
	})}})
}

// ended reports that an executor is gone.
func (a *memoryAgent) ended(frameworkID, executorID string, status int) {
	_ = a.session.Report(link.News{Ended: &link.ExecutorEnded{Executor: link.Executor{Framework: frameworkID, Executor: executorID}, WaitStatus: status}})
}

func dig(value any, path ...any) any {
	for _, key := range path {
		switch key := key.(type) {
		case string:
			m, _ := value.(map[string]any)
			value = m[key]
		case int:
			l, _ := value.([]any)
			if key >= len(l) {
				return nil
			}
			value = l[key]
		}
	}
	return value
}

func compact(value any) string {
	encoded, _ := json.Marshal(value)
	return string(encoded)
}
