package master

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
)

func TestReconciliationOfUnknownTasks(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.offer()
	f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":"never-was"},"agent_id":{"value":%q}},{"task_id":{"value":"elsewhere"},"agent_id":{"value":"no-such-agent"}},{"task_id":{"value":"agentless"}}]}`, a.id()))
	want := recorded(t, "updates.json", "reconcile: unknown tasks", "000cf189-4b77-4a79-9ed1-b4a875b522e1-S0", a.id())
	for i := range 3 {
		expected := withoutKeys(dig(want, "events", i, "update", "status").(map[string]any), "timestamp")
		if diff := cmp.Diff(expected, withoutKeys(f.status(), "timestamp")); diff != "" {
			t.Error(diff)
		}
	}
	f.call("KILL", `"kill":{"task_id":{"value":"never-was"}}`)
	want = recorded(t, "updates.json", "after kill of an unknown task")
	expected := withoutKeys(dig(want, "event", "update", "status").(map[string]any), "timestamp")
	if diff := cmp.Diff(expected, withoutKeys(f.status(), "timestamp")); diff != "" {
		t.Error(diff)
	}
}

func TestLifeOfATask(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.accept(3600, f.offer(), command("t", a.id(), 1, 100))
	a.asked(t, "run t")
	reconciled := func(want string) {
		t.Helper()
		f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":"t"},"agent_id":{"value":%q}}]}`, a.id()))
		got := f.status()
		if got["state"] != want || got["uuid"] != nil || got["source"] != "SOURCE_MASTER" {
			t.Errorf("%v, expected %s", compact(got), want)
		}
	}
	reconciled("TASK_STAGING")
	a.tell(w.master, f.id, "t", mesos.TASK_RUNNING, 1)
	if got := f.status(); got["state"] != "TASK_RUNNING" || got["uuid"] != "AQEBAQEBAQEBAQEBAQEBAQ==" || got["source"] != "SOURCE_EXECUTOR" {
		t.Errorf("%v", got)
	}
	ack := `"acknowledge":{"agent_id":{"value":%q},"task_id":{"value":"t"},"uuid":%q}`
	f.call("ACKNOWLEDGE", fmt.Sprintf(ack, a.id(), "AQEBAQEBAQEBAQEBAQEBAQ=="))
	a.asked(t, "acknowledge t 01")
	reconciled("TASK_RUNNING")
	f.call("KILL", `"kill":{"task_id":{"value":"t"}}`)
	a.asked(t, "kill t")
	a.tell(w.master, f.id, "t", mesos.TASK_KILLED, 2)
	f.status()
	// What was in use is more than the filter holds.
	if got := dig(f.offer(), "resources", 1, "scalar", "value"); got != 8.0 {
		t.Errorf("cpus %v", got)
	}
	reconciled("TASK_KILLED")
	f.call("ACKNOWLEDGE", fmt.Sprintf(ack, a.id(), "AgICAgICAgICAgICAgICAg=="))
	reconciled("TASK_GONE")
	// An update for a task that nobody launched is passed on.
	a.tell(w.master, f.id, "stray", mesos.TASK_RUNNING, 3)
	if got := f.status(); dig(got, "task_id", "value") != "stray" {
		t.Errorf("%v", got)
	}
}

func TestFrameworksWithoutPartitionsHearLost(t *testing.T) {
	t.Parallel()
	w := start(t)
	f := w.subscribed("", `,"capabilities":[]`)
	f.call("KILL", `"kill":{"task_id":{"value":"t"}}`)
	if got := f.status(); got["state"] != "TASK_LOST" {
		t.Errorf("%v", got)
	}
}
