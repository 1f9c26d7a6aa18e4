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

// Answer is what the server answered.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Try sends a request; an error means that no whole answer came.
func (m *Machine) Try(method, path, body string, headers ...string) (Answer, error) {
	url := m.url.Load()
	if url == nil {
		return Answer{}, fmt.Errorf("%s %s: no server runs", method, path)
	}
	return send(m.client, method, *url+path, body, headers)
}

// Async sends a request whose answer may never come; the channel closes when it has ended.
func (m *Machine) Async(method, path string, headers ...string) <-chan struct{} {
	url, over := m.server.url+path, make(chan struct{})
	go func() {
		defer close(over)
		_, _ = send(m.client, method, url, "", headers) // it may fail, that is the point
	}()
	return over
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

// Call sends a request and gives the answer, whatever its status.
func (m *Machine) Call(method, path, body string, headers ...string) Answer {
	m.Helper()
	a, err := m.Try(method, path, body, headers...)
	if err != nil {
		m.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// OK sends a request that is to be answered with 200 and gives the answer's body.
func (m *Machine) OK(method, path, body string, headers ...string) string {
	m.Helper()
	a := m.Call(method, path, body, headers...)
	if a.Status != http.StatusOK {
		m.Fatalf("%s %s %.300s: %d %s", method, path, body, a.Status, a.Body)
	}
	return a.Body
}

// Get reads the answer of a path into v. It asks again, as the client does, while the server says that it can't answer
// now: its disk keeps it waiting, or the lead changes.
func (m *Machine) Get(path string, v any) {
	m.Helper()
	var a Answer
	m.Until("GET "+path+" has an answer", func() string {
		if a = m.Call("GET", path, ""); a.Status == http.StatusServiceUnavailable &&
			!strings.Contains(a.Body, `"no_history"`) {
			return a.Body
		}
		return ""
	})
	if a.Status != http.StatusOK {
		m.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	m.decode(a.Body, v)
}

func (m *Machine) decode(text string, v any) {
	m.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		m.Fatalf("%v in %s", err, text)
	}
}

// Refusal is the form of all errors.
type Refusal struct {
	Code    string
	Message string
	Fields  []struct{ Field, Value, Message string }
}

// Refused sends a request that is to be refused with a status and a code.
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

// Doc is a document's fields.
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

// App publishes an app: a package of scripts by name, served as /NAME.tar unless it is nil, with
// fields that differ from a small default.
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

// Job registers a job of one small shard, on trigger only, with fields that differ.
// Its env names the ledger.
func (m *Machine) Job(name, app string, fields Doc) {
	m.Helper()
	m.OK("POST", "/api/job/register", m.JobText(name, app, fields))
}

// JobText is the document that Job sends.
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

// Trigger asks for a run of a job and gives its execution's id.
func (m *Machine) Trigger(job string) string {
	m.Helper()
	var said struct{ ExecutionID string }
	m.decode(m.OK("POST", "/api/job/"+job+"/trigger", ""), &said)
	if said.ExecutionID == "" {
		m.Fatalf("trigger of %s gave no execution", job)
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

// Over reports whether the execution has ended.
func (e Execution) Over() bool { return e.State != "WAITING" && e.State != "RUNNING" }

// Execution reads an execution.
func (m *Machine) Execution(id string) Execution {
	m.Helper()
	var e Execution
	m.Get("/api/execution/"+id, &e)
	return e
}

// Await waits until an execution has one of some states and gives it as it is then.
func (m *Machine) Await(id string, states ...string) Execution {
	m.Helper()
	var e Execution
	m.Until("execution "+id+" is "+strings.Join(states, " or "), func() string {
		e = m.Execution(id)
		if slices.Contains(states, e.State) {
			return ""
		}
		if e.Over() {
			m.Fatalf("execution %s is %s: %+v, want %v", id, e.State, e, states)
		}
		return fmt.Sprintf("it is %+v", e)
	})
	return e
}

// AwaitShards waits until all shards of an execution have a state.
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

// Run triggers a job and waits for its end in one of some states.
func (m *Machine) Run(job string, states ...string) Execution {
	m.Helper()
	return m.Await(m.Trigger(job), states...)
}

// Explanation is what a job does and why.
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

// Explain reads what a job does and why.
func (m *Machine) Explain(job string) Explanation {
	m.Helper()
	var x Explanation
	m.Get("/api/job/"+job+"/explain", &x)
	return x
}

// Logs reads what a task wrote so far.
func (m *Machine) Logs(task, query string) string {
	m.Helper()
	return m.OK("GET", "/api/task/"+task+"/logs?"+query, "")
}

// Stream opens an answer that comes bit by bit; the caller closes it.
func (m *Machine) Stream(path string) io.ReadCloser {
	m.Helper()
	resp, err := m.client.Get(m.server.url + path)
	if err != nil {
		m.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // the status is what counts
		m.Fatalf("GET %s: %s", path, resp.Status)
	}
	return resp.Body
}

// Metric is the value of a series of /metrics, by its name with labels.
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
