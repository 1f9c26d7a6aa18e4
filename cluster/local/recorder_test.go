package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/recordio"
)

// recorder is a framework that speaks plain JSON, as the recorder did.
type recorder struct {
	m        *machine
	id       string
	stream   string
	response object // of SUBSCRIBE, without events
	cancel   context.CancelFunc
	arriving chan object
	ended    chan struct{}
	closed   string // once ended: how, in Python

	// quiet recorders acknowledge nothing.
	quiet   bool
	waiting []any // events that are neither offers nor heartbeats
	offers  []object
}

func (m *machine) frameworkInfo(name, id string) object {
	info := object{"user": "root", "name": name, "failover_timeout": 604800.0, "checkpoint": true,
		"capabilities": []any{object{"type": "PARTITION_AWARE"}}}
	if id != "" {
		info["id"] = object{"value": id}
	}
	return info
}

func (m *machine) scheduler() string { return "http://" + m.masterAt.String() + "/api/v1/scheduler" }

// subscribe opens a stream. Its first event is still to be read.
func (m *machine) subscribe(name, id string) *recorder {
	m.t.Helper()
	call := object{"type": "SUBSCRIBE", "subscribe": object{"framework_info": m.frameworkInfo(name, id)}}
	if id != "" {
		call["framework_id"] = object{"value": id}
	}
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.scheduler(), strings.NewReader(inJSON(m.t, call)))
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := m.client.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	r := &recorder{
		m: m, id: id, stream: response.Header.Get("Mesos-Stream-Id"), cancel: cancel,
		response: object{"status": response.StatusCode, "headers": headersOf(response)},
		arriving: make(chan object, 1000), ended: make(chan struct{}),
	}
	go func() {
		defer close(r.ended)
		frames := recordio.NewReader(response.Body)
		for {
			frame, err := frames.ReadFrame()
			var event object
			if err == nil {
				err = json.Unmarshal(frame, &event)
			}
			if err != nil {
				r.closed = inPython(err)
				return
			}
			r.arriving <- event
		}
	}()
	m.t.Cleanup(func() {
		cancel()
		<-r.ended
		response.Body.Close()
	})
	return r
}

// subscribed reads the first event too.
func (m *machine) subscribed(name, id string) *recorder {
	m.t.Helper()
	r := m.subscribe(name, id)
	r.id = field(r.next(), "subscribed", "framework_id", "value").(string)
	return r
}

// read sorts the next event in, or returns false when none came in time.
func (r *recorder) read(within time.Duration) bool {
	var event object
	select {
	case event = <-r.arriving:
	default:
		select {
		case event = <-r.arriving:
		case <-r.ended:
			select {
			case event = <-r.arriving:
			default:
				return false
			}
		case <-time.After(within):
			return false
		}
	}
	switch event["type"] {
	case "HEARTBEAT":
	case "OFFERS":
		for _, offer := range field(event, "offers", "offers").([]any) {
			r.offers = append(r.offers, offer.(object))
		}
	default:
		r.waiting = append(r.waiting, any(event))
		if status, is := field(event, "update", "status").(object); is && status["uuid"] != nil && !r.quiet {
			r.acknowledge(status)
		}
	}
	return true
}

func (r *recorder) acknowledge(status object) {
	r.m.t.Helper()
	r.accepted("ACKNOWLEDGE", object{"agent_id": status["agent_id"], "task_id": status["task_id"], "uuid": status["uuid"]})
}

// events are the next n, without offers and heartbeats.
func (r *recorder) events(n int) []any {
	r.m.t.Helper()
	for len(r.waiting) < n {
		if !r.read(deadline) {
			r.m.t.Fatalf("only %d of %d events: %s; stream %q", len(r.waiting), n, inJSON(r.m.t, r.waiting), r.closed)
		}
	}
	events := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	return events
}

func (r *recorder) next() any { r.m.t.Helper(); return r.events(1)[0] }

// all are the events that come until it is silent.
func (r *recorder) all() []any {
	for r.read(silence) {
	}
	events := append([]any{}, r.waiting...)
	r.waiting = nil
	return events
}

// arrives is the very next event, whatever it is, which has to be of that type.
func (r *recorder) arrives(kind string) object {
	r.m.t.Helper()
	select {
	case event := <-r.arriving:
		if event["type"] != kind {
			r.m.t.Fatalf("event %s, expected %s", inJSON(r.m.t, event), kind)
		}
		return event
	case <-time.After(deadline):
		r.m.t.Fatalf("no %s", kind)
	}
	return nil
}

// end is how the stream has ended, or nil while it goes on.
func (r *recorder) end() any {
	select {
	case <-r.ended:
		return r.closed
	default:
		return nil
	}
}

// exactly are the next n events, and any that come after them until it is silent.
func (r *recorder) exactly(n int) []any {
	r.m.t.Helper()
	return append(append([]any{}, r.events(n)...), r.all()...)
}

