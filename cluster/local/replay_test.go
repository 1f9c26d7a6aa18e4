package local

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

func TestSituationsOfMesos(t *testing.T) {
	t.Parallel()
	r := loadRecordings(t)
	t.Run("all", func(t *testing.T) {
		t.Run("commands", func(t *testing.T) { t.Parallel(); replayCommands(t, r) })
		t.Run("executors", func(t *testing.T) { t.Parallel(); replayExecutors(t, r) })
		t.Run("lost", func(t *testing.T) { t.Parallel(); replayLost(t, r) })
		t.Run("away in memory", func(t *testing.T) { t.Parallel(); replayAway(t, r, "in-memory", true) })
		t.Run("away on disk", func(t *testing.T) { t.Parallel(); replayAway(t, r, "replicated-log", false) })
	})
	r.complete(t)
}

// stage is a machine and the recordings that it is compared with.
type stage struct {
	*machine
	r *recordings
}

func (s stage) same(file, situation string, got object) {
	s.t.Helper()
	s.r.compare(s.t, s.paths, file, situation, got)
}

func events(list []any) object { return object{"events": list} }

// refused replays calls that are answered at once.
func (s stage) refused(f *recorder) {
	id := `"framework_id":{"value":"` + f.id + `"}`
	with := func(more ...string) map[string]string {
		headers := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			headers[more[i]] = more[i+1]
		}
		return headers
	}
	inStream := with("Mesos-Stream-Id", f.stream)
	subscribe := `{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"root","name":"x"}}}`
	for _, call := range []struct {
		situation, method, body string
		headers                 map[string]string
	}{
		{"no body", "POST", "", with()},
		{"not json", "POST", "nope", with()},
		{"unknown type", "POST", `{"type":"NONSENSE"}`, with()},
		{"missing type", "POST", `{}`, with()},
		{"wrong content type", "POST", `{}`, map[string]string{"Content-Type": "text/plain"}},
		{"no content type", "POST", `{}`, nil},
		{"wrong accept", "POST", subscribe, with("Accept", "text/html")},
		{"subscribe without framework_info", "POST", `{"type":"SUBSCRIBE"}`, with()},
		{"decline, never subscribed", "POST", `{"type":"DECLINE","framework_id":{"value":"x"},"decline":{"offer_ids":[]}}`, with("Mesos-Stream-Id", "x")},
		{"GET", "GET", "", nil},
		{"no Mesos-Stream-Id", "POST", `{"type":"REVIVE",` + id + `}`, with()},
		{"wrong Mesos-Stream-Id", "POST", `{"type":"REVIVE",` + id + `}`, with("Mesos-Stream-Id", "abc")},
		{"missing framework_id", "POST", `{"type":"REVIVE"}`, inStream},
		{"accept without accept message", "POST", `{"type":"ACCEPT",` + id + `}`, inStream},
		{"acknowledge uuid too short", "POST", `{"type":"ACKNOWLEDGE",` + id + `,"acknowledge":{"agent_id":{"value":"a"},"task_id":{"value":"t"},"uuid":"YWJj"}}`, inStream},
		{"framework_id differs from framework_info.id", "POST", `{"type":"SUBSCRIBE",` + id + `,"subscribe":{"framework_info":{"user":"root","name":"x","id":{"value":"other"}}}}`, with()},
	} {
		s.same("refused", call.situation, s.do(call.method, s.scheduler(), call.body, call.headers))
	}
}

