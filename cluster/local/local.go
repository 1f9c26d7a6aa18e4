// Package local is a cluster of one machine: a Mesos master and agent in this
// process, served on loopback, that speak Mesos' v1 HTTP API so exactly that
// neither a framework nor an executor can tell the difference.
//
//	framework ──▶ master (package master) ──▶ agent (package agent) ──▶ executors
//
// What both say and how is in package apihttp. All that has to outlive the
// process is in the data folder:
//
//	lock          held while a cluster runs on the folder
//	secrets.json  what the APIs ask for; see Cluster.Credentials
//	ports.json    the ports, bound again at each start (rule O1)
//	master.json   the master's registry
//	agent/        the agent's id and journals
//	work/         the sandboxes
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// Options of a cluster.
type Options struct {
	// DataDir is the cluster's own folder. It is made when it is missing.
	DataDir string
	// CPUs and MemoryMB are what the agent offers.
	CPUs, MemoryMB float64
	// DiskMB is 10,000 when zero.
	DiskMB float64
	// GiveUpExecutors kills what earlier runs left running, and reports its tasks as
	// lost. Then the agent's port may change.
	GiveUpExecutors bool
	// NoCredentials lets everybody of this machine use the APIs, for tests and for
	// foreign programs that can't send credentials.
	NoCredentials bool
	// Heartbeat is the interval of the master's HEARTBEAT events; 15 s when zero.
	Heartbeat time.Duration
	// Logger is required.
	Logger *slog.Logger
}

// loopback is where everything is served: nothing here is for other machines.
const loopback = "127.0.0.1"

// Cluster is a running cluster. Its methods may be called concurrently.
type Cluster struct {
	log     *slog.Logger
	lock    *os.File
	master  *master.Master
	agent   *agent.Agent
	servers []*http.Server
	serving sync.WaitGroup
	ports   ports
	secrets *secrets // nil without credentials
}

// Start starts a cluster on its data folder and finds again what an earlier one
// left running. It returns as soon as both APIs are served; see Ready. ctx
// bounds Start only. A second cluster on the same folder, and an agent's port that
// somebody else has bound, are errors that name who is in the way.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	c := &Cluster{log: opts.Logger}
	if err := c.start(ctx, opts); err != nil {
		// What was started is ended even when ctx is what ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start the local cluster in %s: %w", opts.DataDir, err), c.Close(ctx))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, opts Options) error {
	if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
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
	listeners, ports, err := listen(opts.DataDir, opts.GiveUpExecutors, opts.Logger)
	if err != nil {
		return err
	}
	c.ports = ports
	address := netip.AddrPortFrom(netip.MustParseAddr(loopback), uint16(ports.Master))
	c.master, err = master.Open(master.Options{
		Dir: opts.DataDir, Address: address, Heartbeat: opts.Heartbeat, Logger: opts.Logger.With("part", "master"),
		Credentials: c.Credentials(),
	})
	if err == nil {
		c.agent, err = agent.Start(ctx, agent.Options{
			DataDir: filepath.Join(opts.DataDir, "agent"), WorkDir: filepath.Join(opts.DataDir, "work"),
			Hostname: loopback, IP: loopback, Port: ports.Agent,
			CPUs: opts.CPUs, MemMB: opts.MemoryMB, DiskMB: opts.DiskMB,
			GiveUpExecutors: opts.GiveUpExecutors, Logger: opts.Logger.With("part", "agent"),
			Credentials: c.Credentials(), ExecutorKey: c.secrets.key(),
		}, c.master)
	}
	if err != nil {
		return errors.Join(err, listeners.master.Close(), listeners.agent.Close())
	}
	c.serve(listeners.master, c.master.Handler())
	c.serve(listeners.agent, c.agent.Handler())
	return nil
}

func (c *Cluster) serve(listener net.Listener, handler http.Handler) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelWarn),
	}
	c.servers = append(c.servers, server)
	c.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.log.Error("local cluster does not answer any more", "address", listener.Addr(), "error", err)
		}
	})
}

// MasterURL is the base of the master's API, "http://127.0.0.1:port".
func (c *Cluster) MasterURL() string { return fmt.Sprintf("http://%s:%d", loopback, c.ports.Master) }

// AgentURL is the base of the agent's API, "http://127.0.0.1:port".
func (c *Cluster) AgentURL() string { return fmt.Sprintf("http://%s:%d", loopback, c.ports.Agent) }

// Credentials are what the master asks of frameworks and the agent of who reads
// sandboxes; nil with NoCredentials. They are the same for the life of the data
// folder.
func (c *Cluster) Credentials() *Credentials {
	if c.secrets == nil {
		return nil
	}
	return &Credentials{Principal: c.secrets.Principal, Secret: c.secrets.Secret}
}

// Ready waits until the executors of an earlier run are back or given up and the
// agent has registered: from then on there are offers, and the master answers for its tasks (rule O3).
func (c *Cluster) Ready(ctx context.Context) error { return c.agent.Registered(ctx) }

// EndExecutors ends all executors and their tasks, with their grace periods, and
// waits until nothing of them is left (rule O4). Close is still to be called.
func (c *Cluster) EndExecutors(ctx context.Context) error { return c.agent.EndAll(ctx) }

// Close stops serving and waits for all goroutines, until ctx ends. Executors and
// their tasks go on, as after kill -9, and are found again by the next Start.
func (c *Cluster) Close(ctx context.Context) error {
	var errs []error
	if c.agent != nil {
		errs = append(errs, c.agent.Close(ctx))
	}
	if c.master != nil {
		errs = append(errs, c.master.Close())
	}
	for _, server := range c.servers {
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, err, server.Close())
		}
	}
	c.serving.Wait()
	if c.lock != nil {
		errs = append(errs, unlockFolder(c.lock))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the local cluster: %w", err)
	}
	return nil
}
