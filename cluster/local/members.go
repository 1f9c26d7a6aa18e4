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

// agentIP returns the IP address of agent i. Each agent has its own, as if it were on a machine of its own: AgentIP
// for the first one, then the following addresses.
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

// folder returns the folder of agent i for a purpose. The first agent's has no number.
func (o *Options) folder(name string, i int) string {
	if i > 0 {
		name += "-" + strconv.Itoa(i+1)
	}
	return filepath.Join(o.DataDir, name)
}

// startAgent starts agent i, which is served at the given listener.
func (c *Cluster) startAgent(ctx context.Context, i int, at net.Listener) error {
	opts := &c.opts
	log := opts.Logger.With("part", "agent")
	if opts.agents() > 1 {
		log = log.With("number", i+1)
	}
	var upstream link.Upstream = c.master
	var failed chan<- error // nil: a cluster with a master of its own continues without the agent
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
		at, authority = proof.Listener(at), proof.Authority()
	}
	started, err := agent.Start(ctx, agent.Options{
		DataDir: opts.folder("agent", i), WorkDir: opts.folder("work", i),
		IP: ip, Port: port(at), CPUs: opts.CPUs, MemMB: opts.MemoryMB, GiveUpExecutors: opts.GiveUpExecutors,
		Logger:                log,
		ReregistrationTimeout: opts.ReregistrationTimeout, Environment: opts.ExecutorEnvironment,
		Isolate:     opts.IsolateExecutor,
		Credentials: c.Credentials(), ExecutorKey: c.secrets.key(), Authority: authority, Failed: failed,
	}, upstream)
	if err != nil {
		return err
	}
	c.members = append(c.members, member{started, c.scheme() + at.Addr().String()})
	c.serve(at, started.Handler())
	return nil
}

// forAllAgents calls each for all agents concurrently and returns the first error.
func (c *Cluster) forAllAgents(
	ctx context.Context, what string, each func(*agent.Agent, context.Context) error,
) error {
	var group errgroup.Group
	for _, m := range c.members {
		group.Go(func() error { return each(m.agent, ctx) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
