// Package local is a cluster of one machine: a Mesos master and its agents in this process, served on loopback, that
// speak Mesos' v1 HTTP API so exactly that neither a framework nor an executor sees a difference.
//
//	framework ──▶ master (package master) ──▶ agent (package agent) ──▶ executors
//
// What both say and how is in package apihttp. An agent in a process of its own reaches its master over HTTP (package
// link).
//
// All that has to outlive the process is in the data folder:
//
//	lock                     held while a cluster runs on the folder
//	secrets.json             what the APIs ask for; see Cluster.Credentials
//	ports.json               the ports, bound again at each start (rule O1)
//	master.json              the master's registry
//	agent/, agent-2/, …      the agents' ids and journals
//	work/, work-2/, …        their sandboxes
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

// What Options means by zero: Mesos' own intervals.
const (
	DefaultAgentPingTimeout       = master.DefaultAgentPingTimeout
	DefaultMaxAgentPingTimeouts   = master.DefaultMaxAgentPingTimeouts
	DefaultAgentReregisterTimeout = master.DefaultAgentReregisterTimeout
	DefaultHeartbeat              = master.DefaultHeartbeat
)

// Options of a cluster.
type Options struct {
	// DataDir is the cluster's own folder. It is made when it is missing.
	DataDir string
	// Listen is the master's address, IPv4 of this machine; a port that is kept in the data folder when empty.
	Listen string
	// Join is the master that the agents register with, "http://host:port": then there is no master here, and what
	// concerns one is not used.
	Join string

	// Agents is how many there are: 1 when zero, none when negative. Each has an address of its own, AgentIP
	// (127.0.0.1 when not set) and those that follow it.
	Agents  int
	AgentIP netip.Addr
	// CPUs and MemoryMB are what each agent offers.
	CPUs, MemoryMB float64
	// GiveUpExecutors kills what earlier runs left running, and reports its tasks as lost. Then the agent's port may
	// change.
	GiveUpExecutors bool
	// ReregistrationTimeout is how long executors of an earlier run have to subscribe again: 2 s when zero.
	ReregistrationTimeout time.Duration
	// ExecutorEnvironment is added to that of every executor, as what a Mesos agent has of its operator.
	ExecutorEnvironment map[string]string
	// IsolateExecutor, if not nil, starts each executor so that neither it nor its tasks see what is not theirs: it is
	// given the executor's sandbox, adds to its attributes and its environment, and calls start.
	IsolateExecutor func(sandbox string, attr *syscall.SysProcAttr, env *[]string, start func() error) error
	// NoCredentials lets everybody of this machine use the APIs, for tests and for programs that can't send
	// credentials. Executors then take whoever listens at their agent's port for the agent.
	NoCredentials bool
	// Secret is asked for and shown, by the agents to the master, instead of what the data folder holds, if not nil:
	// the processes of one cluster need the same.
	Secret *Credentials
	// TLS, if not nil, makes master and agents speak https and nothing else. Master and agents must be in this process
	// then.
	TLS *tls.Config
	// InMemoryRegistry makes the master forget everything with the process.
	InMemoryRegistry bool
	// When the master gives an agent up; the defaults above when zero.
	AgentPingTimeout       time.Duration
	MaxAgentPingTimeouts   int
	AgentReregisterTimeout time.Duration
	// Heartbeat is the interval of the master's HEARTBEAT events; DefaultHeartbeat when zero.
	Heartbeat time.Duration
	// Logger is required.
	Logger *slog.Logger
}

// loopback is where everything is served: nothing here is for other machines.
const loopback = "127.0.0.1"

// Cluster is a running cluster. Its methods may be called concurrently.
type Cluster struct {
	opts    Options
	log     *slog.Logger
	lock    *os.File
	secrets *secrets       // nil without credentials
	address netip.AddrPort // the master's
	members []member
	// listeners are bound by listen, and served from then on by the servers.
	listeners []net.Listener
	servers   []*http.Server
	serving   sync.WaitGroup

	failed chan error

	master *master.Master // nil where agents join another one
	links  *link.Server
}