func replayCommands(t *testing.T, r *recordings) {
	s := stage{newMachine(t, master.Options{}), r}
	f := s.subscribe("recorder", "")
	s.same("subscribe", "response headers", f.response)
	first := f.next()
	f.id = field(first, "subscribed", "framework_id", "value").(string)
	s.same("subscribe", "first event", object{"event": first})
	s.refused(f)
	offer := f.offer(large)
	s.same("offers", "offers event", object{"event": object{"type": "OFFERS", "offers": object{"offers": []any{offer}}}})
	agentID := offer["agent_id"]

	f.call("DECLINE", object{"offer_ids": []any{object{"value": "no-such-offer"}}})
	s.same("accepted", "decline unknown offer", f.call("DECLINE", object{"offer_ids": []any{object{"value": "no-such-offer"}}}))
	s.same("accepted", "kill unknown task", f.call("KILL", object{"task_id": object{"value": "never-was"}}))
	s.same("updates", "after kill of an unknown task", object{"event": f.next()})
	unknown := func(id string, agent any) object {
		task := object{"task_id": object{"value": id}}
		if agent != nil {
			task["agent_id"] = agent
		}
		return task
	}
	s.same("accepted", "reconcile unknown task", f.call("RECONCILE", object{"tasks": []any{
		unknown("never-was", agentID), unknown("elsewhere", object{"value": "no-such-agent"}), unknown("agentless", nil)}}))
	s.same("updates", "reconcile: unknown tasks", events(f.events(3)))
	s.same("accepted", "acknowledge bogus", f.call("ACKNOWLEDGE", object{"agent_id": agentID, "task_id": object{"value": "never-was"}, "uuid": newUUID()}))

	s.same("accepted", "accept with a command task", s.asRecorded(f, "accepted", "accept with a command task", offer))
	s.same("updates", "command task that succeeds", events(f.of("cmd-1", 3)))
	s.same("offers", "offer after use", object{"offer": f.offer(small)})
	f.launch(f.offer(large), commandTask("cmd-2", "exit 7"))
	s.same("updates", "command task that exits 7", events(f.of("cmd-2", 3)))
	f.launch(f.offer(large), commandTask("cmd-3", "exec sleep 600"))
	f.of("cmd-3", 2)
	s.same("accepted", "kill a running task", f.call("KILL", object{"task_id": object{"value": "cmd-3"}, "agent_id": agentID}))
	s.same("updates", "command task killed", events(f.of("cmd-3", 1)))

	f = s.rejected(f, agentID)
	s.survivor(f, agentID)
}

// asRecorded sends a recorded ACCEPT, with ids and paths of now.
func (s stage) asRecorded(f *recorder, file, situation string, offer object) object {
	s.t.Helper()
	recorded := s.r.get(s.t, file, situation)
	then := field(recorded, "request", "accept", "offer_ids").([]any)[0].(object)["value"].(string)
	framework := field(recorded, "request", "framework_id", "value").(string)
	now := strings.NewReplacer(then, field(offer, "id", "value").(string), framework, f.id,
		framework[:36]+"-S0", field(offer, "agent_id", "value").(string),
		"/usr/bin/python3 REC_DIR/ex.py", s.program, "LOG_DIR", filepath.Join(s.dir, "logs")).Replace(inJSON(s.t, recorded["request"]))
	return s.do(http.MethodPost, s.scheduler(), now, map[string]string{"Content-Type": "application/json", "Mesos-Stream-Id": f.stream})
}

// rejected replays launches that the master or the agent rejects. It goes on in a new subscription.
func (s stage) rejected(f *recorder, agentID any) *recorder {
	event := func(situation string, offer, task object) {
		s.t.Helper()
		f.launch(offer, task)
		got := object{"event": f.next()}
		if want := s.r.get(s.t, "updates", situation); len(want) == 2 {
			for _, later := range f.all() {
				got["rescind"] = later
			}
			if got["rescind"] == nil {
				got["rescind"] = nil
			}
		}
		s.same("updates", situation, got)
	}
	gone := commandTask("bad-offer", "true")
	gone["agent_id"] = agentID
	event("launch on an unknown offer", object{"id": object{"value": "no-such-offer"}, "agent_id": agentID}, gone)
	s.same("accepted", "accept unknown offer", f.call("ACCEPT", object{"offer_ids": []any{object{"value": "no-such-offer"}}, "operations": []any{}}))
	big := commandTask("too-big", "true")
	big["resources"] = someResources(10000)
	event("task larger than its offer", f.offer(small), big)
	elsewhere := commandTask("wrong-agent", "true")
	elsewhere["agent_id"] = object{"value": "no-such-agent"}
	event("task for another agent than the offer's", f.offer(large), elsewhere)

	f.quiet = true
	f.launch(f.offer(large), commandTask("dup", "exec sleep 600"), commandTask("dup", "exec sleep 600"))
	s.same("updates", "two tasks with one id", events(f.exactly(2)))
	f.accepted("KILL", object{"task_id": object{"value": "dup"}})
	f = s.drain(f, "dup")

	event("task without command or executor", f.offer(large), bareTask("no-cmd"))
	event("task id with slashes", f.offer(large), commandTask("bad/../id", "true"))
	zero := commandTask("zero", "true")
	zero["resources"] = someResources(0.0001)
	event("cpus 0.0001", f.offer(large), zero)
	fetch := commandTask("uri-1", "true")
	fetch["command"].(object)["uris"] = []any{object{"value": "file:///no/such/file"}}
	f.launch(f.offer(large), fetch)
	s.same("updates", "fetch that fails", events(f.of("uri-1", 1)))
	return f
}

