package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// silence is how long the replay waits for what must not come.
const silence = 150 * time.Millisecond

// machine is a cluster whose master and agent come and go one by one, as Mesos'
// processes do, each on its own address; the cable between them can be cut.
type machine struct {
	t       *testing.T
	dir     string
	program string // the executor
	client  *http.Client
	cable   *cable
	paths   *strings.Replacer
	options master.Options

	masterAt, agentAt netip.AddrPort
	killMaster        func()
	killAgent         func()
}

func newMachine(t *testing.T, options master.Options) *machine {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	m := &machine{
		t: t, dir: t.TempDir(), program: program, options: options,
		client: &http.Client{Transport: transport}, cable: &cable{},
		killMaster: func() {}, killAgent: func() {},
	}
	if err := os.Mkdir(filepath.Join(m.dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.paths = strings.NewReplacer(filepath.Join(m.dir, "work"), "WORK_DIR", filepath.Join(m.dir, "logs"), "LOG_DIR",
		program, "/usr/bin/python3 REC_DIR/ex.py")
	t.Cleanup(func() {
		m.endExecutors()
		m.killMaster()
		transport.CloseIdleConnections()
	})
	m.startMaster()
	m.startAgent()
	return m
}

// listenAgain binds an address, or, the first time, any.
func (m *machine) listenAgain(at *netip.AddrPort) net.Listener {
	m.t.Helper()
	address := "127.0.0.1:0"
	if at.IsValid() {
		address = at.String()
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		m.t.Fatal(err)
	}
	*at = netip.MustParseAddrPort(listener.Addr().String())
	return listener
}

// serve returns what ends it as kill -9 would: all connections break.
func (m *machine) serve(listener net.Listener, handler http.Handler) (kill func()) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: deadline}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	return func() {
		m.client.CloseIdleConnections()
		if err := server.Close(); err != nil {
			m.t.Error(err)
		}
		serving.Wait()
	}
}

