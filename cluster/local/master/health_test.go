package master

import (
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

func shortPings(o *Options) { o.AgentPingTimeout, o.MaxAgentPingTimeouts = 100*time.Millisecond, 5 }

func TestAgentThatDoesNotAnswerIsLostUntilItRegisters(t *testing.T) {
	t.Parallel()
	w := start(t, shortPings)
	a := w.agent(link.Registration{})
	aware, other := w.subscribed(""), w.subscribed("")
	running := func(f *testFramework, task string) mesos.TaskInfo {
		f.accept(600, f.offer(), command(task, a.id(), 1, 64))
		a.report(f.id, task, mesos.TASK_RUNNING, 1)
		if got := f.status()["state"]; got != "TASK_RUNNING" {
			t.Fatalf("%s is %s", task, got)
		}
		return <-a.tasks
	}
	info := running(aware, "t1")
	if got := dig(other.offer(), "agent_id", "value"); got != a.id() {
		t.Fatalf("offered %v", got)
	}
	a.deaf.Store(true)
	lost := aware.status()
	if lost["state"] != "TASK_UNREACHABLE" || dig(lost, "unreachable_time", "nanoseconds") == nil ||
		lost["uuid"] != nil {
		t.Errorf("reported %s", compact(lost))
	}
	aware.next("FAILURE")
	other.next("RESCIND")
	if failure := other.next("FAILURE"); dig(failure, "failure", "agent_id", "value") != a.id() ||
		dig(failure, "failure", "executor_id") != nil {
		t.Errorf("reported %s", compact(failure))
	}
	// Reports of an unreachable agent are ignored; it repeats them after it has registered again.
	a.report(aware.id, "t1", mesos.TASK_FINISHED, 2)
	aware.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"t1"},"agent_id":{"value":"`+a.id()+`"}}]}`)
	if got := aware.status(); got["state"] != "TASK_UNREACHABLE" {
		t.Errorf("reported %s", compact(got))
	}

	a.deaf.Store(false)
	a.asked(t, "session ended")
	finished, source := mesos.TASK_FINISHED, mesos.SOURCE_EXECUTOR
	still := link.Registration{Tasks: []link.TaskState{{Framework: aware.id, Task: proto(info), Latest: finished,
		Status: &link.Proto[mesos.TaskStatus]{Of: mesos.TaskStatus{State: &finished, Source: &source}}}}}
	if err := w.register(a, still); err != nil {
		t.Fatal(err)
	}
	// As in Mesos' source: the latest state, whatever it is, and nothing to acknowledge.
	back := aware.status()
	if back["state"] != "TASK_FINISHED" || back["reason"] != "REASON_AGENT_REREGISTERED" ||
		back["message"] != "Unreachable agent re-reregistered" || back["uuid"] != nil {
		t.Errorf("reported %s", compact(back))
	}
}

func TestAgentThatStaysAwayBecomesUnreachable(t *testing.T) {
	t.Parallel()
	first := start(t)
	a := first.agent(link.Registration{})
	first.stop()
	soon := func(o *Options) { o.AgentReregisterTimeout = 300 * time.Millisecond }
	w := startIn(t, first.dir, soon)
	f := w.subscribed("f")
	ask := func(w *world, f *testFramework) {
		f.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"t1"},"agent_id":{"value":"`+a.id()+`"}}]}`)
	}
	ask(w, f) // no answer: the agent may register again (rule O3)
	if failure := f.next("FAILURE"); dig(failure, "failure", "agent_id", "value") != a.id() {
		t.Errorf("reported %s", compact(failure))
	}
	ask(w, f)
	before := f.status()
	if before["state"] != "TASK_UNREACHABLE" {
		t.Errorf("reported %s", compact(before))
	}
	w.stop()

	// The next master also remembers it until the agent registers.
	w = startIn(t, first.dir)
	f = w.subscribed("f")
	ask(w, f)
	after := f.status()
	if after["state"] != "TASK_UNREACHABLE" ||
		compact(after["unreachable_time"]) != compact(before["unreachable_time"]) {
		t.Errorf("reported %s, before %s", compact(after), compact(before))
	}
	f.call("SUPPRESS", "")
	if err := w.register(a, link.Registration{}); err != nil {
		t.Fatal(err)
	}
	ask(w, f)
	if got := f.status(); got["state"] != "TASK_GONE" {
		t.Errorf("reported %s", compact(got))
	}
}

func TestInMemoryRegistryForgets(t *testing.T) {
	t.Parallel()
	memory := func(o *Options) { o.InMemoryRegistry = true }
	first := start(t, memory)
	a := first.agent(link.Registration{})
	first.subscribed("f")
	first.stop()
	w := startIn(t, first.dir, memory)
	f := w.subscribed("f")
	f.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"t1"},"agent_id":{"value":"`+a.id()+`"}}]}`)
	if got := f.status(); got["state"] != "TASK_UNKNOWN" {
		t.Errorf("reported %s", compact(got))
	}
}
