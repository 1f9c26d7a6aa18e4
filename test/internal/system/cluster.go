package system

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// Cluster is servers that stand by for each other, with real ZooKeeper servers and a Mesos, all processes
// of their own. The methods of its Machine speak to the server chosen with Via.
type Cluster struct {
	*Machine
	// ZooKeepers are the ensemble, ZK what servers are told of it; a test may put a proxy there.
	ZooKeepers []*zkserver.Server
	ZK         string
	// Masters is what servers are told of the Mesos.
	Masters string
	// SessionTimeout of the servers' ZooKeeper sessions.
	SessionTimeout time.Duration

	zk        *zk.Conn // for looking into nodes; made when first needed
	mesos     *server
	mesosZK   string // what it is told of ZooKeeper
	mesosArgs []string
	agents    map[int]*server
	servers   map[int]*server
}

// Mesos are the flags of the Mesos process beside the usual ones.
type Mesos []string

// NewCluster starts ZooKeeper servers and a Mesos, and no server yet.
func NewCluster(t testing.TB, bin Binaries, zooKeepers int, mesos Mesos) *Cluster {
	t.Helper()
	c := &Cluster{Machine: New(t, bin), SessionTimeout: 2 * time.Second, servers: map[int]*server{}, agents: map[int]*server{}, mesosArgs: mesos}
	t.Cleanup(c.end)
	if zooKeepers == 1 {
		c.ZooKeepers = []*zkserver.Server{zkserver.Start(t)}
	} else {
		c.ZooKeepers = zkserver.StartEnsemble(t, zooKeepers)
	}
	c.ZK = zkserver.Connect(c.ZooKeepers...)
	c.mesosZK, c.Masters = c.ZK, "zk://"+c.ZK+"/mesos"
	c.StartMesos()
	return c
}

// MesosDir is the Mesos' data folder.
func (c *Cluster) MesosDir() string { return filepath.Join(c.Dir, "mesos") }

// MesosURL is the base of the master's API.
func (c *Cluster) MesosURL() string { return c.mesos.url }

// MesosAddress is the master's host and port.
func (c *Cluster) MesosAddress() string { return strings.TrimPrefix(c.mesos.url, "http://") }

// MesosPID is the process id of the Mesos.
func (c *Cluster) MesosPID() int { return c.mesos.cmd.Process.Pid }

// StartMesos starts the Mesos on its data folder and waits until it listens.
func (c *Cluster) StartMesos(args ...string) {
	c.Helper()
	if c.mesos != nil {
		c.Fatal("a Mesos runs already")
	}
	all := slices.Concat([]string{"local-cluster", "--listen", "127.0.0.1:0", "--zk", c.mesosZK, "--zk-session-timeout", "4s", "--data-dir", c.MesosDir(),
		"--agent-ping-timeout", "500ms", "--max-agent-ping-timeouts", "3", "--cpus", fmt.Sprint(c.CPUs), "--memory", fmt.Sprint(c.MemoryMB)}, c.mesosArgs, args)
	c.mesos = c.spawn("the Mesos", c.mesosCommand(all), mesosListening)
}

func (c *Cluster) mesosCommand(args []string) *exec.Cmd {
	cmd := exec.Command(c.bin.Scheduler(), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "MESOS_CANARY=" + c.Canary}
	return cmd
}

// StartAgent starts agent n of a Mesos that has none in its own process, linked to master, and waits until it is ready.
func (c *Cluster) StartAgent(n int, master string, args ...string) {
	c.Helper()
	if c.agents[n] != nil {
		c.Fatalf("agent %d runs already", n)
	}
	all := slices.Concat([]string{"local-agent", "--master", master, "--ip", "127.0.0." + strconv.Itoa(n), "--credentials", filepath.Join(c.MesosDir(), "credentials.json"),
		"--data-dir", c.AgentDir(n), "--cpus", fmt.Sprint(c.CPUs), "--memory", fmt.Sprint(c.MemoryMB)}, args)
	c.agents[n] = c.spawn(fmt.Sprintf("agent %d", n), c.mesosCommand(all), agentReady)
}