// Start starts a cluster on its data folder and finds again what an earlier one left running. It returns as soon as
// the APIs are served; see Ready. ctx bounds Start only. A second cluster on the same folder, and an agent's port that
// somebody else has bound, are errors that name who is in the way.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	c := &Cluster{opts: opts, log: opts.Logger, failed: make(chan error, 1)}
	if err := c.start(ctx); err != nil {
		// What was started is ended even when ctx is what ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start the local cluster in %s: %w", opts.DataDir, err), c.Close(ctx))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	opts := &c.opts
	if opts.TLS != nil && opts.Join != "" {
		return errors.New("with TLS, master and agents are in one process: agents reach a master of another process by plain HTTP")
	}
	var err error
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return err
	}
	// Others may pass through, where tasks run as another user. What is secret is not for them to read.
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
	masterAt, agentsAt, err := c.listen()
	if err != nil {
		return err
	}
	if masterAt != nil {
		if err := c.lead(masterAt); err != nil {
			return err
		}
	}
	for i, at := range agentsAt {
		if err := c.join(ctx, i, at); err != nil {
			return err
		}
	}
	return nil
}

// lead opens the master and serves it.
func (c *Cluster) lead(at net.Listener) error {
	opts := &c.opts
	c.address = at.Addr().(*net.TCPAddr).AddrPort()
	opened, err := master.Open(master.Options{
		Dir: opts.DataDir, Address: c.address, Heartbeat: opts.Heartbeat, Logger: opts.Logger.With("part", "master"),
		Credentials: c.Credentials(), InMemoryRegistry: opts.InMemoryRegistry,
		AgentPingTimeout: opts.AgentPingTimeout, MaxAgentPingTimeouts: opts.MaxAgentPingTimeouts,
		AgentReregisterTimeout: opts.AgentReregisterTimeout, HTTPS: opts.TLS != nil,
	})
	if err != nil {
		return err
	}
	c.master, c.links = opened, link.NewServer(opened, opened.AgentTimeout(), opts.Logger.With("part", "master"))
	mux := http.NewServeMux()
	mux.Handle("/", opened.Handler())
	mux.Handle("POST "+link.RegisterPath, c.Credentials().Guard(link.Realm, c.links))
	c.serve(at, mux)
	return nil
}

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
			c.log.Error("local cluster stopped answering", "address", listener.Addr(), "error", err)
		}
	})
}

func (c *Cluster) scheme() string {
	if c.opts.TLS != nil {
		return "https://"
	}
	return "http://"
}

// MasterURL is the base of the master's API, "http://127.0.0.1:port", or what Options.Join says.
func (c *Cluster) MasterURL() string {
	if c.opts.Join != "" {
		return c.opts.Join
	}
	return c.scheme() + c.address.String()
}

// AgentURL is the base of the first agent's API, "http://127.0.0.1:port"; empty without one.
func (c *Cluster) AgentURL() string {
	if len(c.members) == 0 {
		return ""
	}
	return c.members[0].url
}

// Failed delivers, once, why the cluster can't go on: an agent is refused by its master. It is still to be closed.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Credentials are what the master asks of frameworks and the agent of who reads sandboxes; nil with NoCredentials.
// They are the same for the life of the data folder.
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

// Ready waits until the executors of an earlier run are back or given up and all agents have registered: from then on
// there are offers, and the master answers for its tasks (rule O3).
func (c *Cluster) Ready(ctx context.Context) error {
	return c.await(ctx, "wait until the local cluster is ready", (*agent.Agent).Registered)
}

// EndExecutors ends all executors and their tasks, with their grace periods, and waits until nothing of them is left
// (rule O4). Close is still to be called.
func (c *Cluster) EndExecutors(ctx context.Context) error {
	return c.await(ctx, "end the local cluster's executors", (*agent.Agent).EndAll)
}

// Close stops serving and waits for all goroutines, until ctx ends. Executors and their tasks go on, as after kill -9,
// and are found again by the next Start.
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
		// A client may have dialled without a word; what was asked is answered by now.
		patience, cancel := context.WithTimeout(ctx, time.Second)
		if server.Shutdown(patience) != nil {
			errs = append(errs, server.Close())
		}
		cancel()
	}
	c.serving.Wait()
	for _, l := range c.listeners {
		_ = l.Close() // those that were served are closed by now
	}
	if c.lock != nil {
		errs = append(errs, unlockFolder(c.lock))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the local cluster: %w", err)
	}
	return nil
}
