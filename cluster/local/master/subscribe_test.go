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
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

func TestFirstEventsHaveTheFieldsOfMesos(t *testing.T) {
	t.Parallel()
	w := start(t)
	f := w.subscribe("my-own-id")
	event := f.next("SUBSCRIBED")
	master := dig(event, "subscribed", "master_info")
	for want, got := range map[any]any{
		"my-own-id": dig(event, "subscribed", "framework_id", "value"),
		15.0:        dig(event, "subscribed", "heartbeat_interval_seconds"),
		w.master.id: dig(master, "id"), "127.0.0.1": dig(master, "address", "ip"), 16777343.0: dig(master, "ip"),
		w.port:   fmt.Sprint(dig(master, "port")),
		"1.12.0": dig(master, "version"), "master@127.0.0.1:" + w.port: dig(master, "pid"),
	} {
		if want != got {
			t.Errorf("%v, want %v", got, want)
		}
	}
	f.next("HEARTBEAT")
	if got := f.response.TransferEncoding; len(got) != 1 || got[0] != "chunked" ||
		f.response.Header.Get("Content-Type") != "application/json" || f.stream == "" {
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
	a := w.agent(link.Registration{})
	name := mesos.FrameworkInfo{User: "root", Name: "test"}
	body, err := (&scheduler.Call{Type: scheduler.Call_SUBSCRIBE,
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: &name}}).Marshal()
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
	framework, frames := "", recordio.NewReader(response.Body)
	for _, want := range []scheduler.Event_Type{scheduler.Event_SUBSCRIBED, scheduler.Event_HEARTBEAT,
		scheduler.Event_OFFERS, scheduler.Event_MESSAGE} {
		frame, err := frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		var event scheduler.Event
		if err := event.Unmarshal(frame); err != nil || event.Type != want {
			t.Fatalf("event %v, %v; expected %v", event.Type, err, want)
		}
		switch want {
		case scheduler.Event_OFFERS:
			a.message(framework, "ex1", []byte{0, 0xff})
		case scheduler.Event_SUBSCRIBED:
			framework = event.Subscribed.FrameworkID.Value
		case scheduler.Event_MESSAGE:
			if m := event.Message; m.AgentID.Value != a.id() || m.ExecutorID.Value != "ex1" ||
				!bytes.Equal(m.Data, []byte{0, 0xff}) {
				t.Errorf("the message is %v", m)
			}
		}
	}
}

