package local

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
)

// ex is the executor of the recordings, played by the test binary:
//
//	<test binary> <log> die-early|probe|run
//
// It writes down all that it sees. A task's data say what it does with it: run, finish
// (then it is over), double (two updates RUNNING), runfail, exit (the executor
// ends with 5); "nouuid" besides makes it try calls that are to be refused.
type ex struct {
	log    *json.Encoder
	mode   string
	broken error
	// What a new subscription has to name.
	tasks   []object
	updates []object
}

const exSuffix = ".jsonl"

// playedEx reports whether this process is an ex, and is it.
func playedEx() (code int, is bool) {
	if len(os.Args) != 3 || !strings.HasSuffix(os.Args[1], exSuffix) {
		return 0, false
	}
	file, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 100, true
	}
	x := &ex{log: json.NewEncoder(file), mode: os.Args[2]}
	code = x.run()
	if x.broken != nil {
		x.say("broken", object{"why": x.broken.Error()})
		return 101, true
	}
	x.say("exit", object{"code": code})
	return code, true
}

func (x *ex) say(kind string, of object) {
	entry := object{"t": float64(time.Now().UnixMilli()) / 1e3, "kind": kind}
	for name, value := range of {
		entry[name] = value
	}
	if err := x.log.Encode(entry); err != nil && x.broken == nil {
		x.broken = err
	}
}

func (x *ex) run() int {
	env := object{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "MESOS_") || strings.HasPrefix(name, "LIBPROCESS_") {
			env[name] = value
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = err.Error()
	}
	x.say("env", object{"env": env, "cwd": cwd, "argv": os.Args})
	if x.mode == "die-early" {
		return 3
	}
	if x.mode == "probe" {
		x.try("update before subscribe", x.call("UPDATE", object{"status": x.status("t1", "TASK_RUNNING")}))
		stranger := x.call("UPDATE", object{"status": x.status("t1", "TASK_RUNNING")})
		stranger["framework_id"] = object{"value": "no-such-framework"}
		x.try("unknown framework", stranger)
		stranger = x.call("UPDATE", object{"status": object{"task_id": object{"value": "t1"}, "state": "TASK_RUNNING",
			"source": "SOURCE_EXECUTOR", "uuid": newUUID()}})
		stranger["executor_id"] = object{"value": "no-such-executor"}
		x.try("unknown executor", stranger)
		x.try("no body", nil)
	}
	verb := "subscribed"
	attempt := time.NewTicker(20 * time.Millisecond) // rule X5
	defer attempt.Stop()
	for giveUp := time.Now().Add(deadline); time.Now().Before(giveUp); <-attempt.C {
		code, over, err := x.stream(verb)
		if over {
			return code
		}
		if err != nil {
			x.say("resubscribe failed", object{"why": inPython(err)})
		}
		verb = "resubscribed"
	}
	return 9
}

func (x *ex) call(kind string, body object) object {
	return object{"type": kind, strings.ToLower(kind): body,
		"framework_id": object{"value": os.Getenv("MESOS_FRAMEWORK_ID")}, "executor_id": object{"value": os.Getenv("MESOS_EXECUTOR_ID")}}
}

