package system

import (
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/mesosserver"
)

// real is Apache Mesos.
type real struct {
	c           *Cluster
	setup       Setup
	credentials *mesosserver.Credentials
	file        string
	masters     map[int]*mesosserver.Master
	agents      map[int]*mesosserver.Agent
}

func newReal(c *Cluster, setup Setup) *real {
	c.Helper()
	r := &real{c: c, setup: setup, masters: map[int]*mesosserver.Master{}, agents: map[int]*mesosserver.Agent{}}
	if setup.Credentials {
		r.credentials = &mesosserver.Credentials{Principal: principal, Secret: secret}
		r.file = c.Secret("mesos-credentials", principal+" "+secret)
	}
	return r
}

// zk returns the address at which masters elect a leader.
func (r *real) zk() string { return "zk://" + r.c.ZK + "/mesos" }

func (r *real) StartMaster(n int) {
	r.c.Helper()
	if m := r.masters[n]; m != nil {
		m.Restart()
		return
	}
	quorum := r.setup.Masters/2 + 1
	if r.setup.InMemory {
		quorum = 0
	}
	args := r.setup.MasterArgs
	if missed := r.setup.MissedPings; missed > 0 {
		args = append([]string{fmt.Sprint("--max_agent_ping_timeouts=", missed)}, args...)
	}
	r.masters[n] = mesosserver.StartMaster(r.c.TB, mesosserver.MasterOptions{
		Dir: filepath.Join(r.c.Dir, fmt.Sprint("master-", n)), ZK: r.zk(), Quorum: quorum, Credentials: r.credentials,
		Args: args,
	})
}

func (r *real) KillMaster(n int) { r.c.Helper(); r.masters[n].Kill() }
func (r *real) SignalMaster(n int, sig syscall.Signal) {
	r.c.Helper()
	r.c.kill(r.masters[n].PID(), sig)
}
func (r *real) MasterRuns(n int) bool      { return r.masters[n] != nil && r.masters[n].Runs() }
func (r *real) MasterAddress(n int) string { return r.masters[n].Address() }
func (r *real) CaughtUp(n int) bool        { return r.masters[n].CaughtUp() }
func (r *real) Leads(n int) bool           { return r.masters[n].Leads() }

func (r *real) StartAgent(n int) {
	r.c.Helper()
	if a := r.agents[n]; a != nil {
		a.Restart()
		return
	}
	resources := r.setup.Resources
	if resources == "" {
		resources = fmt.Sprintf("cpus:%v;mem:%v;disk:10000", r.c.CPUs, r.c.MemoryMB)
	}
	namespace := ""
	if r.setup.Networks {
		namespace = r.c.Network(n).Name()
	}
	r.agents[n] = mesosserver.StartAgent(r.c.TB, mesosserver.AgentOptions{
		Dir: r.AgentDir(n), IP: r.c.agentIP(n), Namespace: namespace, Master: r.zk(), Resources: resources, Credentials: r.credentials,
		Args: r.setup.AgentArgs, Env: []string{"CANARY=" + r.c.Canary},
	})
}

func (r *real) KillAgent(n int)                       { r.c.Helper(); r.agents[n].Kill() }
func (r *real) SignalAgent(n int, sig syscall.Signal) { r.c.Helper(); r.c.kill(r.agents[n].PID(), sig) }
func (r *real) Registered(n int) bool                 { return r.agents[n].Registered() }
func (r *real) AgentDir(n int) string                 { return filepath.Join(r.c.Dir, fmt.Sprint("agent-", n)) }

func (r *real) Operate(master int, call string) (string, error) {
	return r.masters[master].Operate(call)
}
func (r *real) CredentialsFile() string { return r.file }

// kill sends a signal to a process.
func (m *Machine) kill(pid int, sig syscall.Signal) {
	m.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		m.Fatalf("%v to process %d: %v", sig, pid, err)
	}
}