// drain acknowledges what is left of a task that was killed, until its end. The first
// update, which was not acknowledged, comes again only with the next subscription.
func (s stage) drain(f *recorder, task string) *recorder {
	s.t.Helper()
	f = s.subscribed("recorder", f.id)
	for field(f.of(task, 1)[0], "update", "status", "state") != "TASK_KILLED" {
	}
	return f
}

// survivor replays a second subscriber, and the end of the framework.
func (s stage) survivor(f *recorder, agentID any) {
	old := f
	old.quiet = true
	f.launch(f.offer(large), commandTask("survivor", "exec sleep 600"))
	starting := old.next()
	f = s.subscribe("recorder", old.id)
	f.quiet = true
	s.same("failover", "second subscriber: response", object{"status": f.response["status"], "headers": f.response["headers"], "first": f.next()})
	last := old.next()
	s.same("failover", "old stream gets", object{"events": []any{starting, last}, "closed": s.ends(old)})
	old.id = f.id
	s.same("failover", "call on the old stream id", old.call("REVIVE", nil))
	again := f.next()
	f.quiet = false
	f.acknowledge(field(again, "update", "status").(object))
	second := f.next()
	s.same("failover", "unacknowledged updates come again", events([]any{again, second}))
	if field(again, "update", "status", "uuid") != field(starting, "update", "status", "uuid") {
		s.t.Error("an update came again with another uuid")
	}

	task := object{"task_id": object{"value": "survivor"}, "agent_id": agentID}
	s.same("accepted", "reconcile explicit, known", f.call("RECONCILE", object{"tasks": []any{task}}))
	s.same("updates", "reconcile: known task", object{"event": f.next()})
	s.same("accepted", "reconcile implicit", f.call("RECONCILE", object{"tasks": []any{}}))
	s.same("updates", "reconcile: implicit", object{"event": f.next()})
	s.same("accepted", "suppress", f.call("SUPPRESS", nil))
	s.same("accepted", "revive", f.call("REVIVE", nil))

	stranger := s.subscribe("recorder", "no-such-framework")
	s.same("failover", "subscribe with an unknown framework id", object{
		"status": stranger.response["status"], "headers": stranger.response["headers"], "events": stranger.exactly(1), "closed": stranger.end()})
	stranger.accepted("TEARDOWN", nil)

	f.accepted("KILL", task)
	killed := f.next()
	s.same("accepted", "teardown", f.call("TEARDOWN", nil))
	s.same("failover", "stream after teardown", object{"events": []any{killed}, "closed": s.ends(f)})
	f = s.subscribe("recorder", f.id)
	refused := f.next()
	s.same("failover", "subscribe with a torn-down id", object{"status": f.response["status"], "events": []any{refused}, "closed": s.ends(f)})

	// The recording shows the first heartbeat right after SUBSCRIBED.
	began := time.Now()
	f = s.subscribe("recorder", "")
	f.arrives("SUBSCRIBED")
	beat := f.arrives("HEARTBEAT")
	s.same("subscribe", "heartbeat", object{"event": beat, "at": []any{time.Since(began).Seconds()}})
}

// ends waits for the end of a stream and says how it came.
func (s stage) ends(f *recorder) string {
	s.t.Helper()
	select {
	case <-f.ended:
	case <-time.After(deadline):
		s.t.Fatal("the stream has not ended")
	}
	return f.closed
}

func (s stage) files(f *recorder, agentID string) {
	below := "/frameworks/" + f.id + "/executors/ex3/runs/latest"
	for situation := range s.r.files["files.json"] {
		what, where, _ := strings.Cut(situation, " ")
		sandbox := below
		if strings.Contains(where, "WORK_DIR") {
			sandbox = filepath.Join(s.dir, "work", "slaves", agentID) + below
		}
		query := url.Values{"path": {sandbox}}
		path := "browse"
		if what == "read" {
			path = "read"
			query = url.Values{"path": {sandbox + "/stdout"}, "offset": {"0"}, "length": {"100"}}
			switch where {
			case "missing":
				query.Set("path", sandbox+"/no-such-file")
			case "offset -1 (size)":
				query = url.Values{"path": {sandbox + "/stdout"}, "offset": {"-1"}}
			}
		}
		got := s.do(http.MethodGet, "http://"+s.agentAt.String()+"/files/"+path+"?"+query.Encode(), "", nil)
		if where == "missing" {
			delete(got, "headers") // not recorded
		}
		s.same("files", situation, got)
	}
}
