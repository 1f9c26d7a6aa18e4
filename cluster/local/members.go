package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// member is one of the cluster's agents.
type member struct {
	agent *agent.Agent
	url   string
}

// agents is how many there are.
func (o *Options) agents() int {
	if o.Agents == 0 {
		return 1
	}
	return max(o.Agents, 0)
}

// agentIP is an agent's own address, so that each is a machine of its own: the first one's is AgentIP, the next ones' follow it.
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

// folder is where an agent keeps what name says: the first one's has no number.
func (o *Options) folder(name string, i int) string {
	if i > 0 {
		name += "-" + strconv.Itoa(i+1)
	}
	return filepath.Join(o.DataDir, name)
}

// join starts the agent number i, which is served at the listener.
func (c *Cluster) join(ctx context.Context, i int, at net.Listener) error {
	opts := &c.opts
	log := opts.Logger.With("part", "agent")
	if opts.agents() > 1 {
		log = log.With("number", i+1)
	}
	var upstream link.Upstream = c.master
	if opts.Join != "" {
		upstream = link.NewClient(opts.Join, c.Credentials())
	}
	ip := opts.agentIP(i)
	started, err := agent.Start(ctx, agent.Options{
		DataDir: opts.folder("agent", i), WorkDir: opts.folder("work", i),
		IP: ip, Port: port(at), CPUs: opts.CPUs, MemMB: opts.MemoryMB, GiveUpExecutors: opts.GiveUpExecutors, Logger: log,
		Credentials: c.Credentials(), ExecutorKey: c.secrets.key(),
	}, upstream)
	if err != nil {
		return err
	}
	c.members = append(c.members, member{started, c.scheme() + at.Addr().String()})
	c.serve(at, started.Handler())
	if opts.Join != "" {
		c.background.Go(func() {
			if err := started.Refused(c.open); err != nil {
				select {
				case c.failed <- err:
				default: // one reason is enough
				}
			}
		})
	}
	return nil
}

// await is the first agent's failure to end something, of all agents.
func (c *Cluster) await(ctx context.Context, what string, each func(*agent.Agent, context.Context) error) error {
	done := make(chan error, len(c.members))
	for _, m := range c.members {
		go func() { done <- each(m.agent, ctx) }()
	}
	var errs []error
	for range c.members {
		errs = append(errs, <-done)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
