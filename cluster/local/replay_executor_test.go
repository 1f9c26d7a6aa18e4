package local

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

func replayExecutors(t *testing.T, r *recordings) {
	s := stage{newMachine(t, master.Options{}), r}
	f := s.subscribed("recorder-executors", "")
	offer := f.offer(large)
	agentID := offer["agent_id"]
	s.same("executor", "launch of two tasks on a new custom executor", s.asRecorded(f, "executor", "launch of two tasks on a new custom executor", offer))
	s.same("executor", "updates of the task that finishes", events(f.of("t1", 2)))
	s.same("executor", "updates of the task that goes on", events(f.of("t2", 2)[1:]))
	offer = f.offer(small)
	s.same("executor", "offer while the executor runs (executor_ids)", object{"offer": offer})
	f.launch(offer, s.customTask("t3", "ex1", "probe", "finish"))
	s.same("executor", "third task on the running executor", events(f.of("t3", 2)))

	bigger := s.customTask("t4", "ex1", "probe", "run")
	bigger["executor"].(object)["resources"] = someResources(0.2)
	f.launch(f.offer(large), bigger)
	s.same("executor", "same executor id, other resources", events(f.events(1)))
	f.launch(f.offer(large), s.customTask("t5", "ex1", "probe changed", "run"))
	s.same("executor", "same executor id, other command", events(f.events(1)))
	changed := s.customTask("t6", "ex1", "probe", "run")
	changed["executor"].(object)["data"] = []byte("x")
	f.launch(f.offer(large), changed)
	s.same("executor", "same executor id, other data", events(f.events(1)))

	s.same("executor", "kill of a task on it", f.call("KILL", object{"task_id": object{"value": "t2"}, "agent_id": agentID}))
	s.same("executor", "updates after kill", events(f.of("t2", 1)))
	f.launch(f.offer(large), s.customTask("t7", "ex1", "probe", "runfail"))
	s.same("executor", "task that the executor fails", events(f.of("t7", 2)))
	s.log("ex1", "ACKNOWLEDGED", 9)
	f.launch(f.offer(large), s.customTask("t8", "ex1", "probe", "exit"))
	s.same("executor", "executor exits with a running task", events(f.events(3)))
	s.same("executor", "log of ex1", s.log("ex1", "exit", 1))

	f.launch(f.offer(large), s.customTask("t9", "ex-early", "die-early", "run"))
	s.same("executor", "executor that exits before subscribing", events(f.events(2)))
	s.same("executor", "log of ex-early", s.log("ex-early", "exit", 1))

	f.launch(f.offer(large), s.customTask("s1", "ex2", "run", "run"))
	f.of("s1", 1)
	s.log("ex2", "ACKNOWLEDGED", 1)
	s.same("executor", "SHUTDOWN of an executor with a running task", f.call("SHUTDOWN", object{"executor_id": object{"value": "ex2"}, "agent_id": agentID}))
	s.same("executor", "updates after SHUTDOWN", events(f.events(2)))
	s.same("executor", "log of ex2", s.log("ex2", "exit", 1))
	s.same("executor", "SHUTDOWN of an unknown executor", f.call("SHUTDOWN", object{"executor_id": object{"value": "nobody"}, "agent_id": agentID}))

	missing := s.customTask("n1", "ex-neg", "run", "run")
	missing["executor"].(object)["command"] = object{"shell": true, "value": "exec /no/such/program"}
	f.launch(f.offer(large), missing)
	s.same("executor", "executor command that does not exist", events(f.events(2)))
	fetch := s.customTask("u1", "ex-uri", "run", "run")
	fetch["executor"].(object)["command"].(object)["uris"] = []any{object{"value": "file:///no/such/file"}}
	f.launch(f.offer(large), fetch)
	s.same("executor", "executor whose fetch fails", events(f.events(2)))
	f.launch(f.offer(large), s.customTask("u2", "ex/../x", "run", "run"))
	s.same("executor", "executor id with slashes", events(f.events(1)))
	free := s.customTask("u3", "ex-nores", "run", "finish")
	delete(free["executor"].(object), "resources")
	f.launch(f.offer(large), free)
	s.same("executor", "executor without resources", events(f.events(2)))

	f.launch(f.offer(large), s.customTask("m1", "ex3", "run", "run"))
	f.of("m1", 1)
	s.log("ex3", "ACKNOWLEDGED", 1)
	f.all()
	s.killAgent()
	s.log("ex3", "resubscribe failed", 2)
	s.same("agent-restart", "framework sees, agent down 3 s", events(f.all()))
	s.startAgent()
	log := s.log("ex3", "SUBSCRIBED", 2)
	s.same("agent-restart", "framework sees, agent back", events(f.all()))
	s.same("agent-restart", "log of ex3", log)
	f.call("RECONCILE", object{"tasks": []any{}})
	s.same("agent-restart", "implicit reconcile after", events(f.exactly(1)))
	s.files(f, agentID.(object)["value"].(string))
	f.accepted("TEARDOWN", nil)
	s.same("executor", "log of ex3 after teardown", s.log("ex3", "exit", 1))
}

// pings are short, so that an agent is soon lost; a healthy one answers in less than a millisecond.
var pings = master.Options{AgentPingTimeout: 400 * time.Millisecond, MaxAgentPingTimeouts: 5}

