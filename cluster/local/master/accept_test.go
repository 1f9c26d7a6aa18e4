package master

import (
	"fmt"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

func executorJSON(id, framework string) string {
	return fmt.Sprintf(`{"type":"CUSTOM","executor_id":{"value":%q},"framework_id":{"value":%q},"name":%q,"command":{"shell":true,"value":"exec probe"},"resources":%s}`,
		id, framework, id, resourcesOf(0.1, 32))
}

func TestOffersHaveTheFieldsOfMesos(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	offer := f.offer()
	port := fmt.Sprint(a.info.GetPort())
	for want, got := range map[string]any{
		w.master.id + "-O0": offerID(offer), f.id: dig(offer, "framework_id", "value"),
		a.id(): dig(offer, "agent_id", "value"), "127.0.0.1": offer["hostname"],
		"http 127.0.0.1 " + port + " /slave(1)": fmt.Sprint(dig(offer, "url", "scheme"), " ",
			dig(offer, "url", "address", "ip"), " ", dig(offer, "url", "address", "port"), " ",
			dig(offer, "url", "path")),
		"cpus 8 mem 8192 disk 10000": amountsOf(offer),
	} {
		if want != got {
			t.Errorf("%v, want %v", got, want)
		}
	}
	f.accept(0, offer, command("big", a.id(), 7.9, 8160))
	if got := amountsOf(f.offer()); got != "cpus 0.1 mem 32 disk 10000" {
		t.Errorf("left is %s", got)
	}
}

// amountsOf returns the resources of an offer.
func amountsOf(offer map[string]any) string {
	var all []string
	for _, r := range offer["resources"].([]any) {
		all = append(all, fmt.Sprint(dig(r, "name"), " ", dig(r, "scalar", "value")))
	}
	return strings.Join(all, " ")
}

func TestRejectedLaunches(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	for name, tt := range map[string]struct{ task, reason, message string }{
		"no offer":         {command("t", a.id(), 0.1, 32), "REASON_INVALID_OFFERS", "Task launched with invalid offers: Offer no-such-offer is no longer valid"},
		"too large":        {command("t", a.id(), 10000, 32), "REASON_TASK_INVALID", "Total resources {cpus:10000; mem:32; disk:0} required by task and its executor is more than available {cpus:8; mem:8192; disk:10000}"},
		"another agent":    {command("t", "no-such-agent", 0.1, 32), "REASON_TASK_INVALID", "Task uses invalid agent no-such-agent while agent " + a.id() + " is expected"},
		"no executor":      {strings.Replace(command("t", a.id(), 0.1, 32), `,"executor"`, `,"command":{"value":"true"},"x"`, 1), "REASON_TASK_INVALID", "Task should have ExecutorInfo, and no CommandInfo: agents of this cluster have no executor of their own"},
		"id with slashes":  {command("bad/../id", a.id(), 0.1, 32), "REASON_TASK_INVALID", "'bad/../id' contains invalid characters"},
		"next to nothing":  {command("t", a.id(), 0.0001, 32), "REASON_TASK_INVALID", "Resource 'cpus:0.0001' is invalid: Invalid scalar resource: value <= 0, or too large"},
		"reserved":         {strings.Replace(command("t", a.id(), 0.1, 32), `"name":"cpus"`, `"name":"cpus","role":"team"`, 1), "REASON_TASK_INVALID", "Resource 'cpus:0.1' is invalid: it is not offered"},
		"unknown resource": {strings.Replace(command("t", a.id(), 0.1, 32), `"name":"cpus"`, `"name":"gpus"`, 1), "REASON_TASK_INVALID", "Resource 'gpus:0.1' is invalid: it is not offered"},
		"executor's id":    {custom("t", a.id(), executorJSON("ex/../x", f.id)), "REASON_TASK_INVALID", "'ex/../x' contains invalid characters"},
	} {
		offer := f.offer()
		if name == "no offer" {
			f.call("ACCEPT", fmt.Sprintf(`"accept":{"offer_ids":[{"value":"no-such-offer"}],"operations":[{"type":"LAUNCH","launch":{"task_infos":[%s]}}]}`, tt.task))
			f.decline(0, offer)
		} else {
			f.accept(0, offer, tt.task)
		}
		state := "TASK_ERROR"
		if name == "no offer" {
			state = "TASK_DROPPED"
		}
		got := f.status()
		if got["state"] != state || got["reason"] != tt.reason || got["message"] != tt.message ||
			got["source"] != "SOURCE_MASTER" || got["uuid"] != nil {
			t.Errorf("%s: %s", name, compact(got))
		}
	}
	// The whole offer is free again and can be used for a launch.
	f.accept(0, f.offer(), command("good", a.id(), 8, 8192))
	a.asked(t, "run good")
}

// idsOf returns the executors that an offer lists.
func idsOf(offer map[string]any) []any {
	ids, _ := offer["executor_ids"].([]any)
	return ids
}

func TestTwoTasksWithOneID(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("dup", a.id(), 0.1, 32), command("dup", a.id(), 0.1, 32))
	a.asked(t, "run dup")
	if got := f.status(); got["state"] != "TASK_ERROR" || got["message"] != "Task has duplicate ID: dup" {
		t.Errorf("%s", compact(got))
	}
	if got := dig(f.offer(), "resources", 0, "scalar", "value"); got != 7.9 {
		t.Errorf("cpus %v", got)
	}
}

