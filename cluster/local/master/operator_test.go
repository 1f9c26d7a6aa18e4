package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

func (w *world) markGone(agent string) answer {
	w.t.Helper()
	request := fmt.Sprintf(`{"type":"MARK_AGENT_GONE","mark_agent_gone":{"agent_id":{"value":%q}}}`, agent)
	return w.at("/api/v1", request)
}

func reconcileTask(f *testFramework, task, agent string) map[string]any {
	f.w.t.Helper()
	f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":%q},"agent_id":{"value":%q}}]}`, task,
		agent))
	return f.status()
}

// States, reasons, texts and order are those of Mesos' source.
func TestAgentThatIsMarkedGone(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(0, f.offer(), custom("t1", a.id(), executorJSON("ex", f.id)))
	a.asked(t, "run t1")
	f.offer()
	if got := w.markGone(a.id()); got.Status != http.StatusOK || got.Body != "" {
		t.Fatalf("answered %+v", got)
	}
	gone := f.status()
	for name, want := range map[string]any{"state": "TASK_GONE_BY_OPERATOR",
		"reason":  "REASON_AGENT_REMOVED_BY_OPERATOR",
		"message": "Agent has been marked gone", "source": "SOURCE_MASTER", "uuid": nil, "unreachable_time": nil} {
		if gone[name] != want {
			t.Errorf("%s is %v, want %v", name, gone[name], want)
		}
	}
	f.next("RESCIND")
	f.next("FAILURE")
	a.asked(t, "remove "+f.id)
	if got := reconcileTask(f, "t1", a.id()); got["state"] != "TASK_GONE_BY_OPERATOR" ||
		got["message"] != "Reconciliation: Task is gone" {
		t.Errorf("reported %s", compact(got))
	}
	if got := w.markGone(a.id()); got.Status != http.StatusOK {
		t.Errorf("a second time: %+v", got)
	}
	if got := w.markGone("no-such-agent"); got.Status != http.StatusNotFound ||
		got.Body != "Agent 'no-such-agent' not found" {
		t.Errorf("of an unknown agent: %+v", got)
	}
	if got := w.at("/api/v1", `{"type":"GET_FLAGS"}`); got.Status != http.StatusNotImplemented {
		t.Errorf("another call: %+v", got)
	}
	w.stop()

	// It cannot register again, not even with the next master.
	next := startIn(t, w.dir)
	if err := next.register(a, link.Registration{}); !errors.Is(err, link.ErrGone) {
		t.Errorf("an agent that is gone registered: %v", err)
	}
	if got := reconcileTask(next.subscribed(f.id), "t1", a.id()); got["state"] != "TASK_GONE_BY_OPERATOR" {
		t.Errorf("reported %s", compact(got))
	}
}

func TestUnreachableAgentThatIsMarkedGone(t *testing.T) {
	t.Parallel()
	w := start(t, shortPings)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(600, f.offer(), command("t1", a.id(), 1, 64))
	a.asked(t, "run t1")
	a.deaf.Store(true)
	if lost := f.status(); lost["state"] != "TASK_UNREACHABLE" {
		t.Fatalf("reported %s", compact(lost))
	}
	f.next("FAILURE")
	if got := w.markGone(a.id()); got.Status != http.StatusOK {
		t.Fatalf("answered %+v", got)
	}
	if gone := f.status(); gone["state"] != "TASK_GONE_BY_OPERATOR" || dig(gone, "task_id", "value") != "t1" {
		t.Errorf("reported %s", compact(gone))
	}
}

func TestListOfAgents(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	active := func() any {
		var told map[string]any
		if err := json.Unmarshal([]byte(w.at("/api/v1", `{"type":"GET_AGENTS"}`).Body), &told); err != nil {
			t.Fatal(err)
		}
		if id := dig(told, "get_agents", "agents", 0, "agent_info", "id", "value"); id != a.id() {
			t.Errorf("reported of agent %v", id)
		}
		return dig(told, "get_agents", "agents", 0, "active")
	}
	if is := active(); is != true {
		t.Errorf("active: %v", is)
	}
	a.session.Close()
	if is := active(); is != false {
		t.Errorf("disconnected, but active: %v", is)
	}
}

func TestOperatorTearsAFrameworkDown(t *testing.T) {
	t.Parallel()
	w := start(t)
	ask := func(id string) answer {
		return w.at("/master/api/v1", fmt.Sprintf(`{"type":"TEARDOWN","teardown":{"framework_id":{"value":%q}}}`, id))
	}
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("t1", a.id(), 1, 64))
	f.offer()
	if got := ask(f.id); got.Status != http.StatusOK || got.Body != "" {
		t.Fatalf("answered %+v", got)
	}
	f.closed()
	a.asked(t, "remove "+f.id)
	if got := ask(f.id); got.Status != http.StatusBadRequest {
		t.Errorf("a second time: %+v", got)
	}
	again := w.subscribe(f.id)
	if text := dig(again.next("ERROR"), "error", "message"); text != "Framework has been removed" {
		t.Errorf("reported %v", text)
	}
}