func (x *ex) send(call object) (*http.Response, error) {
	var body bytes.Buffer
	if call != nil {
		if err := json.NewEncoder(&body).Encode(call); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequest(http.MethodPost, "http://"+os.Getenv("MESOS_AGENT_ENDPOINT")+"/api/v1/executor", &body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if token := os.Getenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultClient.Do(request)
}

// answer sends a call and returns what came back.
func (x *ex) answer(call object) object {
	response, err := x.send(call)
	if err != nil {
		return object{"error": inPython(err)}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return object{"error": inPython(err)}
	}
	return object{"status": response.StatusCode, "headers": headersOf(response), "body": string(content)}
}

func (x *ex) try(name string, call object) {
	x.say("call", object{"name": name, "response": x.answer(call)})
}

func newUUID() string {
	id := uuid.New()
	return base64.StdEncoding.EncodeToString(id[:])
}

func (x *ex) status(task, state string) object {
	return object{"task_id": object{"value": task}, "state": state, "source": "SOURCE_EXECUTOR",
		"executor_id": object{"value": os.Getenv("MESOS_EXECUTOR_ID")}, "uuid": newUUID(), "timestamp": float64(time.Now().UnixMicro()) / 1e6}
}

func (x *ex) update(task, state string, more object) object {
	status := x.status(task, state)
	for name, value := range more {
		status[name] = value
	}
	x.updates = append(x.updates, object{"status": status})
	answer := x.answer(x.call("UPDATE", object{"status": status}))
	x.say("update", object{"request": object{"type": "UPDATE", "update": object{"status": status}}, "response": answer})
	return answer
}

// stream is one subscription, to its end.
func (x *ex) stream(verb string) (code int, over bool, err error) {
	response, err := x.send(x.call("SUBSCRIBE", object{"unacknowledged_tasks": x.tasks, "unacknowledged_updates": x.updates}))
	if err != nil {
		return 0, false, err
	}
	defer response.Body.Close()
	var body any
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		body = string(text)
	}
	x.say(verb, object{"status": response.StatusCode, "headers": headersOf(response), "body": body})
	if body != nil {
		return 4, true, nil
	}
	frames := recordio.NewReader(response.Body)
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			x.say("event", object{"event": object{"type": "__CLOSED__", "why": inPython(err), "at": 0}})
			return 0, false, nil
		}
		var event object
		if err := json.Unmarshal(frame, &event); err != nil {
			x.broken = err
			return 0, true, nil
		}
		x.say("event", object{"event": event})
		if code, over := x.handle(event); over {
			return code, true, nil
		}
	}
}

func (x *ex) handle(event object) (code int, over bool) {
	switch event["type"] {
	case "LAUNCH":
		return x.launch(field(event, "launch", "task").(object))
	case "KILL":
		x.update(field(event, "kill", "task_id", "value").(string), "TASK_KILLED", nil)
	case "SHUTDOWN":
		return 0, true
	case "ACKNOWLEDGED":
		of := event["acknowledged"].(object)
		x.tasks = without(x.tasks, func(t object) bool { return field(t, "task_id", "value") == field(of, "task_id", "value") })
		x.updates = without(x.updates, func(u object) bool { return field(u, "status", "uuid") == of["uuid"] })
	}
	return 0, false
}

func without(list []object, out func(object) bool) []object {
	kept := []object{}
	for _, item := range list {
		if !out(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func (x *ex) launch(task object) (code int, over bool) {
	id := field(task, "task_id", "value").(string)
	x.tasks = append(x.tasks, task)
	encoded, _ := task["data"].(string)
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		x.broken = err
		return 0, true
	}
	orders := strings.Fields(string(data))
	if len(orders) == 2 && orders[1] == "nouuid" {
		anonymous := x.status(id, "TASK_RUNNING")
		delete(anonymous, "uuid")
		x.try("update without uuid", x.call("UPDATE", object{"status": anonymous}))
		foreign := x.status(id, "TASK_RUNNING")
		foreign["source"] = "SOURCE_AGENT"
		x.try("update with SOURCE_AGENT", x.call("UPDATE", object{"status": foreign}))
		x.say("call", object{"name": "update for unknown task", "response": x.update("nobody", "TASK_RUNNING", nil)})
	}
	x.update(id, "TASK_RUNNING", object{"message": "BEGIN", "data": base64.StdEncoding.EncodeToString([]byte(`{"progress":0.1}`))})
	switch orders[0] {
	case "finish":
		x.update(id, "TASK_FINISHED", object{"message": "done"})
	case "double":
		x.update(id, "TASK_RUNNING", object{"message": "COMPLETE"})
	case "runfail":
		x.update(id, "TASK_FAILED", object{"message": "exit status 7", "reason": "REASON_COMMAND_EXECUTOR_FAILED"})
	case "exit":
		return 5, true
	}
	return 0, false
}
