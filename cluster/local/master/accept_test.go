package master

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
)

func executorJSON(id, framework string) string {
	return fmt.Sprintf(`{"type":"CUSTOM","executor_id":{"value":%q},"framework_id":{"value":%q},"name":%q,"command":{"shell":true,"value":"exec /usr/bin/python3 REC_DIR/ex.py LOG_DIR/ex1.jsonl probe"},"resources":%s}`,
		id, framework, id, resources(0.1, 32))
}

func TestOffersAreMesos(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	ids := []string{recordedFramework, f.id, "000cf189-4b77-4a79-9ed1-b4a875b522e1", w.master.ID(), "-O2", "-O1"}
	offer := f.offer()
	if diff := cmp.Diff(dig(recorded(t, "offers.json", "offers event", ids...), "event", "offers", "offers", 0), any(offer)); diff != "" {
		t.Error(diff)
	}
	// What is left of disk and ports is no offer by itself in the recording, since they were all used; here they go with the first task.
	first := strings.Replace(command("big", a.id(), 7.9, 8160), `"resources":[`, `"resources":[{"name":"disk","type":"SCALAR","scalar":{"value":10000}},{"name":"ports","type":"RANGES","ranges":{"range":[{"begin":31000,"end":32000}]}},`, 1)
	f.accept(0, offer, first)
	want := recorded(t, "offers.json", "offer after use", ids...)
	if diff := cmp.Diff(dig(want, "offer"), any(f.offer())); diff != "" {
		t.Error(diff)
	}
	if got := (<-a.tasks).Resources[0].GetAllocationInfo().GetRole(); got != "*" {
		t.Errorf("allocated to %q", got)
	}
}

func TestRejectedLaunches(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	for _, tt := range []struct {
		file, situation, task string
		path                  []any
	}{
		{"updates.json", "launch on an unknown offer", command("bad-offer", a.id(), 0.1, 32), []any{"event"}},
		{"updates.json", "task larger than its offer", command("too-big", a.id(), 10000, 32), []any{"event"}},
		{"updates.json", "task for another agent than the offer's", command("wrong-agent", "no-such-agent", 0.1, 32), []any{"event"}},
		{"updates.json", "task without command or executor", strings.Replace(command("no-cmd", a.id(), 0.1, 32), `,"command":{"value":"true"}`, "", 1), []any{"event"}},
		{"updates.json", "task id with slashes", command("bad/../id", a.id(), 0.1, 32), []any{"event"}},
		{"updates.json", "cpus 0.0001", command("zero", a.id(), 0.0001, 32), []any{"event"}},
		{"executor.json", "executor id with slashes", custom("u2", a.id(), executorJSON("ex/../x", f.id)), []any{"events", 0}},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			offer := f.offer()
			if tt.situation == "launch on an unknown offer" {
				f.call("ACCEPT", fmt.Sprintf(`"accept":{"offer_ids":[{"value":"no-such-offer"}],"operations":[{"type":"LAUNCH","launch":{"task_infos":[%s]}}]}`, tt.task))
				f.decline(0, offer)
			} else {
				f.accept(0, offer, tt.task)
			}
			want := recorded(t, tt.file, tt.situation, "000cf189-4b77-4a79-9ed1-b4a875b522e1-S0", a.id(),
				// The offer then was a small one.
				"available cpus(allocated: *):0.1; mem(allocated: *):32", "available ports(allocated: *):[31000-32000]; cpus(allocated: *):8; mem(allocated: *):8192; disk(allocated: *):10000")
			expected := withoutKeys(dig(want, append(tt.path, "update", "status")...).(map[string]any), "timestamp")
			if diff := cmp.Diff(expected, withoutKeys(f.status(), "timestamp")); diff != "" {
				t.Error(diff)
			}
		})
	}
	// All of the offer comes back, and is good for a launch.
	f.accept(0, f.offer(), command("good", a.id(), 8, 8192))
	a.asked(t, "run good")
}

func TestTwoTasksWithOneID(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("dup", a.id(), 0.1, 32), command("dup", a.id(), 0.1, 32))
	a.asked(t, "run dup")
	want := recorded(t, "updates.json", "two tasks with one id", "000cf189-4b77-4a79-9ed1-b4a875b522e1-S0", a.id())
	expected := withoutKeys(dig(want, "events", 0, "update", "status").(map[string]any), "timestamp")
	if diff := cmp.Diff(expected, withoutKeys(f.status(), "timestamp")); diff != "" {
		t.Error(diff)
	}
	if got := dig(f.offer(), "resources", 1, "scalar", "value"); got != 7.9 {
		t.Errorf("cpus %v", got)
	}
}