func replayLost(t *testing.T, r *recordings) {
	s := stage{newMachine(t, pings), r}
	f := s.subscribed("recorder-executors", "")
	offer := f.offer(large)
	agentID := offer["agent_id"]
	f.launch(offer, s.customTask("p1", "exP", "run", "run"))
	f.of("p1", 1)
	s.log("exP", "ACKNOWLEDGED", 1)
	f.all()
	s.cable.setCut(true)
	began := time.Now()
	var lost []any
	for _, event := range f.events(3) {
		lost = append(lost, object{"after_s": time.Since(began).Seconds(), "event": event})
	}
	s.same("agent-lost", "agent stopped (SIGSTOP); pings 3 x 1 s", events(lost))
	p1 := object{"task_id": object{"value": "p1"}, "agent_id": agentID}
	f.call("RECONCILE", object{"tasks": []any{p1}})
	s.same("agent-lost", "reconcile explicit while unreachable", events(f.exactly(1)))
	f.call("RECONCILE", object{"tasks": []any{}})
	s.same("agent-lost", "reconcile implicit while unreachable", events(f.all()))
	f.call("KILL", p1)
	s.same("agent-lost", "kill while unreachable", events(f.exactly(1)))
	f.offers = nil // rescinded
	s.cable.setCut(false)
	s.same("agent-lost", "agent goes on (SIGCONT)", events(f.exactly(1)))
	f.call("RECONCILE", object{"tasks": []any{}})
	s.same("agent-lost", "reconcile implicit afterwards", events(f.exactly(1)))
	log := s.log("exP", "ACKNOWLEDGED", 1)["log"].([]any)
	s.same("agent-lost", "executor's log", object{"log": leaveOut(log, "env", "subscribed", "update")})

	f.launch(f.offer(large), s.customTask("q1", "exQ", "run", "run"))
	f.of("q1", 1)
	s.log("exQ", "ACKNOWLEDGED", 1)
	s.restarted(f, agentID)
}

// leaveOut leaves entries of some kinds out of a log, as its recording does.
func leaveOut(log []any, kinds ...string) []any {
	var kept []any
	for _, entry := range log {
		out := false
		for _, kind := range kinds {
			out = out || field(entry, "kind") == kind
		}
		if !out {
			kept = append(kept, entry)
		}
	}
	return kept
}

// restarted replays a master's restart with an empty registry under two running tasks.
func (s stage) restarted(f *recorder, agentID any) {
	s.killMaster()
	s.same("master-restart", "stream", object{"closed": s.ends(f)})
	s.same("master-restart", "call while down", f.call("REVIVE", nil))
	s.options.InMemoryRegistry = true
	s.startMaster()
	f = s.subscribe("recorder-executors", f.id)
	first := f.next()
	s.cable.found()
	s.same("master-restart", "subscribe again with the id", object{"status": f.response["status"], "events": append([]any{first}, f.events(2)...)})
	f.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "q1"}, "agent_id": agentID}}})
	s.same("master-restart", "explicit reconcile at once, before the agent is back", events(f.events(1)))
	s.same("master-restart", "what comes as the agent re-registers", events(f.all()))
	f.call("RECONCILE", object{"tasks": []any{}})
	implicit := f.events(2)
	s.same("master-restart", "implicit reconcile", events(implicit))
	s.same("master-restart", "offer with the running executor", object{"offer": f.offer(large)})
	s.same("teardown", "teardown", f.call("TEARDOWN", nil))
	// The recorder's stream still had these two events in it.
	s.same("teardown", "stream", object{"events": append(implicit, f.waiting...), "closed": s.ends(f)})
}

// replayAway restarts the master while the agent is away, and brings that back after some questions.
func replayAway(t *testing.T, r *recordings, registry string, inMemory bool) {
	s := stage{newMachine(t, master.Options{InMemoryRegistry: inMemory}), r}
	f := s.subscribed("recorder-executors", "")
	offer := f.offer(large)
	agentID := offer["agent_id"]
	f.quiet = !inMemory // in the second recording the master was gone before the acknowledgement
	f.launch(offer, s.customTask("r1", "exR", "run", "run"))
	f.of("r1", 1)
	s.log("exR", "ACKNOWLEDGED", 1)
	f.all()
	s.killAgent()
	s.killMaster()
	s.ends(f)
	s.startMaster()
	f = s.subscribed("recorder-executors", f.id)
	f.quiet = !inMemory
	sees := func(what string) {
		t.Helper()
		situation := "master restart, agent still away, " + registry + " registry: " + what
		s.same("master-away", situation, events(f.exactly(len(r.get(t, "master-away", situation)["events"].([]any)))))
	}
	r1 := object{"task_id": object{"value": "r1"}, "agent_id": agentID}
	f.call("RECONCILE", object{"tasks": []any{r1}})
	sees("explicit reconcile of a running task, agent id given")
	f.call("RECONCILE", object{"tasks": []any{object{"task_id": r1["task_id"]}}})
	sees("the same without agent id")
	f.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "invented"}}}})
	sees("explicit reconcile of an invented task without agent id")
	f.call("RECONCILE", object{"tasks": []any{}})
	sees("implicit reconcile")
	f.call("KILL", r1)
	sees("kill of it")
	s.startAgent()
	sees("what comes as the agent comes back")
	f.call("RECONCILE", object{"tasks": []any{r1}})
	sees("explicit reconcile then")
}
