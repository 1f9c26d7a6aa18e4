package system

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer is a response of the server.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Try sends a request. An error means that no complete response arrived.
func (m *Machine) Try(method, path, body string, headers ...string) (Answer, error) {
	url := m.url.Load()
	if url == nil {
		return Answer{}, fmt.Errorf("%s %s: no server runs", method, path)
	}
	return send(m.client, method, *url+path, body, headers)
}

// Async sends a request that may never be answered. The channel is closed when the request has ended, with or without
// an error.
func (m *Machine) Async(method, path string, headers ...string) <-chan struct{} {
	url, ended := m.server.url+path, make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = send(m.client, method, url, "", headers)
	}()
	return ended
}

func send(client *http.Client, method, url, body string, headers []string) (Answer, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, string(text), resp.Header}, err
}

// Call sends a request and returns the response with any status.
func (m *Machine) Call(method, path, body string, headers ...string) Answer {
	m.Helper()
	a, err := m.Try(method, path, body, headers...)
	if err != nil {
		m.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// OK sends a request that must be answered with 200, and returns the body.
func (m *Machine) OK(method, path, body string, headers ...string) string {
	m.Helper()
	a := m.Call(method, path, body, headers...)
	if a.Status != http.StatusOK {
		m.Fatalf("%s %s %.300s: %d %s", method, path, body, a.Status, a.Body)
	}
	return a.Body
}

// Get decodes the response of a path into v. Like package client, it repeats the request while the server cannot
// answer because its disk is slow or the leader changes.
func (m *Machine) Get(path string, v any) {
	m.Helper()
	a := m.answer(path)
	if a.Status != http.StatusOK {
		m.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	m.decode(a.Body, v)
}

// answer returns the response of a path. It repeats the request while the status is 503, unless the reason is that
// servers without a database have no history.
func (m *Machine) answer(path string) (a Answer) {
	m.Helper()
	m.Until("GET "+path+" has an answer", func() string {
		if a = m.Call("GET", path, ""); a.Status == http.StatusServiceUnavailable &&
			!strings.Contains(a.Body, `"no_history"`) {
			return a.Body
		}
		return ""
	})
	return a
}

func (m *Machine) decode(text string, v any) {
	m.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		m.Fatalf("%v in %s", err, text)
	}
}

// Refusal is the format of all error responses.
type Refusal struct {
	Code    string
	Message string
	Fields  []struct{ Field, Value, Message string }
}

// Refused sends a request that must be rejected with this status and code.
func (m *Machine) Refused(status int, code, method, path, body string, headers ...string) Refusal {
	m.Helper()
	a := m.Call(method, path, body, headers...)
	var said struct{ Error Refusal }
	if a.Status != status {
		m.Errorf("%s %s %.300s: %d %s, want %d %s", method, path, body, a.Status, a.Body, status, code)
		return said.Error
	}
	m.decode(a.Body, &said)
	if said.Error.Code != code || said.Error.Message == "" {
		m.Errorf("%s %s %.300s: %d %s, want code %s and a message", method, path, body, a.Status, a.Body, code)
	}
	return said.Error
}

// Doc contains the fields of a document.
type Doc map[string]any

func (d Doc) with(more Doc) Doc {
	all := maps.Clone(d)
	maps.Copy(all, more)
	return all
}

func (m *Machine) text(d Doc) string {
	m.Helper()
	b, err := json.Marshal(d)
	if err != nil {
		m.Fatal(err)
	}
	return string(b)
}

// App registers an app and serves a package with its scripts as /NAME.tar. With nil scripts, the caller serves the
// package. fields override the defaults.
func (m *Machine) App(name string, scripts Files, fields Doc) {
	m.Helper()
	if scripts != nil {
		m.Packages.Serve("/"+name+".tar", Tar(m, "", scripts))
	}
	m.OK("POST", "/api/app", m.text(Doc{
		"appName": name, "appURL": m.Packages.URL("/" + name + ".tar"), "bootstrapScript": "bin/start.sh",
		"cpuCount": 0.01, "memoryMB": 32,
	}.with(fields)))
}

// Job registers a job of one small shard without a cron. fields override the defaults. The job's env always contains
// the path of the ledger.
func (m *Machine) Job(name, app string, fields Doc) {
	m.Helper()
	m.OK("POST", "/api/job/register", m.JobText(name, app, fields))
}

// JobText returns the document that Job sends.
func (m *Machine) JobText(name, app string, fields Doc) string {
	m.Helper()
	doc := Doc{
		"jobName": name, "appName": app, "jobExecutionType": "TRANSIENT", "shardingTotalCount": 1, "cpuCount": 0.01,
		"memoryMB": 1,
		"env":      map[string]string{"LEDGER": m.LedgerPath},
	}.with(fields)
	if env, ok := fields["env"].(map[string]string); ok {
		env = maps.Clone(env)
		env["LEDGER"] = m.LedgerPath
		doc["env"] = env
	}
	return m.text(doc)
}

// Update changes some fields of a job.
func (m *Machine) Update(name string, fields Doc) {
	m.Helper()
	m.OK("PUT", "/api/job/update", m.text(Doc{"jobName": name}.with(fields)))
}

// Trigger triggers a run of a job, and returns the id of the execution.
func (m *Machine) Trigger(job string) string {
	m.Helper()
	var said struct{ ExecutionID string }
	m.decode(m.OK("POST", "/api/job/"+job+"/trigger", ""), &said)
	if said.ExecutionID == "" {
		m.Fatalf("the answer to a trigger of %s names no execution", job)
	}
	return said.ExecutionID
}

// Execution is one run of a job.
type Execution struct {
	ExecutionID, JobName, Source, State, Reason string
	FireTime                                    time.Time
	Shards                                      []Shard
}

// Shard is one shard of an execution.
type Shard struct {
	Item, Attempt                      int
	State, Agent, TaskID, FailureCause string
	StartTime, CompleteTime            *time.Time
	ExitStatus                         *int
	Daemon                             *ShardRuns
	Earlier                            []struct{ TaskID string }
}

// ShardRuns are the runs of a daemon's shard.
type ShardRuns struct {
	NextFireTime          *time.Time
	Running, LastRun      *ShardRun
	Runs, Failed, Skipped int64
}

// ShardRun is one run of a daemon's shard.
type ShardRun struct {
	FireTime                    time.Time
	Source, State, FailureCause string
	Attempt                     int
	DurationMillis              int64
	ExitStatus                  *int
}

// HasEnded reports whether the execution has ended.
func (e Execution) HasEnded() bool { return e.State != "WAITING" && e.State != "RUNNING" }

// Execution reads an execution.
func (m *Machine) Execution(id string) Execution {
	m.Helper()
	var e Execution
	m.Get("/api/execution/"+id, &e)
	return e
}

// FindExecution is Execution; it returns false if the servers have forgotten the execution.
func (m *Machine) FindExecution(id string) (e Execution, found bool) {
	m.Helper()
	a := m.answer("/api/execution/" + id)
	if a.Status == http.StatusNotFound {
		return e, false
	}
	if a.Status != http.StatusOK {
		m.Fatalf("GET /api/execution/%s: %d %s", id, a.Status, a.Body)
	}
	m.decode(a.Body, &e)
	return e, true
}

// Await waits until an execution is in one of these states, and returns it.
func (m *Machine) Await(id string, states ...string) Execution {
	m.Helper()
	var e Execution
	m.Until("execution "+id+" is "+strings.Join(states, " or "), func() string {
		e = m.Execution(id)
		if slices.Contains(states, e.State) {
			return ""
		}
		if e.HasEnded() {
			m.Fatalf("execution %s is %s: %+v, want %v", id, e.State, e, states)
		}
		return fmt.Sprintf("it is %+v", e)
	})
	return e
}

// AwaitShards waits until all shards of an execution are in a state.
func (m *Machine) AwaitShards(id, state string) Execution {
	m.Helper()
	var e Execution
	m.Until("the shards of "+id+" are "+state, func() string {
		e = m.Execution(id)
		for _, s := range e.Shards {
			if s.State != state {
				return fmt.Sprintf("it is %+v", e)
			}
		}
		if len(e.Shards) == 0 {
			return "there are none"
		}
		return ""
	})
	return e
}

// Run triggers a job and waits until the run ends in one of these states.
func (m *Machine) Run(job string, states ...string) Execution {
	m.Helper()
	return m.Await(m.Trigger(job), states...)
}

// Explanation is the answer of explain about a job.
type Explanation struct {
	JobName, State string
	Notes          []string
	NextFires      []time.Time
	Waiting        []struct {
		ExecutionID, Reason string
		Item                int
		Since               time.Time
	}
	Running []struct {
		ExecutionID, TaskID, State, Agent string
		Item                              int
	}
	DroppedFires, MissedFires *struct {
		Count  int64
		Reason string
	}
}

// Explain reads the explanation of a job.
func (m *Machine) Explain(job string) Explanation {
	m.Helper()
	var x Explanation
	m.Get("/api/job/"+job+"/explain", &x)
	return x
}

// Logs returns the output that a task has written so far.
func (m *Machine) Logs(task, query string) string {
	m.Helper()
	return m.OK("GET", "/api/task/"+task+"/logs?"+query, "")
}

// Stream opens a streaming response, which the caller must close.
func (m *Machine) Stream(path string) io.ReadCloser {
	m.Helper()
	resp, err := m.client.Get(m.server.url + path)
	if err != nil {
		m.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // only the status matters
		m.Fatalf("GET %s: %s", path, resp.Status)
	}
	return resp.Body
}

// Metric returns the value of a series in /metrics. series is its name with its labels.
func (m *Machine) Metric(series string) string {
	m.Helper()
	for line := range strings.Lines(m.OK("GET", "/metrics", "")) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	m.Fatalf("there is no series %s", series)
	return ""
}