func (m *machine) startMaster() {
	m.t.Helper()
	listener := m.listenAgain(&m.masterAt)
	m.options.Dir, m.options.Address, m.options.Logger = m.dir, m.masterAt, slog.New(slog.DiscardHandler)
	started, err := master.Open(m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	kill := m.serve(listener, started.Handler())
	m.cable.setMaster(started)
	m.killMaster = sync.OnceFunc(func() {
		m.cable.setMaster(nil)
		kill()
		if err := started.Close(); err != nil {
			m.t.Error(err)
		}
	})
}

func (m *machine) startAgent() {
	m.t.Helper()
	listener := m.listenAgain(&m.agentAt)
	started, err := agent.Start(m.t.Context(), agent.Options{
		DataDir: filepath.Join(m.dir, "agent"), WorkDir: filepath.Join(m.dir, "work"), Port: int(m.agentAt.Port()),
		CPUs: 8, MemMB: 8192,
	}, m.cable)
	if err != nil {
		m.t.Fatal(err)
	}
	kill := m.serve(listener, started.Handler())
	m.cable.setAgent(started)
	m.killAgent = sync.OnceFunc(func() {
		m.cable.setAgent(nil)
		kill()
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := started.Close(ctx); err != nil {
			m.t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(m.t.Context(), deadline)
	defer cancel()
	if err := started.Registered(ctx); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) endExecutors() {
	if a := m.cable.agent; a != nil {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := a.EndAll(ctx); err != nil {
			m.t.Error(err)
		}
	}
	m.killAgent()
}

// cable is between master and agent. While it is cut, what either says is lost.
type cable struct {
	mu     sync.Mutex
	cut    bool
	master *master.Master
	agent  *agent.Agent
}

func (c *cable) setMaster(m *master.Master) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.master = m
}

func (c *cable) setAgent(a *agent.Agent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent = a
}

func (c *cable) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

// found is what an agent does that looks for its master and finds a new one.
func (c *cable) found() { c.agent.Ping(false, func() {}) }

// up passes on what the agent says.
func (c *cable) up(say func(*master.Master)) {
	c.mu.Lock()
	to, cut := c.master, c.cut
	c.mu.Unlock()
	if to != nil && !cut {
		say(to)
	}
}

func (c *cable) Register(link master.AgentLink, still master.Recovered) (err error) {
	c.up(func(m *master.Master) { err = m.Register(&plug{link, c}, still) })
	return err
}

func (c *cable) Update(agentID string, u master.StatusUpdate) {
	c.up(func(m *master.Master) { m.Update(agentID, u) })
}

func (c *cable) ExecutorEnded(agentID, frameworkID, executorID string, status int) {
	c.up(func(m *master.Master) { m.ExecutorEnded(agentID, frameworkID, executorID, status) })
}

func (c *cable) Message(agentID, frameworkID, executorID string, data []byte) {
	c.up(func(m *master.Master) { m.Message(agentID, frameworkID, executorID, data) })
}

// plug is the agent's end, as the master sees it.
type plug struct {
	link  master.AgentLink
	cable *cable
}

func (p *plug) down(say func()) {
	p.cable.mu.Lock()
	cut := p.cable.cut
	p.cable.mu.Unlock()
	if !cut {
		say()
	}
}

func (p *plug) Info() mesos.AgentInfo { return p.link.Info() }
func (p *plug) RunTasks(f mesos.FrameworkInfo, tasks []mesos.TaskInfo) {
	p.down(func() { p.link.RunTasks(f, tasks) })
}
func (p *plug) KillTask(f, task string, policy *mesos.KillPolicy) {
	p.down(func() { p.link.KillTask(f, task, policy) })
}
func (p *plug) ShutdownExecutor(f, executor string) {
	p.down(func() { p.link.ShutdownExecutor(f, executor) })
}
func (p *plug) ShutdownFramework(f string) { p.down(func() { p.link.ShutdownFramework(f) }) }
func (p *plug) Message(f, executor string, data []byte) {
	p.down(func() { p.link.Message(f, executor, data) })
}
func (p *plug) Acknowledge(f, task string, uuid []byte) {
	p.down(func() { p.link.Acknowledge(f, task, uuid) })
}
func (p *plug) Subscribed(f mesos.FrameworkInfo) { p.down(func() { p.link.Subscribed(f) }) }
func (p *plug) Ping(connected bool, pong func()) {
	p.down(func() { p.link.Ping(connected, func() { p.down(pong) }) })
}

// do sends a request in plain HTTP and returns what the recorder wrote down of the answer.
func (m *machine) do(method, url, body string, headers map[string]string) object {
	m.t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return object{"error": inPython(err)}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	if length := response.Header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(content)) {
		m.t.Errorf("%s %s: Content-Length is %s, the body has %d bytes", method, url, length, len(content))
	}
	return object{"status": response.StatusCode, "headers": headersOf(response), "body": string(content)}
}

// headersOf are an answer's headers without the date.
func headersOf(response *http.Response) object {
	headers := object{}
	for name := range response.Header {
		if name != "Date" {
			headers[name] = response.Header.Get(name)
		}
	}
	for _, encoding := range response.TransferEncoding {
		headers["Transfer-Encoding"] = encoding
	}
	return headers
}

// inPython is what the recorder, a Python program, calls an error.
func inPython(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "ConnectionRefusedError(111, 'Connection refused')"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "IncompleteRead(0 bytes read)"
	case errors.Is(err, io.EOF):
		return "EOFError()"
	}
	return err.Error()
}

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
	for end := time.Now().Add(deadline); ; {
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
		if time.Now().After(end) {
			m.t.Fatalf("log of %s has %d of %d entries %q: %s", executor, found, n, kind, content)
		}
		time.Sleep(5 * time.Millisecond) // a file can't be waited for
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
