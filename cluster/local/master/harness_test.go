package master

import (
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
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"go.uber.org/goleak"
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

// answer is the answer to a call.
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

// testFramework is a subscriber that speaks JSON.
type testFramework struct {
	w        *world
	id       string
	stream   string
	response *http.Response
	events   chan map[string]any
	cancel   context.CancelFunc
}

const framework1 = `{"user":"root","name":"test","failover_timeout":604800,"checkpoint":true,"capabilities":[{"type":"PARTITION_AWARE"}]%s}`

// subscribe opens a stream without reading SUBSCRIBED.
func (w *world) subscribe(id string, more ...string) *testFramework {
	w.t.Helper()
	extra, outer := strings.Join(more, ""), ""
	if id != "" {
		extra += fmt.Sprintf(`,"id":{"value":%q}`, id)
		outer = fmt.Sprintf(`"framework_id":{"value":%q},`, id)
	}
	body := `{"type":"SUBSCRIBE",` + outer + `"subscribe":{"framework_info":` + fmt.Sprintf(framework1, extra) + `}}`
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/v1/scheduler",
		strings.NewReader(body))
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

// subscribed opens a stream and reads SUBSCRIBED.
func (w *world) subscribed(id string, more ...string) *testFramework {
	w.t.Helper()
	f := w.subscribe(id, more...)
	event := f.next("SUBSCRIBED")
	f.id = dig(event, "subscribed", "framework_id", "value").(string)
	return f
}

// next returns the next event that is not a heartbeat, which must have this type.
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

// disconnect closes the connection and waits until the master has noticed.
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

// status returns the status in the next event, which must be an UPDATE.
func (f *testFramework) status() map[string]any {
	f.w.t.Helper()
	return dig(f.next("UPDATE"), "update", "status").(map[string]any)
}

// offer returns the only offer in the next event, which must be OFFERS.
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

// call sends a call that must be accepted.
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
	f.call("DECLINE", fmt.Sprintf(`"decline":{"offer_ids":[{"value":%q}],"filters":{"refuse_seconds":%g}}`,
		offerID(offer), refuse))
}

func offerID(offer map[string]any) string { return dig(offer, "id", "value").(string) }

func resourcesOf(cpus, mem float64) string {
	return fmt.Sprintf(`[{"name":"cpus","type":"SCALAR","scalar":{"value":%g}},{"name":"mem","type":"SCALAR","scalar":{"value":%g}}]`, cpus, mem)
}

// command returns a task with its own executor, which needs no resources.
func command(id, agent string, cpus, mem float64) string {
	return fmt.Sprintf(`{"name":%q,"task_id":{"value":%q},"agent_id":{"value":%q},"resources":%s,"executor":{"type":"CUSTOM","executor_id":{"value":"of-%s"},"command":{"value":"true"}}}`,
		id, id, agent, resourcesOf(cpus, mem), id)
}

func custom(id, agent, executor string) string {
	return fmt.Sprintf(`{"name":%q,"task_id":{"value":%q},"agent_id":{"value":%q},"resources":%s,"executor":%s}`, id,
		id, agent, resourcesOf(0.1, 32), executor)
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
