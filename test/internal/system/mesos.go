package system

import (
	"fmt"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// Mesos is masters and agents, all of them processes of their own. Of several masters one leads by an election in
// ZooKeeper. Masters and agents are numbered from 1; agent n is at 127.0.0.(n+1), hostname and ip alike. The methods
// end the test when something isn't as they say.
type Mesos interface {
	// StartMaster starts a master that doesn't run, with what it kept, and returns when it answers.
	StartMaster(n int)
	// KillMaster ends a master by SIGKILL, or finds that it has ended itself, as one does that lost its leadership.
	KillMaster(n int)
	// SignalMaster sends a master that runs a signal.
	SignalMaster(n int, sig syscall.Signal)
	// MasterRuns reports whether a master was started and has not ended.
	MasterRuns(n int) bool
	// MasterAddress is HOST:PORT of a master that runs.
	MasterAddress(n int) string
	// CaughtUp reports whether a master that runs has what the others have written down.
	CaughtUp(n int) bool
	// Leads reports whether a master leads and answers.
	Leads(n int) bool

	// StartAgent starts an agent that doesn't run, with what it kept, and returns when it answers, not when it has
	// registered.
	StartAgent(n int)
	// KillAgent ends an agent by SIGKILL; its executors go on.
	KillAgent(n int)
	// SignalAgent sends an agent that runs a signal.
	SignalAgent(n int, sig syscall.Signal)
	// Registered reports whether an agent that runs has registered since its start.
	Registered(n int) bool
	// AgentDir is the folder of an agent, below which its sandboxes are.
	AgentDir(n int) string

	// Operate sends a call to the operator API of a master and gives its answer.
	Operate(master int, call string) (string, error)
	// CredentialsFile is what servers are given, or "".
	CredentialsFile() string
}

// Kind is one of the two implementations of Mesos.
type Kind string

// The kinds: Apache Mesos, of the folder that MESOS_HOME names, and cluster/local.
const (
	Real  Kind = "mesos"
	Local Kind = "local"
)

// Setup says what a Mesos is like.
type Setup struct {
	// Masters and Agents are how many there are; cluster/local has one master in any case.
	Masters, Agents int
	// ZooKeeper is where a test that does it no harm has its nodes; nil for a server of its own.
	ZooKeeper *zkserver.Shared
	// InMemory is for masters that remember nothing after a restart. Otherwise Apache Mesos keeps its registry in
	// a log that a majority of the masters has, and cluster/local in a file.
	InMemory bool
	// MissedPings is how many pings in a row an agent misses until it is unreachable, by default 3.
	MissedPings int
	// Credentials are asked for by masters and agents.
	Credentials bool
	// Resources are those of each agent of Apache Mesos, by default those of the Machine; cluster/local has none that
	// are reserved.
	Resources string
	// MasterArgs and AgentArgs are further flags of Apache Mesos.
	MasterArgs, AgentArgs []string
}

// credentials are asked for where a Setup says so.
const (
	principal = "elasticjob"
	secret    = "not-to-be-shown"
)

// LeadingMaster waits until a master leads, and gives its number.
func (c *Cluster) LeadingMaster() (leader int) {
	c.Helper()
	c.Until("a master leads", func() string {
		for n := 1; n <= c.setup.Masters; n++ {
			if c.Mesos.MasterRuns(n) && c.Mesos.Leads(n) {
				leader = n
				return ""
			}
		}
		return "none does"
	})
	return leader
}

// ReplaceMaster waits until another master leads than one that was killed, if there is another, and starts the
// killed one again.
func (c *Cluster) ReplaceMaster(killed int) {
	c.Helper()
	if c.setup.Masters > 1 {
		if next := c.LeadingMaster(); next == killed {
			c.Errorf("the killed master %d leads", killed)
		}
	}
	c.RestartMasters()
}

// RestartMasters starts all masters that were killed or have ended themselves, as one does that finds its session with
// ZooKeeper over, and waits until each has caught up: only then may the next one be killed.
func (c *Cluster) RestartMasters() {
	c.Helper()
	for n := 1; n <= c.setup.Masters; n++ {
		if !c.Mesos.MasterRuns(n) {
			c.Mesos.KillMaster(n)
			c.Mesos.StartMaster(n)
		}
	}
	c.awaitMasters()
}

func (c *Cluster) awaitMasters() {
	c.Helper()
	c.Until("the masters have caught up", func() string {
		for n := 1; n <= c.setup.Masters; n++ {
			if !c.Mesos.CaughtUp(n) {
				return fmt.Sprintf("master %d has not", n)
			}
		}
		return ""
	})
}

// Operate sends a call to the operator API of the master that leads and gives its answer.
func (c *Cluster) Operate(call string) string {
	c.Helper()
	answer, err := c.Mesos.Operate(c.LeadingMaster(), call)
	if err != nil {
		c.Fatalf("operator call %s: %v", call, err)
	}
	return answer
}

// AwaitAgents waits until all agents that run have registered.
func (c *Cluster) AwaitAgents() {
	c.Helper()
	c.Until("the agents have registered", func() string {
		for n := 1; n <= c.setup.Agents; n++ {
			if !c.Mesos.Registered(n) {
				return fmt.Sprintf("agent %d has not", n)
			}
		}
		return ""
	})
}

// AgentID is the id that a registered agent has at the master that leads, "" if it has none.
func (c *Cluster) AgentID(n int) string {
	c.Helper()
	for _, a := range c.agents() {
		if a.AgentInfo.Hostname == agentIP(n) && a.Active {
			return a.AgentInfo.ID.Value
		}
	}
	return ""
}

// AwaitAgentLost waits until the master that leads has marked an agent, which has no other id, unreachable.
func (c *Cluster) AwaitAgentLost(n int) {
	c.Helper()
	c.Until(fmt.Sprintf("agent %d is unreachable", n), func() string {
		if id := c.AgentID(n); id != "" {
			return "it is active as " + id
		}
		return ""
	})
}

type agentView struct {
	Active    bool
	AgentInfo struct {
		Hostname string
		ID       struct{ Value string }
	} `json:"agent_info"`
}

func (c *Cluster) agents() []agentView {
	c.Helper()
	var said struct {
		GetAgents struct{ Agents []agentView } `json:"get_agents"`
	}
	c.decode(c.Operate(`{"type":"GET_AGENTS"}`), &said)
	return said.GetAgents.Agents
}

// agentIP is the address of an agent: with one of its own each is a machine for Mesos.
func agentIP(n int) string { return fmt.Sprintf("127.0.0.%d", n+1) }
