package mesosserver_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/mesosserver"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// until waits until a condition is true.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(30 * time.Second)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("it never happened that %s", what)
		case <-poll.C:
		}
	}
}

func TestServersKeepTheirPorts(t *testing.T) {
	t.Parallel()
	m := mesosserver.StartMaster(t, mesosserver.MasterOptions{})
	a := mesosserver.StartAgent(t, mesosserver.AgentOptions{Master: m.Address(), IP: "127.0.0.2",
		Resources: "cpus:3;mem:512;cpus(team):2"})
	until(t, "the agent has registered", a.Registered)
	if !m.Leads() {
		t.Error("a single master doesn't lead")
	}
	until(t, "the master lists the agent", func() bool {
		answer, err := m.Operate(`{"type":"GET_AGENTS"}`)
		return err == nil && strings.Contains(answer, `"127.0.0.2"`) && strings.Contains(answer, `"team"`)
	})
	master, agent := m.Address(), a.Address()
	m.Kill()
	m.Kill()
	if m.Leads() {
		t.Error("a killed master leads")
	}
	a.Kill()
	m.Restart()
	a.Restart()
	until(t, "the agent has registered again", a.Registered)
	if m.Address() != master || a.Address() != agent {
		t.Errorf("master and agent moved from %s and %s to %s and %s", master, agent, m.Address(), a.Address())
	}
	if _, err := os.Stat(a.WorkDir()); err != nil {
		t.Error(err)
	}
}

func TestPausedAgentIsLost(t *testing.T) {
	t.Parallel()
	m := mesosserver.StartMaster(t, mesosserver.MasterOptions{})
	a := mesosserver.StartAgent(t, mesosserver.AgentOptions{Master: m.Address()})
	until(t, "the agent has registered", a.Registered)
	active := func() bool {
		text, err := m.Operate(`{"type":"GET_AGENTS"}`)
		return err == nil && strings.Contains(text, `"active":true`)
	}
	until(t, "the agent is active", active)
	a.Pause()
	until(t, "the paused agent is lost", func() bool { return !active() })
	a.Resume()
	until(t, "the agent is back", active)
}

func TestMastersElectOne(t *testing.T) {
	t.Parallel()
	mesosserver.Require(t)
	zk := zkserver.Start(t)
	awaitLeader := func(masters []*mesosserver.Master) (leader int) {
		until(t, "a master leads", func() bool {
			for i, m := range masters {
				if m.Runs() && m.Leads() {
					leader = i
					return true
				}
			}
			return false
		})
		return leader
	}
	var masters []*mesosserver.Master
	for range 3 {
		masters = append(masters, mesosserver.StartMaster(t,
			mesosserver.MasterOptions{ZK: "zk://" + zk.Address() + "/mesos", Quorum: 2}))
	}
	for _, m := range masters {
		until(t, "the master has caught up", m.CaughtUp)
	}
	first := awaitLeader(masters)
	masters[first].Kill()
	if second := awaitLeader(masters); second == first {
		t.Errorf("the killed master %d leads", first)
	}
	masters[first].Restart()
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	own := &mesosserver.Credentials{Principal: "somebody", Secret: "their-secret"}
	m := mesosserver.StartMaster(t, mesosserver.MasterOptions{Credentials: own})
	a := mesosserver.StartAgent(t, mesosserver.AgentOptions{Master: m.Address(), Credentials: own})
	until(t, "the agent has registered", a.Registered)
	own.Secret = "another-secret"
	if _, err := m.Operate(`{"type":"GET_AGENTS"}`); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("with a wrong secret the master answers %v", err)
	}
}
