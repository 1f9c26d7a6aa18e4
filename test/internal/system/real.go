package system

import (
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/mesosserver"
)

// realMesos is Apache Mesos.
type realMesos struct {
	c           *Cluster
	setup       Setup
	credentials *mesosserver.Credentials
	// credentialsFile is for schedulers; empty without Setup.Credentials.
	credentialsFile string
	masters         map[int]*mesosserver.Master
	agents          map[int]*mesosserver.Agent
}

func newRealMesos(c *Cluster, setup Setup) *realMesos {
	c.Helper()
	r := &realMesos{c: c, setup: setup, masters: map[int]*mesosserver.Master{}, agents: map[int]*mesosserver.Agent{}}
	if setup.Credentials {
		r.credentials = &mesosserver.Credentials{Principal: principal, Secret: secret}
		r.credentialsFile = c.Secret("mesos-credentials", principal+" "+secret)
	}
	return r
}

// zk returns the address at which masters elect a leader.
func (r *realMesos) zk() string { return "zk://" + r.c.ZK + "/mesos" }

func (r *realMesos) StartMaster(n int) {
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

func (r *realMesos) KillMaster(n int) { r.c.Helper(); r.masters[n].Kill() }
func (r *realMesos) SignalMaster(n int, sig syscall.Signal) {
	r.c.Helper()
	r.c.kill(r.masters[n].PID(), sig)
}
func (r *realMesos) MasterRuns(n int) bool      { return r.masters[n] != nil && r.masters[n].Runs() }
func (r *realMesos) MasterAddress(n int) string { return r.masters[n].Address() }
func (r *realMesos) CaughtUp(n int) bool        { return r.masters[n].CaughtUp() }
func (r *realMesos) Leads(n int) bool           { return r.masters[n].Leads() }

func (r *realMesos) StartAgent(n int) {
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
		Dir: r.AgentDir(n), IP: r.c.agentIP(n), Namespace: namespace, Master: r.zk(), Resources: resources,
		Credentials: r.credentials, Args: r.setup.AgentArgs, Env: []string{"CANARY=" + r.c.Canary},
	})
}

func (r *realMesos) KillAgent(n int) { r.c.Helper(); r.agents[n].Kill() }
func (r *realMesos) SignalAgent(n int, sig syscall.Signal) {
	r.c.Helper()
	r.c.kill(r.agents[n].PID(), sig)
}
func (r *realMesos) Registered(n int) bool { return r.agents[n].Registered() }
func (r *realMesos) AgentDir(n int) string { return filepath.Join(r.c.Dir, fmt.Sprint("agent-", n)) }

func (r *realMesos) Operate(master int, call string) (string, error) {
	return r.masters[master].Operate(call)
}
func (r *realMesos) CredentialsFile() string { return r.credentialsFile }

// kill sends a signal to a process.
func (m *Machine) kill(pid int, sig syscall.Signal) {
	m.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		m.Fatalf("%v to process %d: %v", sig, pid, err)
	}
}
