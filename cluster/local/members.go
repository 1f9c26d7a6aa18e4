package local

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
	"github.com/elasticjob-go/elasticjob/cluster/local/identity"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// member is one agent of the cluster.
type member struct {
	agent *agent.Agent
	url   string
}

// agents returns the number of agents.
func (o *Options) agents() int {
	if o.Agents == 0 {
		return 1
	}
	return max(o.Agents, 0)
}

// agentIP returns the IP address of agent i: AgentIP for the first agent, then the following addresses. Each agent has
// its own address, as if it were on its own machine.
func (o *Options) agentIP(i int) string {
	ip := netip.MustParseAddr(loopback)
	if o.AgentIP.IsValid() {
		ip = o.AgentIP
	}
	for range i {
		ip = ip.Next()
	}
	return ip.String()
}

// folder returns the folder with this name of agent i. The folders of the first agent have no number.
func (o *Options) folder(name string, i int) string {
	if i > 0 {
		name += "-" + strconv.Itoa(i+1)
	}
	return filepath.Join(o.DataDir, name)
}

// startAgent starts agent i and serves it at the listener.
func (c *Cluster) startAgent(ctx context.Context, i int, listener net.Listener) error {
	opts := &c.opts
	log := opts.Logger.With("part", "agent")
	if opts.agents() > 1 {
		log = log.With("number", i+1)
	}
	var upstream link.Upstream = c.master
	var failed chan<- error // nil for a cluster with its own master, which continues without a rejected agent
	if opts.Join != "" {
		upstream, failed = link.NewClient(opts.Join, c.Credentials()), c.failed
	}
	ip := opts.agentIP(i)
	authority := ""
	// With TLS configured by the operator, the framework tells executors which CA to trust.
	if key := c.secrets.key(); len(key) > 0 && opts.TLS == nil {
		proof, err := identity.New(key, net.ParseIP(ip))
		if err != nil {
			return err
		}
		listener, authority = proof.Listener(listener), proof.Authority()
	}
	a, err := agent.Start(ctx, agent.Options{
		DataDir: opts.folder("agent", i), WorkDir: opts.folder("work", i),
		IP: ip, Port: port(listener), CPUs: opts.CPUs, MemMB: opts.MemoryMB, GiveUpExecutors: opts.GiveUpExecutors,
		Logger:                log,
		ReregistrationTimeout: opts.ReregistrationTimeout, Environment: opts.ExecutorEnvironment,
		Isolate:     opts.IsolateExecutor,
		Credentials: c.Credentials(), ExecutorKey: c.secrets.key(), Authority: authority, Failed: failed,
	}, upstream)
	if err != nil {
		return err
	}
	c.members = append(c.members, member{a, c.scheme() + listener.Addr().String()})
	c.serve(listener, a.Handler())
	return nil
}

// forAllAgents calls do for all agents concurrently and waits for all calls. It returns the first error, after the
// name of the operation.
func (c *Cluster) forAllAgents(
	ctx context.Context, operation string, do func(*agent.Agent, context.Context) error,
) error {
	var group errgroup.Group
	for _, m := range c.members {
		group.Go(func() error { return do(m.agent, ctx) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}