func TestExecutorInfoMustNotChange(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("000cf189-4b77-4a79-9ed1-b4a875b522e1-0002")
	ex1 := executorJSON("ex1", f.id)
	offer := f.offer()
	f.accept(0, offer, custom("t1", a.id(), ex1), custom("t2", a.id(), ex1))
	a.asked(t, "run t2")
	offer = f.offer()
	// The executor is counted once: 8 - 0.1 - 2 * 0.1.
	if got := dig(offer, "resources", 0, "scalar", "value"); got != 7.7 {
		t.Errorf("cpus %v", got)
	}
	if got := compact(offer["executor_ids"]); got != `[{"value":"ex1"}]` {
		t.Errorf("executor_ids %s", got)
	}
	for _, tt := range []struct{ situation, task, executor string }{
		{"same executor id, other resources", "t4", strings.Replace(ex1, `"value":0.1`, `"value":0.2`, 1)},
		{"same executor id, other command", "t5", strings.Replace(ex1, "probe", "probe changed", 1)},
		{"same executor id, other data", "t6", strings.Replace(ex1, `{"type"`, `{"data":"eA==","type"`, 1)},
	} {
		f.accept(0, offer, custom(tt.task, a.id(), tt.executor))
		if got := f.status(); got["state"] != "TASK_ERROR" || got["reason"] != "REASON_TASK_INVALID" ||
			!strings.HasPrefix(got["message"].(string),
				"ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.") {
			t.Errorf("%s: %s", tt.situation, compact(got))
		}
		offer = f.offer()
	}
	f.call("SHUTDOWN", fmt.Sprintf(`"shutdown":{"executor_id":{"value":"ex1"},"agent_id":{"value":%q}}`, a.id()))
	a.asked(t, "shutdown ex1")
	a.ended(f.id, "ex1", 1280)
	if got := compact(f.next("FAILURE")["failure"]); got != fmt.Sprintf(
		`{"agent_id":{"value":%q},"executor_id":{"value":"ex1"},"status":1280}`, a.id()) {
		t.Errorf("%s", got)
	}
}

func TestOffersOfOneAgentAreUsedTogether(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("t1", a.id(), 4, 4096))
	first := f.offer()
	a.report(f.id, "t1", mesos.TASK_FINISHED, 1)
	f.next("UPDATE")
	second := f.offer()
	f.call("ACCEPT", fmt.Sprintf(`"accept":{"offer_ids":[{"value":%q},{"value":%q}],"operations":[{"type":"LAUNCH","launch":{"task_infos":[%s]}}]}`,
		offerID(first), offerID(second), command("whole", a.id(), 8, 8192)))
	a.asked(t, "run whole")
}

func TestExecutorOfARefusedLaunchTakesNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	ex := executorJSON("ex", f.id)
	f.accept(0, f.offer(), custom("t1", a.id(), ex), custom("t2", a.id(), ex))
	offer := f.offer()
	f.call("SUPPRESS", "")
	f.decline(0, offer)
	dropped, agentSource := mesos.TASK_DROPPED, mesos.SOURCE_AGENT
	a.ended(f.id, "ex", -1) // the agent reports this before the launches that it rejects
	f.next("FAILURE")
	for _, id := range []string{"t1", "t2"} {
		_ = a.session.Report(link.News{Update: &link.StatusUpdate{Framework: f.id, Latest: dropped,
			Status: proto(mesos.TaskStatus{
				TaskID: mesos.TaskID{Value: id}, State: &dropped, Source: &agentSource,
				UUID: []byte("0123456789abcdef"),
			})}})
		f.status()
	}
	f.call("REVIVE", "")
	offer = f.offer()
	if got := dig(offer, "resources", 0, "scalar", "value"); got != 8.0 || len(idsOf(offer)) > 0 {
		t.Errorf("cpus %v, executor_ids %v", got, offer["executor_ids"])
	}
}
