package master

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func TestFirstEventsAreMesos(t *testing.T) {
	t.Parallel()
	w := start(t)
	f := w.subscribe("my-own-id")
	want := recorded(t, "subscribe.json", "first event",
		recordedFramework, "my-own-id", "000cf189-4b77-4a79-9ed1-b4a875b522e1", w.master.ID(), "5050", w.port)
	if diff := cmp.Diff(dig(want, "event"), any(f.next("SUBSCRIBED"))); diff != "" {
		t.Error(diff)
	}
	f.next("HEARTBEAT")
	if got := f.response.TransferEncoding; len(got) != 1 || got[0] != "chunked" || f.response.Header.Get("Content-Type") != "application/json" || f.stream == "" {
		t.Errorf("headers %v, transfer encoding %v", f.response.Header, got)
	}
}

func TestHeartbeatsGoOn(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *Options) { o.Heartbeat = time.Millisecond })
	f := w.subscribed("")
	for range 5 {
		f.next("HEARTBEAT")
	}
}

func TestProtobufStream(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.agent(Recovered{})
	name := mesos.FrameworkInfo{User: "root", Name: "test"}
	body, err := (&scheduler.Call{Type: scheduler.Call_SUBSCRIBE, Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: &name}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/v1/scheduler", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Accept", "application/x-protobuf")
	response, err := w.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != "application/x-protobuf" {
		t.Errorf("Content-Type %s", got)
	}
	frames := recordio.NewReader(response.Body)
	for _, want := range []scheduler.Event_Type{scheduler.Event_SUBSCRIBED, scheduler.Event_HEARTBEAT, scheduler.Event_OFFERS} {
		frame, err := frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		var event scheduler.Event
		if err := event.Unmarshal(frame); err != nil || event.Type != want {
			t.Fatalf("event %v, %v; expected %v", event.Type, err, want)
		}
	}
}

func TestSecondSubscriberTakesOver(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	old := w.subscribed("")
	offer := old.offer()
	now := w.subscribed(old.id)
	a.asked(t, "subscribed "+old.id)
	if got := old.next("ERROR"); dig(got, "error", "message") != "Framework failed over" {
		t.Errorf("%v", got)
	}
	old.closed()
	got := old.post("REVIVE", "")
	want := recorded(t, "failover.json", "call on the old stream id",
		recordedFramework, old.id, "e0f6c9d3-529c-412e-8656-9cc1883be2f7", old.stream).(map[string]any)
	if got.Status != 400 || got.Body != want["body"] {
		t.Errorf("%+v", got)
	}
	again := now.offer()
	if offerID(again) == offerID(offer) {
		t.Error("the new subscriber was given the old one's offer")
	}
	if diff := cmp.Diff(offer["resources"], again["resources"]); diff != "" {
		t.Error(diff)
	}
}