// AgentDir is the data folder of agent n.
func (c *Cluster) AgentDir(n int) string { return filepath.Join(c.Dir, "agent-"+strconv.Itoa(n)) }

var agentReady = regexp.MustCompile(`(ready)`)

// KillAgent ends agent n with kill -9; its executors go on.
func (c *Cluster) KillAgent(n int) {
	c.Helper()
	a := c.agents[n]
	delete(c.agents, n)
	if err := a.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.Fatalf("kill -9 agent %d: %v", n, err)
	}
	c.await(fmt.Sprintf("agent %d", n), a)
}

var mesosListening = regexp.MustCompile(`(http://127\.[0-9.]+:\d+)`)

// KillMesos ends the Mesos, master and agents, with kill -9; executors go on.
func (c *Cluster) KillMesos() {
	c.Helper()
	c.signal("the Mesos", c.mesos, syscall.SIGKILL)
	c.await("the Mesos", c.mesos)
	c.mesos = nil
}

// ServerCommand is the command line of server n, not started.
func (c *Cluster) ServerCommand(n int, args ...string) *exec.Cmd {
	all := slices.Concat([]string{"--zk", c.ZK, "--mesos", c.Masters, "--mesos-credentials-file", filepath.Join(c.MesosDir(), "credentials.json"),
		"--zk-session-timeout", c.SessionTimeout.String(), "--data-dir", filepath.Join(c.Dir, "server-"+strconv.Itoa(n)),
		"--listen", "127.0.0.1:0", "--time-zone", "UTC"}, c.args, args)
	cmd := exec.Command(c.bin.Scheduler(), all...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "SECRET_OF_THE_SERVER=" + c.Canary, "MESOS_CANARY=" + c.Canary}
	return cmd
}

// StartServer starts server n and waits until it listens.
func (c *Cluster) StartServer(n int, args ...string) {
	c.Helper()
	c.StartServerCommand(n, c.ServerCommand(n, args...))
}

// StartServerCommand starts server n by a command line of its own.
func (c *Cluster) StartServerCommand(n int, cmd *exec.Cmd) {
	c.Helper()
	if c.servers[n] != nil {
		c.Fatalf("server %d runs already", n)
	}
	c.servers[n] = c.spawn(fmt.Sprintf("server %d", n), cmd, listening)
	if c.server == nil {
		c.Via(n)
	}
}

// StartServers starts servers 1 to n and waits until each sees a leader.
func (c *Cluster) StartServers(n int, args ...string) {
	c.Helper()
	for i := 1; i <= n; i++ {
		c.StartServer(i, args...)
	}
	for i := 1; i <= n; i++ {
		c.Via(i)
		c.Ready()
	}
}

// Via chooses the server that requests are sent to.
func (c *Cluster) Via(n int) {
	c.Helper()
	if c.servers[n] == nil {
		c.Fatalf("server %d doesn't run", n)
	}
	c.server = c.servers[n]
}

// ServerURL is the base of server n.
func (c *Cluster) ServerURL(n int) string { return c.servers[n].url }

// Runs reports whether server n was started and has not ended.
func (c *Cluster) Runs(n int) bool {
	s := c.servers[n]
	if s == nil {
		return false
	}
	select {
	case <-s.over:
		return false
	default:
		return true
	}
}

// ServerLog is what server n has logged since its start.
func (c *Cluster) ServerLog(n int) string { return c.servers[n].log.text() }

// SignalServer sends server n a signal.
func (c *Cluster) SignalServer(n int, sig syscall.Signal) {
	c.Helper()
	c.signal(fmt.Sprintf("server %d", n), c.servers[n], sig)
}

