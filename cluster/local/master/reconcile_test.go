package master

import (
	"fmt"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

func TestReconciliationOfUnknownTasks(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.offer()
	f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":"never-was"},"agent_id":{"value":%q}},{"task_id":{"value":"another"},"agent_id":{"value":"no-such-agent"}},{"task_id":{"value":"agentless"}}]}`, a.id()))
	for _, want := range []string{
		"never-was TASK_GONE Reconciliation: Task is unknown to the agent",
		"another TASK_UNKNOWN Reconciliation: Task is unknown",
		"agentless TASK_UNKNOWN Reconciliation: Task is unknown",
	} {
		s := f.status()
		if got := fmt.Sprint(dig(s, "task_id", "value"), " ", s["state"], " ", s["message"]); got != want ||
			s["reason"] != "REASON_RECONCILIATION" || s["uuid"] != nil {
			t.Errorf("%s, want %s", compact(s), want)
		}
	}
	f.call("KILL", `"kill":{"task_id":{"value":"never-was"}}`)
	if got := f.status(); got["state"] != "TASK_UNKNOWN" || got["reason"] != "REASON_RECONCILIATION" {
		t.Errorf("%s", compact(got))
	}
}

func TestLifeOfATask(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(3600, f.offer(), command("t", a.id(), 1, 100))
	a.asked(t, "run t")
	reconciled := func(want string) {
		t.Helper()
		f.call("RECONCILE", fmt.Sprintf(`"reconcile":{"tasks":[{"task_id":{"value":"t"},"agent_id":{"value":%q}}]}`,
			a.id()))
		got := f.status()
		if got["state"] != want || got["uuid"] != nil || got["source"] != "SOURCE_MASTER" {
			t.Errorf("%v, expected %s", compact(got), want)
		}
	}
	reconciled("TASK_STAGING")
	a.report(f.id, "t", mesos.TASK_RUNNING, 1)
	if got := f.status(); got["state"] != "TASK_RUNNING" || got["uuid"] != "AQEBAQEBAQEBAQEBAQEBAQ==" ||
		got["source"] != "SOURCE_EXECUTOR" {
		t.Errorf("%v", got)
	}
	ack := `"acknowledge":{"agent_id":{"value":%q},"task_id":{"value":"t"},"uuid":%q}`
	f.call("ACKNOWLEDGE", fmt.Sprintf(ack, a.id(), "AQEBAQEBAQEBAQEBAQEBAQ=="))
	a.asked(t, "acknowledge t 01")
	reconciled("TASK_RUNNING")
	f.call("KILL", `"kill":{"task_id":{"value":"t"}}`)
	a.asked(t, "kill t")
	a.report(f.id, "t", mesos.TASK_KILLED, 2)
	f.status()
	// The freed resources are more than the filter covers.
	if got := dig(f.offer(), "resources", 0, "scalar", "value"); got != 8.0 {
		t.Errorf("cpus %v", got)
	}
	reconciled("TASK_KILLED")
	f.call("ACKNOWLEDGE", fmt.Sprintf(ack, a.id(), "AgICAgICAgICAgICAgICAg=="))
	reconciled("TASK_GONE")
	// An update of a task that was never launched is passed on.
	a.report(f.id, "stray", mesos.TASK_RUNNING, 3)
	if got := f.status(); dig(got, "task_id", "value") != "stray" {
		t.Errorf("%v", got)
	}
}
