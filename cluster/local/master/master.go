// Package master is the Mesos master of the local cluster. It serves the v1 scheduler API with the answers, texts and
// event order of Mesos 1.12.
//
//	framework ── POST /api/v1/scheduler ──▶ Master ── orders ──▶ agent
//	framework ◀── events of its stream ──── Master ◀── news ──── agent
//
// All state is in memory, guarded by one mutex. Nothing blocks while it is held, except the rare write of the
// registry: events wait in the queue of their subscription, and orders in the queue of their agent's session (package
// link). The registry is a small file with the state that must outlive the process: the frameworks, the removed
// frameworks, and the agents that are expected to register again. The agents know the tasks and executors, and report
// them when they register.
//
// The master pings the agents. An agent that does not answer is unreachable, with all its tasks, until it registers
// again. So is an agent in the registry that does not register again in time.
//
// As soon as an agent has free resources, all of them are offered to one framework, which is chosen at random from
// those whose filters allow it.
package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// Version is the version of Mesos that the master reports.
const Version = "1.12.0"

// DefaultHeartbeat is Mesos' default interval between HEARTBEAT events.
const DefaultHeartbeat = 15 * time.Second

// maxEvents limits the queued events of a subscriber; a slower subscriber is disconnected.
const maxEvents = 100_000

// Options configure a master.
type Options struct {
	// Dir is the folder of the registry file; it must exist.
	Dir string
	// Address is the IPv4 address at which the master's API is served.
	Address netip.AddrPort
	// Heartbeat is the interval of HEARTBEAT events; 0 means DefaultHeartbeat.
	Heartbeat time.Duration
	// Credentials, if not nil, are required of every framework. A framework's principal is then theirs.
	Credentials *apihttp.Credentials
	// AgentPingTimeout is how long an agent has to answer a ping, and the interval of pings. After MaxAgentPingTimeouts
	// unanswered pings in a row the agent is unreachable. 0 means Mesos' defaults.
	AgentPingTimeout     time.Duration
	MaxAgentPingTimeouts int
	// AgentReregisterTimeout is how long after the start an agent in the registry may take to register again before it
	// becomes unreachable; 0 means DefaultAgentReregisterTimeout.
	AgentReregisterTimeout time.Duration
	// InMemoryRegistry disables the registry file, as Mesos' registry "in_memory" does. Dir is then unused.
	InMemoryRegistry bool
	// HTTPS says that agents serve https; offers then contain https URLs.
	HTTPS bool
	// Logger is required.
	Logger *slog.Logger
}

// Master is the master of the local cluster. It implements link.Upstream. Its methods may be called concurrently.
type Master struct {
	opts     Options
	id       string
	log      *slog.Logger
	registry *registry

	wakeAllocator chan struct{}
	stop          context.CancelFunc
	background    sync.WaitGroup // the master's own goroutines

	mu         sync.Mutex
	closed     bool
	frameworks map[string]*framework
	agents     map[string]*agent
	offers     map[string]*offer
	// lost are the tasks of agents that registered with this master and then became unreachable.
	lost          map[string][]*task
	nextFramework int
	nextOffer     int
	nextTask      int
}

var _ link.Upstream = (*Master)(nil)

// Open reads the registry and starts a master with a new id. The caller must serve its Handler, and must call Close.
func Open(opts Options) (*Master, error) {
	opts.Heartbeat = cmp.Or(opts.Heartbeat, DefaultHeartbeat)
	opts.AgentPingTimeout = cmp.Or(opts.AgentPingTimeout, DefaultAgentPingTimeout)
	opts.MaxAgentPingTimeouts = cmp.Or(opts.MaxAgentPingTimeouts, DefaultMaxAgentPingTimeouts)
	opts.AgentReregisterTimeout = cmp.Or(opts.AgentReregisterTimeout, DefaultAgentReregisterTimeout)
	if !opts.Address.Addr().Is4() {
		return nil, fmt.Errorf("start the local master on %s: MasterInfo holds only IPv4 addresses", opts.Address)
	}
	path := ""
	if !opts.InMemoryRegistry {
		path = filepath.Join(opts.Dir, "master.json")
	}
	registry, err := openRegistry(path)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Master{
		opts:          opts,
		id:            uuid.NewString(),
		log:           opts.Logger,
		registry:      registry,
		wakeAllocator: make(chan struct{}, 1),
		stop:          stop,
		frameworks:    map[string]*framework{},
		agents:        map[string]*agent{},
		offers:        map[string]*offer{},
		lost:          map[string][]*task{},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, encoded := range registry.Frameworks {
		var info mesos.FrameworkInfo
		if err := info.Unmarshal(encoded); err != nil {
			stop()
			return nil, fmt.Errorf("read framework %s in %s: %w; move the file away to forget all frameworks", id,
				registry.path, err)
		}
		m.startExpiry(m.addFramework(info))
	}
	m.background.Go(func() { m.runAllocator(ctx) })
	m.background.Go(func() { m.watchAgents(ctx) })
	return m, nil
}

// Close ends all subscriptions and agents' sessions, and waits for the master's goroutines. Frameworks remain in the
// registry, and tasks remain on the agents. Later reports of agents are ignored.
func (m *Master) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.stop()
	for _, f := range m.frameworks {
		if f.stream != nil {
			f.stream.end()
			f.stream = nil
		}
		f.cancelExpiry()
	}
	for _, a := range m.agents {
		a.orders.Close()
	}
	m.mu.Unlock()
	m.background.Wait()
	return nil
}