// of are the next n updates of a task; others keep waiting.
func (r *recorder) of(task string, n int) []any {
	r.m.t.Helper()
	var updates []any
	for i := 0; len(updates) < n; {
		for i == len(r.waiting) {
			if !r.read(deadline) {
				r.m.t.Fatalf("only %d of %d updates of %s: %s", len(updates), n, task, inJSON(r.m.t, r.waiting))
			}
		}
		if field(r.waiting[i], "update", "status", "task_id", "value") == task {
			updates = append(updates, r.waiting[i])
			r.waiting = append(r.waiting[:i:i], r.waiting[i+1:]...)
			continue
		}
		i++
	}
	return updates
}

// offer takes the next one that is fit.
func (r *recorder) offer(fit func(cpus float64) bool) object {
	r.m.t.Helper()
	for {
		for i, offer := range r.offers {
			for _, resource := range offer["resources"].([]any) {
				if field(resource, "name") == "cpus" && fit(field(resource, "scalar", "value").(float64)) {
					r.offers = append(r.offers[:i:i], r.offers[i+1:]...)
					return offer
				}
			}
		}
		if !r.read(deadline) {
			r.m.t.Fatalf("no such offer; waiting: %s", inJSON(r.m.t, r.waiting))
		}
	}
}

func large(cpus float64) bool { return cpus >= 1 }
func small(cpus float64) bool { return cpus < 0.15 }

func (r *recorder) call(kind string, body any) object {
	r.m.t.Helper()
	return r.m.do(http.MethodPost, r.m.scheduler(), inJSON(r.m.t, r.callBody(kind, body)),
		map[string]string{"Content-Type": "application/json", "Mesos-Stream-Id": r.stream})
}

func (r *recorder) callBody(kind string, body any) object {
	call := object{"type": kind, "framework_id": object{"value": r.id}}
	if body != nil {
		call[strings.ToLower(kind)] = body
	}
	return call
}

// accepted is a call that has to be answered with 202.
func (r *recorder) accepted(kind string, body any) object {
	r.m.t.Helper()
	answer := r.call(kind, body)
	if answer["status"] != http.StatusAccepted {
		r.m.t.Fatalf("%s: %v", kind, answer)
	}
	return answer
}

// launch accepts an offer for tasks, in the form of the recorded requests.
func (r *recorder) launch(offer object, tasks ...any) object {
	r.m.t.Helper()
	for _, task := range tasks {
		if task.(object)["agent_id"] == nil {
			task.(object)["agent_id"] = offer["agent_id"]
		}
		if executor, is := task.(object)["executor"].(object); is {
			executor["framework_id"] = object{"value": r.id}
		}
	}
	return r.accepted("ACCEPT", object{
		"offer_ids":  []any{offer["id"]},
		"operations": []any{object{"type": "LAUNCH", "launch": object{"task_infos": tasks}}},
		"filters":    object{"refuse_seconds": 0.0},
	})
}

func someResources(cpus float64) []any {
	return []any{object{"name": "cpus", "type": "SCALAR", "scalar": object{"value": cpus}},
		object{"name": "mem", "type": "SCALAR", "scalar": object{"value": 32}}}
}

func bareTask(id string) object {
	return object{"name": id, "task_id": object{"value": id}, "resources": someResources(0.1)}
}

func commandTask(id, command string) object {
	task := bareTask(id)
	task["command"] = object{"shell": true, "value": command}
	return task
}

// customTask is one on the test executor, which obeys the task's data; see ex_test.go.
func (m *machine) customTask(id, executor, mode, data string) object {
	task := bareTask(id)
	task["executor"] = object{"type": "CUSTOM", "executor_id": object{"value": executor}, "name": executor, "resources": someResources(0.1),
		"command": object{"shell": true, "value": "exec " + m.program + " " + m.logOf(executor) + " " + mode}}
	task["data"] = []byte(data)
	return task
}

func (m *machine) logOf(executor string) string {
	return filepath.Join(m.dir, "logs", executor+".jsonl")
}

// log is what an executor wrote down, without times, once it has that many entries of a kind.
func (m *machine) log(executor, kind string, n int) object {
	m.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.After(deadline)
	for {
		content, err := os.ReadFile(m.logOf(executor))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			m.t.Fatal(err)
		}
		var entries []any
		found := 0
		for line := range bytes.Lines(content) {
			var entry object
			if err := json.Unmarshal(line, &entry); err != nil {
				break // half written
			}
			entries = append(entries, entry)
			if entry["kind"] == kind || field(entry, "event", "type") == kind {
				found++
			}
		}
		if found >= n {
			return object{"log": entries}
		}
		select {
		case <-look.C:
		case <-late:
			m.t.Fatalf("log of %s has %d of %d entries %q: %s", executor, found, n, kind, content)
		}
	}
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
