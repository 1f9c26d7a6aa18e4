// Package local is a cluster on one machine: a master and its agents in this process. They serve Mesos' v1 HTTP API, by
// default on loopback. Neither frameworks nor executors see a difference to Apache Mesos.
//
//	framework ──▶ master (package master) ──▶ agent (package agent) ──▶ executors
//
// Both APIs use package apihttp. An agent in another process reaches its master over HTTP (package link).
//
// All state that must outlive the process is in the data folder:
//
//	lock                     held while a cluster runs on the folder
//	secrets.json             credentials of the APIs; see Cluster.Credentials
//	ports.json               the ports, bound again at each start (rule O1)
//	master.json              the master's registry
//	agent/, agent-2/, …      the agents' ids and journals
//	work/, work-2/, …        the agents' sandboxes
package local

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// The defaults of Options, which are Mesos' own intervals.
const (
	DefaultAgentPingTimeout       = master.DefaultAgentPingTimeout
	DefaultMaxAgentPingTimeouts   = master.DefaultMaxAgentPingTimeouts
	DefaultAgentReregisterTimeout = master.DefaultAgentReregisterTimeout
	DefaultHeartbeat              = master.DefaultHeartbeat
)

// Options configure a cluster.
type Options struct {
	// DataDir is the cluster's own folder. It is created if it does not exist.
	DataDir string
	// Listen is the master's address, an IPv4 address of this machine. If it is empty, the master listens on loopback
	// at a port that is stored in the data folder.
	Listen string
	// Join is the URL of the master that the agents register with, "http://host:port". If it is set, this cluster
	// starts no master and ignores the master's options.
	Join string

	// Agents is the number of agents: 0 means 1, and a negative number means none. Each agent has its own IP address:
	// AgentIP (default 127.0.0.1) for the first agent, and then the following addresses.
	Agents  int
	AgentIP netip.Addr
	// CPUs and MemoryMB are the resources that each agent offers.
	CPUs, MemoryMB float64
	// GiveUpExecutors kills the executors that earlier runs left running and reports their tasks as gone. An agent's
	// port may change only with this option.
	GiveUpExecutors bool
	// ReregistrationTimeout is how long executors of an earlier run have to subscribe again; 0 means 2 s.
	ReregistrationTimeout time.Duration
	// ExecutorEnvironment is added to the environment of every executor, like the operator's settings of a Mesos
	// agent.
	ExecutorEnvironment map[string]string
	// IsolateExecutor, if not nil, starts each executor, and hides from it and its tasks what does not belong to them.
	// It receives the executor's sandbox, extends attr and env, and calls start.
	IsolateExecutor func(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error
	// NoCredentials allows every user of this machine to use the APIs. It is for tests and for programs that cannot
	// send credentials. Executors then trust any process that listens on their agent's port.
	NoCredentials bool
	// Secret, if not nil, replaces the credentials in the data folder, both those that the APIs require and those
	// that the agents send to the master. All processes of one cluster need the same credentials.
	Secret *Credentials
	// TLS, if not nil, makes master and agents serve https only. It requires that master and agents run in this
	// process.
	TLS *tls.Config
	// InMemoryRegistry disables the registry file, so that the master forgets everything when the process ends.
	InMemoryRegistry bool
	// These intervals determine when the master considers an agent unreachable; 0 means the defaults above.
	AgentPingTimeout       time.Duration
	MaxAgentPingTimeouts   int
	AgentReregisterTimeout time.Duration
	// Heartbeat is the interval of the master's HEARTBEAT events; 0 means DefaultHeartbeat.
	Heartbeat time.Duration
	// Logger is required.
	Logger *slog.Logger
}

// loopback is the default address of all listeners, because other machines must not reach them.
const loopback = "127.0.0.1"

// Cluster is a running cluster. Its methods may be called concurrently.
type Cluster struct {
	opts    Options
	log     *slog.Logger
	lock    *os.File
	secrets *secrets       // nil without credentials
	address netip.AddrPort // of the master
	members []member
	// listeners are bound by listen and then served by servers.
	listeners []net.Listener
	servers   []*http.Server
	serving   sync.WaitGroup

	failed chan error

	master *master.Master // nil if the agents join another master
	links  *link.Server
}

// Start starts a cluster on its data folder and recovers the executors that an earlier run left running. It returns as
// soon as the APIs are served; see Ready. ctx limits Start only. Start fails if another cluster runs on the folder, or
// if another process listens on an agent's port. The error names that process.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	c := &Cluster{opts: opts, log: opts.Logger, failed: make(chan error, 1)}
	if err := c.start(ctx); err != nil {
		// The parts that were started are stopped even if the end of ctx was the reason.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start the local cluster in %s: %w", opts.DataDir, err), c.Close(ctx))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	opts := &c.opts
	if opts.TLS != nil && opts.Join != "" {
		return errors.New("with TLS, master and agents must be in one process: agents reach a master of another process by plain HTTP only")
	}
	var err error
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return err
	}
	// Other users may pass through the folder, because tasks may run as another user. They cannot read secret
	// files.
	if err := os.MkdirAll(opts.DataDir, 0o711); err != nil {
		return err
	}
	lock, err := lockFolder(opts.DataDir)
	if err != nil {
		return err
	}
	c.lock = lock
	if !opts.NoCredentials {
		if c.secrets, err = openSecrets(filepath.Join(opts.DataDir, "secrets.json")); err != nil {
			return err
		}
	}
	masterListener, agentListeners, err := c.listen()
	if err != nil {
		return err
	}
	if masterListener != nil {
		if err := c.startMaster(masterListener); err != nil {
			return err
		}
	}
	for i, listener := range agentListeners {
		if err := c.startAgent(ctx, i, listener); err != nil {
			return err
		}
	}
	return nil
}

