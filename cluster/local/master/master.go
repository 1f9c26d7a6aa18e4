// Package master is the Mesos master of the local cluster: the v1 scheduler API, with the answers, texts and event
// orders of Mesos 1.12.
//
//	framework ── POST /api/v1/scheduler ──▶ Master ── orders ──▶ agent
//	framework ◀── events of its stream ──── Master ◀── news ──── agent
//
// All state is in memory behind one mutex and nothing blocks while it is held, but the rare write of the registry:
// events wait in their subscription's queue, orders in their agent's session's (package link). The registry is a small
// file with what has to outlive the process: the frameworks, those that were removed, and the agents that are to come
// back. Tasks and executors are known by the agents, which name them when they register.
//
// Agents are pinged; one that does not answer is unreachable, with all its tasks, until it registers again, and so is
// one of the registry that stays away.
//
// All of an agent's free resources are offered to one framework at a time, whichever comes first, as soon as
// there is something to offer.
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
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// Version is the version of Mesos that the master claims to be.
const Version = "1.12.0"

// DefaultHeartbeat is Mesos' own interval between HEARTBEAT events.
const DefaultHeartbeat = 15 * time.Second

// mostEvents is how many events a subscriber may be behind before it is dropped.
const mostEvents = 100_000

// Options are what a master needs to start.
type Options struct {
	// Dir is where the registry file is kept; it must exist.
	Dir string
	// Address is where the master's API is served, IPv4.
	Address netip.AddrPort
	// Heartbeat is the interval of HEARTBEAT events; DefaultHeartbeat when zero.
	Heartbeat time.Duration
	// Credentials are asked of every framework, if not nil. Their principal is then the framework's.
	Credentials *apihttp.Credentials
	// AgentPingTimeout is how long an agent has to answer a ping; after MaxAgentPingTimeouts in a row it is
	// unreachable. Zero means Mesos' defaults.
	AgentPingTimeout     time.Duration
	MaxAgentPingTimeouts int
	// AgentReregisterTimeout is how long after the start a remembered agent that is not back becomes unreachable;
	// DefaultAgentReregisterTimeout when zero.
	AgentReregisterTimeout time.Duration
	// InMemoryRegistry forgets everything with the process, as Mesos' registry "in_memory" does. Dir is not used then.
	InMemoryRegistry bool
	// HTTPS says that agents speak it: it is in their offers' URLs.
	HTTPS bool
	// Logger is required.
	Logger *slog.Logger
}

// Master is the local cluster's master. It implements link.Upstream. Its methods may be called concurrently.
type Master struct {
	opts     Options
	id       string
	log      *slog.Logger
	registry *registry

	wakeAllocator chan struct{}
	stop          context.CancelFunc
	background    sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	frameworks map[string]*framework
	agents     map[string]*agent
	offers     map[string]*offer
	// lost are the tasks of the agents that registered with this master and were then given up.
	lost          map[string][]*task
	nextFramework int
	nextOffer     int
	nextTask      int
}

var _ link.Upstream = (*Master)(nil)

// Open reads the registry and starts a master with a new id. Serve its Handler and Close it.
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
		m.expectSubscriber(m.addFramework(info))
	}
	m.background.Go(func() { m.allocator(ctx) })
	m.background.Go(func() { m.health(ctx) })
	return m, nil
}

// Close ends all subscriptions and agents' sessions, and waits for the master's goroutines. Frameworks and tasks stay,
// in the registry and with the agents. What agents report later is ignored.
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
		f.keep()
	}
	for _, a := range m.agents {
		a.orders.Close()
	}
	m.mu.Unlock()
	m.background.Wait()
	return nil
}

// Handler serves the scheduler API, what there is of the operator API, and /health.
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

// errClosed refuses what comes while the master closes.
var errClosed = errors.New("master is closing")

// framework is one framework; everything in it is guarded by the master's mutex.
type framework struct {
	id   string
	info mesos.FrameworkInfo
	// stream is nil while nobody is subscribed.
	stream *subscription
	// expiry removes the framework while it runs: what it would do is checked under the master's mutex.
	expiry     *time.Timer
	suppressed bool
	// filters holds, by agent, what the framework does not want to see.
	filters map[string][]filter
	tasks   map[string]*task
	// executors are by agent and id.
	executors map[string]map[string]*mesos.ExecutorInfo
}

type task struct {
	id, agentID string
	framework   *framework
	executor    *mesos.ExecutorInfo
	// resources are none once they were given back.
	resources resources
	// reported is the state that the framework knows, latest what the agent knows.
	reported, latest mesos.TaskState
	// uuid is that of the last update.
	uuid      []byte
	container *mesos.ContainerStatus
	// order is that of launches, for implicit reconciliation.
	order int
}

type agent struct {
	id   string
	info mesos.AgentInfo
	// orders are those of its session, which has ended when they are closed.
	orders *queue.Queue[link.Order]
	// total is what it has, used what tasks, executors and offers hold.
	total, used resources
	// unanswered counts the pings since the last answer.
	unanswered int
	// disconnected agents are offered nothing until they register again.
	disconnected bool
}

func (f *framework) send(event *scheduler.Event) {
	if f.stream != nil {
		f.stream.push(event)
	}
}

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

// keep stops the removal of the framework.
func (f *framework) keep() {
	if f.expiry != nil {
		f.expiry.Stop()
		f.expiry = nil
	}
}

// expectSubscriber removes the framework when nobody subscribes within its failover timeout.
func (m *Master) expectSubscriber(f *framework) {
	f.keep()
	// Mesos' longest duration is 292 years too.
	const longest = float64(1<<63-1) / float64(time.Second)
	timeout := time.Duration(min(max(f.info.GetFailoverTimeout(), 0), longest/2) * float64(time.Second))
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

// removeFramework ends all that the framework has. It is written down first; when that fails, the framework goes
// nevertheless, and comes back at the next start.
func (m *Master) removeFramework(f *framework) error {
	err := m.registry.removeFramework(f.id)
	f.keep()
	m.withdrawOffers(f)
	for _, t := range f.tasks {
		m.release(t)
	}
	for agentID, executors := range f.executors {
		for _, e := range executors {
			m.giveBack(agentID, amount(e.Resources))
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
