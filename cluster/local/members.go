package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
	"github.com/elasticjob-go/elasticjob/cluster/local/elect"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// member is one of the cluster's agents.
type member struct {
	agent *agent.Agent
	url   string
	// uplink is nil when the master is in this process and needs no finding.
	uplink *link.Client
}

// agents is how many there are.
func (o *Options) agents() int {
	switch {
	case o.Agents == 0:
		return 1
	default:
		return max(o.Agents, 0)
	}
}

// agentIP is an agent's own address, so that each is a machine of its own: the
// first one's is AgentIP, the next ones' follow it.
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
	m := &member{url: c.scheme() + at.Addr().String()}
	var upstream master.Upstream
	log := opts.Logger.With("part", "agent")
	if opts.agents() > 1 {
		log = log.With("number", i+1)
	}
	if c.election != nil || opts.Join != "" {
		m.uplink = link.NewClient(link.Options{Find: c.findMaster, Credentials: c.Credentials(), Logger: log})
		upstream = m.uplink
	} else {
		upstream = c.master
	}
	ip := opts.agentIP(i)
	started, err := agent.Start(ctx, agent.Options{
		DataDir: opts.folder("agent", i), WorkDir: opts.folder("work", i),
		Hostname: ip, IP: ip, Port: port(at),
		CPUs: opts.CPUs, MemMB: opts.MemoryMB, DiskMB: opts.DiskMB, Reserved: opts.Reserved,
		GiveUpExecutors: opts.GiveUpExecutors, Logger: log,
		Credentials: c.Credentials(), ExecutorKey: c.secrets.key(),
	}, upstream)
	if err != nil {
		if m.uplink != nil {
			m.uplink.Close()
		}
		return errors.Join(err, at.Close())
	}
	m.agent = started
	c.members = append(c.members, m)
	c.serve(at, started.Handler())
	if m.uplink != nil {
		c.background.Go(func() {
			select {
			case err := <-m.uplink.Refused():
				c.fail(err)
			case <-c.closing:
			}
		})
	}
	return nil
}

func (m *member) close(ctx context.Context) error {
	if m.uplink != nil {
		m.uplink.Close()
	}
	return m.agent.Close(ctx)
}

// findMaster is where agents register: with the leading master.
func (c *Cluster) findMaster(ctx context.Context) (string, error) {
	if c.election == nil {
		return c.opts.Join, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, address, err := c.election.Leader(ctx)
	if err != nil {
		return "", err
	}
	return "http://" + address.String(), nil
}

// connect prepares the election, or the search for the leading master.
func (c *Cluster) connect() error {
	where := c.opts.ZooKeeper
	if isZooKeeper(c.opts.Join) {
		where = c.opts.Join
	}
	if where == "" {
		return nil
	}
	group, err := elect.ParseGroup(where)
	if err != nil {
		return err
	}
	c.election, err = elect.Connect(group, c.opts.SessionTimeout, c.log.With("part", "election"))
	return err
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

// front answers in the master's place: with the master's own handler while it leads.
type front struct{ c *Cluster }

// ServeHTTP implements http.Handler.
func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if leading := f.c.leading.Load(); leading != nil {
		(*leading).ServeHTTP(w, r)
		return
	}
	f.c.standby().ServeHTTP(w, r)
}