func TestSecondSubscriberTakesOver(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	old := w.subscribed("")
	offer := old.offer()
	now := w.subscribed(old.id)
	a.asked(t, "subscribed "+old.id)
	if got := old.next("ERROR"); dig(got, "error", "message") != "Framework failed over" {
		t.Errorf("%v", got)
	}
	old.closed()
	got := old.post("REVIVE", "")
	if want := fmt.Sprintf("The stream ID '%s' included in this request didn't match the stream ID currently associated with framework ID %s", old.stream, old.id); got.Status != 400 || got.Body != want {
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

// Filters are bound to a framework's connection, not to its subscriber.
func TestFiltersOutliveASubscriberWhoseStreamIsOpen(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.agent(link.Registration{})
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

func TestTeardownIsPermanent(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("t", a.id(), 1, 100))
	a.asked(t, "run t")
	f.offer()
	if got := w.at("/api/v1", fmt.Sprintf(`{"type":"TEARDOWN","teardown":{"framework_id":{"value":%q}}}`,
		f.id)); got.Status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
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
	// The resources of its tasks are free.
	other := later.subscribed("")
	b := newAgent(a.id(), 8, 8192)
	still := link.Registration{
		Frameworks: []link.Proto[mesos.FrameworkInfo]{proto(mesos.FrameworkInfo{ID: &mesos.FrameworkID{Value: f.id}})},
		Tasks:      []link.TaskState{{Framework: f.id, Task: proto(<-a.tasks), Latest: mesos.TASK_RUNNING}},
	}
	if err := later.register(b, still); err != nil {
		t.Fatal(err)
	}
	b.asked(t, "remove "+f.id)
	if got := dig(other.offer(), "resources", 0, "scalar", "value"); got != 8.0 {
		t.Errorf("cpus %v", got)
	}
}

func TestFailoverTimeout(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("", `,"failover_timeout":0.05`)
	f.accept(0, f.offer(), command("t", a.id(), 1, 100))
	f.cancel()
	a.asked(t, "remove "+f.id)
	again := w.subscribe(f.id)
	again.next("ERROR")
	again.closed()
	// In JSON the last of two equal keys takes precedence; a framework with an hour is kept.
	kept := w.subscribed("")
	if got := dig(kept.offer(), "resources", 0, "scalar", "value"); got != 8.0 {
		t.Errorf("cpus %v", got)
	}
	kept.cancel()
	w.subscribed(kept.id).offer()
}

func TestSubscriberThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel()
	ctx, abandon := context.WithCancel(t.Context())
	s := newSubscription(3, abandon)
	for range 4 {
		s.push(errorEvent("x"))
	}
	if ctx.Err() == nil {
		t.Error("the subscriber is kept")
	}
	if events, open := s.events.Take(); len(events) != 0 || open {
		t.Errorf("%d events, open %v", len(events), open)
	}
}

func TestStateOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(3600, f.offer(), command("t", a.id(), 1, 100), custom("c", a.id(), executorJSON("e", f.id)))
	a.asked(t, "run c")
	w.stop()

	w = startIn(t, w.dir)
	f = w.subscribed(f.id)
	// Rule O3: no answer while the agent is away; a question about another agent is answered.
	f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":"t"},"agent_id":{"value":%q}},{"task_id":{"value":"t"}},{"task_id":{"value":"invented"}}]}`, a.id()))
	f.call("RECONCILE", `"reconcile":{"tasks":[]}`)
	f.call("KILL", fmt.Sprintf(`"kill":{"task_id":{"value":"t"},"agent_id":{"value":%q}}`, a.id()))
	f.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"marker"},"agent_id":{"value":"another"}}]}`)
	if got := f.status(); dig(got, "task_id", "value") != "marker" || got["state"] != "TASK_UNKNOWN" {
		t.Errorf("%v", got)
	}
	command, inExecutor := <-a.tasks, <-a.tasks
	b := newAgent(a.id(), 8, 8192)
	running := mesos.TASK_RUNNING
	still := link.Registration{
		Frameworks: []link.Proto[mesos.FrameworkInfo]{proto(mesos.FrameworkInfo{ID: &mesos.FrameworkID{Value: f.id}})},
		Executors:  []link.Proto[mesos.ExecutorInfo]{proto(*inExecutor.Executor)},
		Tasks: []link.TaskState{
			{Framework: f.id, Task: proto(command), Latest: running, Status: &link.Proto[mesos.TaskStatus]{Of: mesos.TaskStatus{State: &running}}},
			{Framework: f.id, Task: proto(inExecutor), Latest: mesos.TASK_STAGING},
		},
	}
	if err := w.register(b, still); err != nil {
		t.Fatal(err)
	}
	b.asked(t, "subscribed "+f.id)
	offer := f.offer()
	if got := dig(offer, "resources", 0, "scalar", "value"); got != 6.8 {
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
	status := mesos.TaskStatus{State: &running,
		ContainerStatus: &mesos.ContainerStatus{ContainerID: &mesos.ContainerID{Value: "c"}}}
	if err := w.register(a, link.Registration{
		Executors: []link.Proto[mesos.ExecutorInfo]{proto(*task.Executor)},
		Tasks: []link.TaskState{{Framework: "f", Task: proto(task), Latest: running,
			Status: &link.Proto[mesos.TaskStatus]{Of: status}}},
	}); err != nil {
		t.Fatal(err)
	}
	if got := f.status(); got["state"] != "TASK_RUNNING" || got["reason"] != "REASON_AGENT_REREGISTERED" ||
		got["message"] != "Unknown agent reregistered" || got["source"] != "SOURCE_MASTER" {
		t.Errorf("reported %s", compact(got))
	}
	f.offer()
	// It restarts without its task.
	if err := w.register(a, link.Registration{}); err != nil {
		t.Fatal(err)
	}
	dropped := f.status()
	if dropped["state"] != "TASK_DROPPED" || dig(dropped, "task_id", "value") != "r1" {
		t.Errorf("reported %s, expected that r1 was dropped", compact(dropped))
	}
	if back := f.offer(); len(dig(back, "resources").([]any)) != 2 || len(idsOf(back)) > 0 {
		t.Errorf("offered %s, expected what task and executor had", compact(back))
	}
}
