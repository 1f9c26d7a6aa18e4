package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
)

func (b *bench) url(path string) string {
	return "http://127.0.0.1:" + strconv.Itoa(b.options.Port) + path
}

func (b *bench) post(body []byte, media string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodPost, b.url("/api/v1/executor"), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", media)
	request.Header.Set("Accept", media)
	return http.DefaultClient.Do(request)
}

// Calls that an executor must not make are rejected with Mesos' texts.
func TestCallsAreRefusedLikeMesos(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t0", "run", testExecutorInfo("waits", "deaf")), b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	call := func(kind, executor, framework, rest string) string {
		return `{"type":"` + kind + `","executor_id":{"value":"` + executor + `"},"framework_id":{"value":"` +
			framework + `"}` + rest + `}`
	}
	update := func(rest string) string {
		return `,"update":{"status":{"task_id":{"value":"nobody"},"state":"TASK_RUNNING"` + rest + `}}`
	}
	const uuid = `,"uuid":"S/2kP72VQ56q2vuyRd4dTw=="`
	const ours = `,"source":"SOURCE_EXECUTOR"`
	for name, c := range map[string]struct {
		body   string
		status int
		text   string
	}{
		"update before subscribe":  {call("UPDATE", "waits", "fw-0002", update(uuid+ours)), 403, "Executor is not subscribed"},
		"unknown framework":        {call("SUBSCRIBE", "ex1", "no-such", `,"subscribe":{}`), 400, "Framework cannot be found"},
		"unknown executor":         {call("SUBSCRIBE", "no-such", "fw-0002", `,"subscribe":{}`), 400, "Executor cannot be found"},
		"update without uuid":      {call("UPDATE", "ex1", "fw-0002", update(ours)), 400, "Failed to validate Executor::Call: Expecting 'uuid' to be present and valid"},
		"update with SOURCE_AGENT": {call("UPDATE", "ex1", "fw-0002", update(uuid+`,"source":"SOURCE_AGENT"`)), 400, "Failed to validate Executor::Call: Expecting an executor's update, with 'SOURCE_EXECUTOR' and another state than TASK_STAGING"},
		"update for unknown task":  {call("UPDATE", "ex1", "fw-0002", update(uuid+ours)), 202, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := b.post([]byte(c.body), "application/json")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != c.status || string(got) != c.text {
				t.Errorf("answer %d %q, want %d %q", response.StatusCode, got, c.status, c.text)
			}
		})
	}
}

// subscriber is a subscription made by the test itself, in protobuf or JSON.
type subscriber struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Reader
	json bool
}

func (b *bench) subscribe(t *testing.T, media, id string, brings *executor.Call_Subscribe) *subscriber {
	t.Helper()
	call := &executor.Call{Type: executor.Call_SUBSCRIBE, Subscribe: brings}
	call.ExecutorID.Value, call.FrameworkID.Value = id, "fw-0002"
	response, err := b.post(b.marshal(t, call, media), media)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != media {
		t.Fatalf("answer %d, %v", response.StatusCode, response.Header)
	}
	t.Cleanup(func() { response.Body.Close() })
	return &subscriber{t: t, body: response.Body, in: bufio.NewReader(response.Body),
		json: media == "application/json"}
}