// Handler serves the scheduler API, the implemented part of the operator API, and /health.
func (m *Master) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/master"} {
		mux.Handle("POST "+prefix+"/api/v1/scheduler",
			m.opts.Credentials.Guard(apihttp.RealmScheduler, http.HandlerFunc(m.serveScheduler)))
		mux.Handle("POST "+prefix+"/api/v1",
			m.opts.Credentials.Guard(apihttp.RealmOperator, http.HandlerFunc(m.serveOperator)))
		mux.HandleFunc("GET "+prefix+"/health",
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	}
	return mux
}

// errClosed rejects requests while the master closes.
var errClosed = errors.New("master is closing")

// framework is one framework. The master's mutex guards all fields.
type framework struct {
	id   string
	info mesos.FrameworkInfo
	// stream is nil while the framework is not subscribed.
	stream *subscription
	// expiry removes the framework when it fires. A stopped timer may still fire, so its function checks under the
	// master's mutex that it is still the current one.
	expiry     *time.Timer
	suppressed bool
	// filters are the framework's filters, by agent.
	filters map[string][]filter
	tasks   map[string]*task
	// executors are the running executors, by agent and executor id.
	executors map[string]map[string]*mesos.ExecutorInfo
}

// task is a task that its agent has, or that is on its way to the agent, until the end of the task is acknowledged.
type task struct {
	id, agentID string
	framework   *framework
	executor    *mesos.ExecutorInfo
	// resources are zero after they were given back.
	resources resources
	// reported is the state that the framework knows, latest the state that the agent knows.
	reported, latest mesos.TaskState
	// uuid is the UUID of the last update.
	uuid      []byte
	container *mesos.ContainerStatus
	// order is the launch order, for implicit reconciliation.
	order int
}

// agent is a registered agent, from its registration until it is unreachable or gone.
type agent struct {
	id   string
	info mesos.AgentInfo
	// orders is the queue of the agent's session. The session has ended when the queue is closed.
	orders *queue.Queue[link.Order]
	// total is all resources of the agent, used what tasks, executors and offers hold.
	total, used resources
	// unanswered counts the pings since the last answer.
	unanswered int
	// disconnected is set until the agent registers again. Its resources are not offered meanwhile.
	disconnected bool
}

// send sends an event to the framework. The event is lost if the framework is not subscribed.
func (f *framework) send(event *scheduler.Event) {
	if f.stream != nil {
		f.stream.push(event)
	}
}

// addFramework adds a framework to the master, but not to the registry.
func (m *Master) addFramework(info mesos.FrameworkInfo) *framework {
	f := &framework{
		id:        info.GetID().Value,
		info:      info,
		filters:   map[string][]filter{},
		tasks:     map[string]*task{},
		executors: map[string]map[string]*mesos.ExecutorInfo{},
	}
	m.frameworks[f.id] = f
	return f
}

// cancelExpiry cancels the pending removal of the framework.
func (f *framework) cancelExpiry() {
	if f.expiry != nil {
		f.expiry.Stop()
		f.expiry = nil
	}
}

// startExpiry schedules the removal of the framework after its failover timeout. cancelExpiry, which a subscription
// calls, prevents it.
func (m *Master) startExpiry(f *framework) {
	f.cancelExpiry()
	// A Duration cannot be longer than 292 years, and neither can Mesos' durations.
	const maxSeconds = float64(1<<63-1) / float64(time.Second)
	timeout := time.Duration(min(max(f.info.GetFailoverTimeout(), 0), maxSeconds/2) * float64(time.Second))
	var timer *time.Timer
	timer = time.AfterFunc(timeout, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.closed || f.expiry != timer {
			return
		}
		m.log.Info("framework removed after its failover timeout", "framework", f.id, "timeout", timeout)
		if err := m.removeFramework(f); err != nil {
			m.log.Error("framework removed in memory only", "framework", f.id, "error", err)
		}
	})
	f.expiry = timer
}

// removeFramework removes a framework with all its tasks, executors and offers. It records the removal first. If that
// fails, the framework is removed nevertheless and returns at the next start.
func (m *Master) removeFramework(f *framework) error {
	err := m.registry.removeFramework(f.id)
	f.cancelExpiry()
	m.withdrawOffers(f)
	for _, t := range f.tasks {
		m.release(t)
	}
	for agentID, executors := range f.executors {
		for _, e := range executors {
			m.free(agentID, amount(e.Resources))
		}
	}
	for _, a := range m.agents {
		a.orders.Push(link.Order{ShutdownFramework: f.id})
	}
	if f.stream != nil {
		f.stream.end()
		f.stream = nil
	}
	delete(m.frameworks, f.id)
	m.wake()
	return err
}
