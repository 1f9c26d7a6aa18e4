package system

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// Mesos is a set of masters and agents. They are separate processes, except that the master of a NewCluster may have
// agents in its own process. Several masters elect a leader through ZooKeeper. Masters and agents are numbered from 1.
// Agent n has the address and hostname 127.0.0.(n+1) or, with Setup.Networks, those of its Network. Operate returns an
// error; the other methods fail the test if they cannot do what they promise.
type Mesos interface {
	// StartMaster starts a master that is not running, and returns when it answers. The master has the data of its
	// last run unless Setup.InMemory is set.
	StartMaster(n int)
	// KillMaster kills a master with SIGKILL. It accepts that the master has ended by itself, as masters do when they
	// lose their leadership.
	KillMaster(n int)
	// SignalMaster sends a signal to a running master.
	SignalMaster(n int, sig syscall.Signal)
	// MasterRuns reports whether a master was started and has not ended.
	MasterRuns(n int) bool
	// MasterAddress returns HOST:PORT of a running master.
	MasterAddress(n int) string
	// CaughtUp reports whether a master runs and has its part of the replicated log. Without such a log, it reports
	// whether the master runs.
	CaughtUp(n int) bool
	// Leads reports whether a master leads and answers.
	Leads(n int) bool

	// StartAgent starts an agent that is not running, with the data of its last run. It returns when the agent
	// answers, which may be before it has registered.
	StartAgent(n int)
	// KillAgent kills an agent with SIGKILL; its executors keep running.
	KillAgent(n int)
	// SignalAgent sends a signal to a running agent.
	SignalAgent(n int, sig syscall.Signal)
	// Registered reports whether an agent runs and has registered since its start. An agent of Apache Mesos is no
	// longer registered when it has lost its master; one of cluster/local is.
	Registered(n int) bool
	// AgentDir returns the folder of an agent, which contains its sandboxes.
	AgentDir(n int) string

	// Operate sends a call to the operator API of a master and returns the answer.
	Operate(master int, call string) (string, error)
	// CredentialsFile returns the file with the credentials that schedulers must send, or "".
	CredentialsFile() string
}

// Kind is one of the two implementations of Mesos.
type Kind string

// The kinds: Apache Mesos in the folder that MESOS_HOME names, and cluster/local.
const (
	Real  Kind = "mesos"
	Local Kind = "local"
)

// Setup describes a Mesos.
type Setup struct {
	// Masters and Agents say how many of each there are; cluster/local always has one master.
	Masters, Agents int
	// ZooKeeper is a shared server, for tests that do not break it; nil for a separate server.
	ZooKeeper *zkserver.Shared
	// InMemory makes masters forget everything at a restart. Otherwise Apache Mesos keeps its registry in a log that
	// is replicated to a majority of the masters, and cluster/local in a file.
	InMemory bool
	// MissedPings is the number of consecutive missed pings after which an agent is unreachable, by default 3.
	MissedPings int
	// Credentials makes masters and agents require credentials.
	Credentials bool
	// Resources are the resources of each agent of Apache Mesos; by default the Machine's CPUs and MemoryMB, and 10 GB
	// of disk. cluster/local ignores them: its agents always have the Machine's.
	Resources string
	// Networks gives each agent of Apache Mesos a Network of its own, which needs root.
	Networks bool
	// MasterArgs and AgentArgs are additional flags of Apache Mesos.
	MasterArgs, AgentArgs []string
}

// The credentials that a Setup with Credentials requires.
const (
	principal = "elasticjob"
	secret    = "not-to-be-shown"
)

// LeadingMaster waits until a master leads, and returns its number.
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

// ReplaceMaster restarts a killed master. If there are several masters, it first waits until another one leads.
func (c *Cluster) ReplaceMaster(killed int) {
	c.Helper()
	if c.setup.Masters > 1 {
		if next := c.LeadingMaster(); next == killed {
			c.Errorf("the killed master %d leads", killed)
		}
	}
	c.RestartMasters()
}