func TestExecutorInfoMustNotChange(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("000cf189-4b77-4a79-9ed1-b4a875b522e1-0002")
	ex1 := executorJSON("ex1", f.id)
	offer := f.offer()
	f.accept(0, offer, custom("t1", a.id(), ex1), custom("t2", a.id(), ex1))
	a.asked(t, "run t2")
	offer = f.offer()
	// The executor is counted once: 8 - 0.1 - 2 * 0.1.
	if got := dig(offer, "resources", 1, "scalar", "value"); got != 7.7 {
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
		want := recorded(t, "executor.json", tt.situation, "000cf189-4b77-4a79-9ed1-b4a875b522e1-S0", a.id())
		expected := withoutKeys(dig(want, "events", 0, "update", "status").(map[string]any), "timestamp")
		if diff := cmp.Diff(expected, withoutKeys(f.status(), "timestamp")); diff != "" {
			t.Errorf("%s: %s", tt.situation, diff)
		}
		offer = f.offer()
	}
	f.call("SHUTDOWN", fmt.Sprintf(`"shutdown":{"executor_id":{"value":"ex1"},"agent_id":{"value":%q}}`, a.id()))
	a.asked(t, "shutdown ex1")
	w.master.ExecutorEnded(a.id(), f.id, "ex1", 1280)
	if got := compact(f.next("FAILURE")["failure"]); got != fmt.Sprintf(`{"agent_id":{"value":%q},"executor_id":{"value":"ex1"},"status":1280}`, a.id()) {
		t.Errorf("%s", got)
	}
}

// The master completes what it is told of an executor with the framework's role, and compares that.
func TestAnotherRoleMakesAnotherExecutorInfo(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("", `,"role":"blue"`)
	f.accept(0, f.offer(), custom("t1", a.id(), executorJSON("ex1", f.id)))
	a.asked(t, "run t1")
	f.disconnect()
	f = w.subscribed(f.id, `,"role":"green"`)
	f.accept(0, f.offer(), custom("t2", a.id(), executorJSON("ex1", f.id)), custom("t3", a.id(), executorJSON("ex2", f.id)))
	if got := f.status(); got["state"] != "TASK_ERROR" || got["reason"] != "REASON_TASK_INVALID" || !strings.HasPrefix(got["message"].(string), "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.") {
		t.Errorf("%v", got)
	}
	a.asked(t, "run t3")
}

func TestTaskGroupsAreRejected(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.call("ACCEPT", fmt.Sprintf(`"accept":{"offer_ids":[{"value":%q}],"operations":[{"type":"LAUNCH_GROUP","launch_group":{"executor":%s,"task_group":{"tasks":[%s]}}}]}`,
		offerID(f.offer()), executorJSON("e", f.id), command("g", a.id(), 1, 32)))
	if got := f.status(); got["state"] != "TASK_ERROR" || got["reason"] != "REASON_TASK_GROUP_INVALID" {
		t.Errorf("%v", got)
	}
}

func TestOffersOfOneAgentAreUsedTogether(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("t1", a.id(), 4, 4096))
	first := f.offer()
	a.tell(w.master, f.id, "t1", mesos.TASK_FINISHED, 1)
	f.next("UPDATE")
	second := f.offer()
	f.call("ACCEPT", fmt.Sprintf(`"accept":{"offer_ids":[{"value":%q},{"value":%q}],"operations":[{"type":"LAUNCH","launch":{"task_infos":[%s]}}]}`,
		offerID(first), offerID(second), command("whole", a.id(), 8, 8192)))
	a.asked(t, "run whole")
}

func TestExecutorOfARefusedLaunchTakesNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	ex := executorJSON("ex", f.id)
	f.accept(0, f.offer(), custom("t1", a.id(), ex), custom("t2", a.id(), ex))
	offer := f.offer()
	f.call("SUPPRESS", "")
	f.decline(0, offer)
	dropped, agentSource := mesos.TASK_DROPPED, mesos.SOURCE_AGENT
	for _, id := range []string{"t1", "t2"} {
		w.master.Update(a.id(), StatusUpdate{FrameworkID: f.id, Latest: dropped, Status: mesos.TaskStatus{
			TaskID: mesos.TaskID{Value: id}, State: &dropped, Source: &agentSource, UUID: []byte("0123456789abcdef"),
		}})
		f.status()
	}
	f.call("REVIVE", "")
	offer = f.offer()
	if got := dig(offer, "resources", 1, "scalar", "value"); got != 8.0 || offer["executor_ids"] != nil {
		t.Errorf("cpus %v, executor_ids %v", got, offer["executor_ids"])
	}
}