// AwaitServer waits until server n has ended and gives its exit status, -1 after a signal.
func (c *Cluster) AwaitServer(n int) int {
	c.Helper()
	s := c.servers[n]
	delete(c.servers, n)
	if c.server == s {
		c.server = nil
	}
	return c.await(fmt.Sprintf("server %d", n), s)
}

// KillServer ends server n with kill -9, and reports whether it had not ended before.
func (c *Cluster) KillServer(n int) (lived bool) {
	c.Helper()
	err := c.servers[n].cmd.Process.Kill()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.Fatalf("kill -9 server %d: %v", n, err)
	}
	c.AwaitServer(n)
	return err == nil
}

// Reap forgets server n if it has ended, and reports whether there was one.
func (c *Cluster) Reap(n int) bool {
	c.Helper()
	if c.servers[n] == nil || c.Runs(n) {
		return false
	}
	c.AwaitServer(n)
	return true
}

// StopServer ends server n with SIGTERM.
func (c *Cluster) StopServer(n int) {
	c.Helper()
	log := c.servers[n].log
	c.SignalServer(n, syscall.SIGTERM)
	if status := c.AwaitServer(n); status != 0 {
		c.Errorf("after SIGTERM server %d ended with status %d\n%s", n, status, log.tail())
	}
}

func (c *Cluster) signal(what string, s *server, sig syscall.Signal) {
	c.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		c.Fatalf("signal %s: %v", what, err)
	}
}

// LeaderView is what a server says of who leads.
type LeaderView struct {
	Address string
	Term    int64
	Since   time.Time
	Self    bool
}

// AwaitLeader waits until a server other than those that are named says that it
// leads and is ready, and chooses it for requests.
func (c *Cluster) AwaitLeader(not ...int) int {
	c.Helper()
	leader := 0
	c.Until("a server leads", func() (said string) {
		leader, said = c.leads(not...)
		return said
	})
	c.Via(leader)
	return leader
}

// leads asks the servers which of them leads and is ready, and gives 0 and what they say if none does.
func (c *Cluster) leads(not ...int) (leader int, said string) {
	said = "no server runs"
	for n, s := range c.servers {
		if slices.Contains(not, n) || !c.Runs(n) {
			continue
		}
		a, err := send(c.client, "GET", s.url+"/readyz", "", nil)
		if err == nil && a.Status == http.StatusOK && strings.Contains(a.Body, `"leading":true`) {
			return n, ""
		}
		said += fmt.Sprintf("; server %d: %v %s", n, err, a.Body)
	}
	return 0, said
}

// end ends servers, the Mesos, and what it left running.
func (c *Cluster) end() {
	c.server = nil
	for n, s := range maps.Clone(c.servers) {
		if c.Failed() {
			c.Logf("the log of server %d ends:\n%s", n, s.log.tail())
		}
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		if c.Runs(n) {
			c.StopServer(n)
		}
	}
	for n, a := range maps.Clone(c.agents) {
		if c.Failed() {
			c.Logf("the log of agent %d ends:\n%s", n, a.log.tail())
		}
		c.KillAgent(n)
	}
	if c.mesos != nil {
		if c.Failed() {
			c.Logf("the log of the Mesos ends:\n%s", c.mesos.log.tail())
		}
		c.KillMesos()
	}
}

// Operate sends a call to the master's operator API and gives its answer.
func (c *Cluster) Operate(call string) string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.MesosDir(), "credentials.json"))
	if err != nil {
		c.Fatal(err)
	}
	var own struct{ Principal, Secret string }
	c.decode(string(text), &own)
	auth := base64.StdEncoding.EncodeToString([]byte(own.Principal + ":" + own.Secret))
	a, err := send(c.client, "POST", c.mesos.url+"/api/v1", call, []string{"Authorization: Basic " + auth, "Accept: application/json"})
	if err != nil || a.Status >= 300 {
		c.Fatalf("operator call %s: %v %d %s", call, err, a.Status, a.Body)
	}
	return a.Body
}