// startMaster opens the master and serves it at the listener.
func (c *Cluster) startMaster(listener net.Listener) error {
	opts := &c.opts
	c.address = listener.Addr().(*net.TCPAddr).AddrPort()
	m, err := master.Open(master.Options{
		Dir: opts.DataDir, Address: c.address, Heartbeat: opts.Heartbeat, Logger: opts.Logger.With("part", "master"),
		Credentials: c.Credentials(), InMemoryRegistry: opts.InMemoryRegistry,
		AgentPingTimeout: opts.AgentPingTimeout, MaxAgentPingTimeouts: opts.MaxAgentPingTimeouts,
		AgentReregisterTimeout: opts.AgentReregisterTimeout, HTTPS: opts.TLS != nil,
	})
	if err != nil {
		return err
	}
	c.master, c.links = m, link.NewServer(m, m.AgentTimeout(), opts.Logger.With("part", "master"))
	mux := http.NewServeMux()
	mux.Handle("/", m.Handler())
	mux.Handle("POST "+link.RegisterPath, c.Credentials().Guard(link.Realm, c.links))
	c.serve(listener, mux)
	return nil
}

// serve serves the handler at the listener until Close.
func (c *Cluster) serve(listener net.Listener, handler http.Handler) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelWarn),
	}
	c.servers = append(c.servers, server)
	if c.opts.TLS != nil {
		listener = tls.NewListener(listener, c.opts.TLS)
	}
	c.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.log.Error("local cluster stopped serving", "address", listener.Addr(), "error", err)
		}
	})
}

func (c *Cluster) scheme() string {
	if c.opts.TLS != nil {
		return "https://"
	}
	return "http://"
}

// MasterURL returns the base URL of the master's API, "http://127.0.0.1:port", or Options.Join.
func (c *Cluster) MasterURL() string {
	if c.opts.Join != "" {
		return c.opts.Join
	}
	return c.scheme() + c.address.String()
}

// AgentURL returns the base URL of the first agent's API, "http://127.0.0.1:port"; empty if there is no agent.
func (c *Cluster) AgentURL() string {
	if len(c.members) == 0 {
		return ""
	}
	return c.members[0].url
}

// Failed delivers one error if the cluster cannot continue because its master permanently rejects an agent. Close must
// still be called.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Credentials returns the credentials that the master requires of frameworks and the agents require of readers of
// sandboxes; nil with NoCredentials. They do not change during the life of the data folder.
func (c *Cluster) Credentials() *Credentials {
	switch {
	case c.secrets == nil:
		return nil
	case c.opts.Secret != nil:
		return c.opts.Secret
	default:
		return &Credentials{Principal: c.secrets.Principal, Secret: c.secrets.Secret}
	}
}

// Ready waits until the executors of an earlier run have subscribed again or were given up, and all agents have
// registered. From then on the master makes offers and answers questions about its tasks (rule O3).
func (c *Cluster) Ready(ctx context.Context) error {
	return c.forAllAgents(ctx, "wait until the local cluster is ready", (*agent.Agent).Registered)
}

// EndExecutors ends all executors and their tasks, with their grace periods, and waits until all their processes are
// gone (rule O4). Close must still be called.
func (c *Cluster) EndExecutors(ctx context.Context) error {
	return c.forAllAgents(ctx, "end the local cluster's executors", (*agent.Agent).EndAll)
}

// Close stops serving and waits for all goroutines until ctx ends. Executors and their tasks continue to run, as after
// kill -9, and the next Start recovers them.
func (c *Cluster) Close(ctx context.Context) error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.agent.Close(ctx))
	}
	if c.master != nil {
		c.links.Close()
		errs = append(errs, c.master.Close())
	}
	for _, server := range c.servers {
		// All requests are answered by now, but a client may have connected without sending a request. Without a
		// timeout, Shutdown would wait for such a client.
		shutdownCtx, cancel := context.WithTimeout(ctx, time.Second)
		if server.Shutdown(shutdownCtx) != nil {
			errs = append(errs, server.Close())
		}
		cancel()
	}
	c.serving.Wait()
	for _, l := range c.listeners {
		_ = l.Close() // fails for a listener that was served, because it is closed already
	}
	if c.lock != nil {
		errs = append(errs, unlockFolder(c.lock))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the local cluster: %w", err)
	}
	return nil
}