func (b *bench) marshal(t *testing.T, m encoding.Marshaler, media string) []byte {
	t.Helper()
	body, err := m.Marshal()
	if media == "application/json" {
		body, err = json.Marshal(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (s *subscriber) next() *executor.Event {
	s.t.Helper()
	line, err := s.in.ReadString('\n')
	if err != nil {
		s.t.Fatalf("no event: %v", err)
	}
	size, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		s.t.Fatal(err)
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(s.in, frame); err != nil {
		s.t.Fatal(err)
	}
	var event executor.Event
	if s.json {
		err = json.Unmarshal(frame, &event)
	} else {
		err = event.Unmarshal(frame)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return &event
}

// Both encodings carry the same events: SUBSCRIBED with all infos, LAUNCH, ACKNOWLEDGED. A second subscription closes
// the first. Repeated updates are only acknowledged again.
func TestSubscription(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"application/json", "application/x-protobuf"} {
		t.Run(media, func(t *testing.T) {
			t.Parallel()
			b := startBench(t).ready()
			b.run(b.task("t1", "x", testExecutorInfo("ex1", "deaf")))
			first := b.subscribe(t, media, "ex1", &executor.Call_Subscribe{})
			subscribed := first.next().Subscribed
			if subscribed == nil || subscribed.ExecutorInfo.Resources[0].AllocationInfo.GetRole() != "*" ||
				subscribed.FrameworkInfo.Name != "recorder-executors" ||
				subscribed.AgentInfo.ID.Value != b.id || len(subscribed.AgentInfo.Resources) != 3 ||
				subscribed.ContainerID.Value != b.container("ex1") {
				t.Fatalf("SUBSCRIBED is %v", subscribed)
			}
			launch := first.next().Launch
			if launch == nil || launch.Task.TaskID.Value != "t1" || launch.Task.Executor == nil ||
				string(launch.Task.Data) != "x" ||
				launch.Task.Resources[0].AllocationInfo.GetRole() != "*" {
				t.Fatalf("LAUNCH is %v", launch)
			}
			status := mesos.TaskStatus{TaskID: mesos.TaskID{Value: "t1"}, State: mesos.TASK_RUNNING.Enum(),
				Source: mesos.SOURCE_EXECUTOR.Enum(), UUID: []byte("0123456789abcdef")}
			call := &executor.Call{Type: executor.Call_UPDATE, Update: &executor.Call_Update{Status: status}}
			call.ExecutorID.Value, call.FrameworkID.Value = "ex1", "fw-0002"
			response, err := b.post(b.marshal(t, call, media), media)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusAccepted {
				t.Errorf("UPDATE was answered %d", response.StatusCode)
			}
			if ack := first.next().Acknowledged; ack == nil || string(ack.UUID) != "0123456789abcdef" ||
				ack.TaskID.Value != "t1" {
				t.Errorf("ACKNOWLEDGED is %v", ack)
			}
			b.master.waitState(t, "t1", mesos.TASK_RUNNING)

			second := b.subscribe(t, media, "ex1", &executor.Call_Subscribe{
				UnacknowledgedUpdates: []executor.Call_Update{{Status: status}},
				UnacknowledgedTasks:   []mesos.TaskInfo{launch.Task}})
			if _, err := first.in.ReadByte(); err == nil {
				t.Error("the first subscription goes on")
			}
			if event := second.next(); event.Type != executor.Event_SUBSCRIBED {
				t.Errorf("first event is %v", event)
			}
			if ack := second.next().Acknowledged; ack == nil || string(ack.UUID) != "0123456789abcdef" {
				t.Errorf("second ACKNOWLEDGED is %v", ack)
			}
			b.shutdownExecutor("ex1")
			if event := second.next(); event.Type != executor.Event_SHUTDOWN {
				t.Errorf("event is %v", event)
			}
			count := 0
			for _, c := range b.master.all() {
				if c.kind == "update" {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%d updates, want one", count)
			}
		})
	}
}

// While executors are awaited, they may subscribe; all other calls are answered with 503.
func TestCallsDuringRecovery(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "x", testExecutorInfo("ex1", "deaf")))
	b.waitForked("ex1")
	b.subscribe(t, "application/json", "ex1", &executor.Call_Subscribe{}).next()
	b = b.again()
	body := `{"type":"UPDATE","executor_id":{"value":"ex1"},"framework_id":{"value":"fw-0002"},"update":{"status":{"task_id":{"value":"t1"},"state":"TASK_RUNNING","source":"SOURCE_EXECUTOR","uuid":"S/2kP72VQ56q2vuyRd4dTw=="}}}`
	response, err := b.post([]byte(body), "application/json")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable || string(got) != "Agent has not finished recovery" {
		t.Errorf("answer %d %q", response.StatusCode, got)
	}
	if calls := b.master.all(); len(calls) != 0 {
		t.Errorf("the master got %v", calls)
	}
	s := b.subscribe(t, "application/json", "ex1",
		&executor.Call_Subscribe{UnacknowledgedTasks: []mesos.TaskInfo{b.task("t1", "x", nil)}})
	if event := s.next(); event.Type != executor.Event_SUBSCRIBED {
		t.Errorf("event is %v", event)
	}
	b.ready()
}