// RestartMasters restarts all masters that were killed or have ended by themselves, as masters do when their ZooKeeper
// session expires. It waits until each has caught up; only then may a test kill the next one. A master that was frozen
// may notice late that its session has expired, and end while RestartMasters waits. It is then restarted, too.
func (c *Cluster) RestartMasters() {
	c.Helper()
	c.awaitMasters(func(n int) {
		if !c.Mesos.MasterRuns(n) {
			c.Mesos.KillMaster(n)
			c.Mesos.StartMaster(n)
		}
	})
}

// awaitMasters waits until each master has caught up. Before each check of a master it calls prepare with the master's
// number.
func (c *Cluster) awaitMasters(prepare func(n int)) {
	c.Helper()
	c.Until("the masters have caught up", func() string {
		for n := 1; n <= c.setup.Masters; n++ {
			prepare(n)
			if !c.Mesos.CaughtUp(n) {
				return fmt.Sprintf("master %d has not", n)
			}
		}
		return ""
	})
}

// Operate sends a call to the operator API of the leading master and returns the answer.
func (c *Cluster) Operate(call string) string {
	c.Helper()
	answer, err := c.Mesos.Operate(c.LeadingMaster(), call)
	if err != nil {
		c.Fatalf("operator call %s: %v", call, err)
	}
	return answer
}

// AwaitAgents waits until all agents have registered. All of them must have been started.
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

// KillMachine kills an agent and everything that it has started with SIGKILL.
func (c *Cluster) KillMachine(n int) {
	c.Helper()
	c.Mesos.KillAgent(n)
	for {
		pids, err := child.Using(c.Mesos.AgentDir(n))
		if err != nil {
			c.Fatal(err)
		}
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				c.Fatalf("kill process %d of agent %d: %v", pid, n, err)
			}
		}
	}
}

// MachineProcesses returns all processes that use the folder of an agent: the agent, its executors, their supervisors
// and their tasks. It fails the test if there is none.
func (c *Cluster) MachineProcesses(n int) []int {
	c.Helper()
	pids, err := child.Using(c.Mesos.AgentDir(n))
	if err != nil {
		c.Fatal(err)
	}
	if len(pids) == 0 {
		c.Fatalf("no process uses the folder of agent %d", n)
	}
	return pids
}

// FreezeMachine freezes all processes of a machine. thaw lets them go on.
func (c *Cluster) FreezeMachine(n int) (thaw func()) {
	c.Helper()
	return c.Freeze(c.MachineProcesses(n))
}

// Freeze stops processes (SIGSTOP). thaw lets them go on, in the same order.
func (c *Cluster) Freeze(pids []int) (thaw func()) {
	c.Helper()
	signal := func(sig syscall.Signal) {
		for _, pid := range pids {
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				c.Fatalf("signal %d to process %d: %v", sig, pid, err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	c.Cleanup(func() { signal(syscall.SIGCONT) })
	return func() { signal(syscall.SIGCONT) }
}

// AgentID returns the id that an agent has at the leading master; "" if the agent is not active there.
func (c *Cluster) AgentID(n int) string {
	c.Helper()
	for _, a := range c.agents() {
		if a.AgentInfo.Hostname == c.agentIP(n) && a.Active {
			return a.AgentInfo.ID.Value
		}
	}
	return ""
}

// AwaitAgentInactive waits until an agent is not active at the leading master. A killed agent is inactive as soon as
// its connection ends, before it is unreachable. A frozen agent is active until it has missed too many pings.
func (c *Cluster) AwaitAgentInactive(n int) {
	c.Helper()
	c.Until(fmt.Sprintf("agent %d is not active", n), func() string {
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

// agentIP returns the address of an agent. Each agent has its own, so that Mesos treats it as a separate machine.
func (c *Cluster) agentIP(n int) string {
	if c.setup.Networks {
		return c.Network(n).Address()
	}
	return loopbackIP(n)
}

// loopbackIP returns the address of an agent without a network of its own.
func loopbackIP(n int) string { return fmt.Sprintf("127.0.0.%d", n+1) }
