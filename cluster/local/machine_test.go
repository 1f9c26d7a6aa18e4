package local

import (
	"context"
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