// Filters go with a framework's connection, not with its subscriber.
func TestFiltersOutliveASubscriberWhoseStreamIsOpen(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.agent(Recovered{})
	old := w.subscribed("")
	old.decline(3600, old.offer())
	now := w.subscribed(old.id)
	now.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"marker"}}]}`)
	if got := now.status(); dig(got, "task_id", "value") != "marker" {
		t.Errorf("%v", got)
	}
	now.call("REVIVE", "")
	now.decline(3600, now.offer())
	now.disconnect()
	w.subscribed(old.id).offer()
}

func TestTeardownIsForGood(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("t", a.id(), 1, 100))
	a.asked(t, "run t")
	f.offer()
	f.call("TEARDOWN", "")
	f.closed()
	a.asked(t, "remove "+f.id)
	if got := f.post("REVIVE", ""); got.Body != "Framework cannot be found" {
		t.Errorf("%+v", got)
	}
	refused := func(w *world) {
		again := w.subscribe(f.id)
		if got := again.next("ERROR"); dig(got, "error", "message") != "Framework has been removed" {
			t.Errorf("%v", got)
		}
		again.closed()
	}
	refused(w)
	w.stop()
	later := startIn(t, w.dir)
	refused(later)
	// Its tasks are freed.
	other := later.subscribed("")
	b := newAgent(a.id(), 8, 8192)
	still := Recovered{
		Frameworks: []mesos.FrameworkInfo{{ID: &mesos.FrameworkID{Value: f.id}}},
		Tasks:      []TaskState{{FrameworkID: f.id, Task: <-a.tasks, Latest: mesos.TASK_RUNNING}},
	}
	if err := later.master.Register(b, still); err != nil {
		t.Fatal(err)
	}
	b.asked(t, "remove "+f.id)
	if got := dig(other.offer(), "resources", 1, "scalar", "value"); got != 8.0 {
		t.Errorf("cpus %v", got)
	}
}

func TestFailoverTimeout(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("", `,"failover_timeout":0.05`)
	f.accept(0, f.offer(), command("t", a.id(), 1, 100))
	f.cancel()
	a.asked(t, "remove "+f.id)
	again := w.subscribe(f.id)
	again.next("ERROR")
	again.closed()
	// JSON has the last of two equal keys; a framework with an hour is kept.
	kept := w.subscribed("")
	if got := dig(kept.offer(), "resources", 1, "scalar", "value"); got != 8.0 {
		t.Errorf("cpus %v", got)
	}
	kept.cancel()
	w.subscribed(kept.id).offer()
}

func TestSubscriberThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *Options) { o.Queue = 3 })
	ctx, abandon := context.WithCancel(t.Context())
	s := newSubscription(w.master.opts.Queue, abandon)
	for range 4 {
		s.push(errorEvent("x"))
	}
	if ctx.Err() == nil {
		t.Error("the subscriber is kept")
	}
	if events, ended := s.take(); len(events) != 0 || !ended {
		t.Errorf("%d events, ended %v", len(events), ended)
	}
}

func TestStateOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.accept(3600, f.offer(), command("t", a.id(), 1, 100), custom("c", a.id(), executorJSON("e", f.id)))
	a.asked(t, "run c")
	w.stop()

	w = startIn(t, w.dir)
	f = w.subscribed(f.id)
	// Rule O3: silence while the agent is away; a question about another agent is answered.
	f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":"t"},"agent_id":{"value":%q}},{"task_id":{"value":"t"}},{"task_id":{"value":"invented"}}]}`, a.id()))
	f.call("RECONCILE", `"reconcile":{"tasks":[]}`)
	f.call("KILL", fmt.Sprintf(`"kill":{"task_id":{"value":"t"},"agent_id":{"value":%q}}`, a.id()))
	f.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"marker"},"agent_id":{"value":"elsewhere"}}]}`)
	if got := f.status(); dig(got, "task_id", "value") != "marker" || got["state"] != "TASK_UNKNOWN" {
		t.Errorf("%v", got)
	}
	command, inExecutor := <-a.tasks, <-a.tasks
	b := newAgent(a.id(), 8, 8192)
	running := mesos.TASK_RUNNING
	still := Recovered{
		Frameworks: []mesos.FrameworkInfo{{ID: &mesos.FrameworkID{Value: f.id}}},
		Executors:  []mesos.ExecutorInfo{*inExecutor.Executor},
		Tasks: []TaskState{
			{FrameworkID: f.id, Task: command, Latest: running, Status: &mesos.TaskStatus{State: &running}},
			{FrameworkID: f.id, Task: inExecutor, Latest: mesos.TASK_STAGING},
		},
	}
	if err := w.master.Register(b, still); err != nil {
		t.Fatal(err)
	}
	b.asked(t, "subscribed "+f.id)
	offer := f.offer()
	if got := dig(offer, "resources", 1, "scalar", "value"); got != 6.8 {
		t.Errorf("cpus %v", got)
	}
	if got := compact(offer["executor_ids"]); got != `[{"value":"e"}]` {
		t.Errorf("executor_ids %s", got)
	}
	f.call("RECONCILE", `"reconcile":{"tasks":[]}`)
	for _, want := range []string{"t TASK_RUNNING", "c TASK_STAGING"} {
		s := f.status()
		if got := fmt.Sprint(dig(s, "task_id", "value"), " ", s["state"]); got != want {
			t.Errorf("%s, expected %s", got, want)
		}
	}
	f.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"invented"}}]}`)
	if got := f.status(); got["state"] != "TASK_UNKNOWN" {
		t.Errorf("%v", got)
	}
}

func TestAgentOfAForgottenRegistry(t *testing.T) {
	t.Parallel()
	w := start(t)
	f := w.subscribed("f")
	running := mesos.TASK_RUNNING
	a := newAgent("old-S0", 8, 8192)
	var task mesos.TaskInfo
	if err := json.Unmarshal([]byte(custom("r1", "old-S0", executorJSON("exR", "f"))), &task); err != nil {
		t.Fatal(err)
	}
	status := mesos.TaskStatus{State: &running, ContainerStatus: &mesos.ContainerStatus{ContainerID: &mesos.ContainerID{Value: "c"}}}
	if err := w.master.Register(a, Recovered{
		Executors: []mesos.ExecutorInfo{*task.Executor},
		Tasks:     []TaskState{{FrameworkID: "f", Task: task, Latest: running, Status: &status}},
	}); err != nil {
		t.Fatal(err)
	}
	want := recorded(t, "master-away.json", "master restart, agent still away, in-memory registry: what comes as the agent comes back",
		"36474025-7437-428c-b536-9f17b86044f4-S0", "old-S0")
	expected := withoutKeys(dig(want, "events", 0, "update", "status").(map[string]any), "timestamp", "container_status")
	if diff := cmp.Diff(expected, withoutKeys(f.status(), "timestamp", "container_status")); diff != "" {
		t.Error(diff)
	}
	f.offer()
	// It restarts, without its task.
	if err := w.master.Register(a, Recovered{}); err != nil {
		t.Fatal(err)
	}
	dropped := f.status()
	if dropped["state"] != "TASK_DROPPED" || dig(dropped, "task_id", "value") != "r1" {
		t.Errorf("told %s, expected that r1 was dropped", compact(dropped))
	}
	if back := f.offer(); len(dig(back, "resources").([]any)) != 2 || dig(back, "executor_ids") != nil {
		t.Errorf("offered %s, expected what task and executor had", compact(back))
	}
}
