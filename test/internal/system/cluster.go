package system

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/mariadb"
	"github.com/elasticjob-go/elasticjob/test/mesosserver"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// Cluster is several servers, one of which leads, with real ZooKeeper servers and a Mesos, all processes
// of their own. The methods of its Machine speak to the server chosen with Via.
type Cluster struct {
	*Machine
	// ZooKeepers are the ensemble, which a test may break unless it shares it, ZK what servers get as its address; a
	// test may put a proxy there.
	ZooKeepers []*zkserver.Server
	ZK         string
	// Database is where the registry is instead, nil if that is in ZooKeeper, and Registry what servers get as its
	// address.
	Database *mariadb.Server
	Registry string
	// Mesos is the cluster that jobs run on, nil if that is another one, Masters the address that servers get; a test
	// may put a proxy there.
	Mesos   Mesos
	Masters string
	// CAFile, if not empty, has the certificates that agents of a cluster/local trust from its next start on.
	CAFile string
	// SessionTimeout of the servers' ZooKeeper sessions, or the lease in the database.
	SessionTimeout time.Duration

	zk      *zk.Conn // for looking into nodes; made when first needed
	chroot  string   // what is above all nodes of the test; empty in an ensemble of its own
	setup   Setup
	local   *local // the Mesos, if it is cluster/local
	servers map[int]*server
}

// Kind is that of the cluster's Mesos.
func (c *Cluster) Kind() Kind {
	if c.local != nil {
		return Local
	}
	return Real
}

// LocalFlags are flags of the local-cluster process beside the usual ones.
type LocalFlags []string

// NewCluster starts ZooKeeper servers and a cluster/local, with an agent in the master's process unless the flags say
// otherwise, and no server yet.
func NewCluster(t testing.TB, bin Binaries, zooKeepers int, flags LocalFlags) *Cluster {
	t.Helper()
	c := newCluster(t, bin)
	c.startZooKeepers(zooKeepers)
	c.startLocal(flags)
	return c
}

// NewClusterInSQL is NewCluster with a database, in which it makes one for the registry, in the place of ZooKeeper.
func NewClusterInSQL(t testing.TB, bin Binaries, db *mariadb.Server, flags LocalFlags) *Cluster {
	t.Helper()
	c := NewServersInSQL(t, bin, db)
	c.startLocal(flags)
	return c
}

// NewServersInSQL is for servers whose registry is in a database, and starts none yet. args are for every server:
// among them is where jobs run.
func NewServersInSQL(t testing.TB, bin Binaries, db *mariadb.Server, args ...string) *Cluster {
	t.Helper()
	c := newCluster(t, bin, args...)
	c.Database, c.Registry = db, db.Database(t)
	return c
}

func (c *Cluster) startLocal(flags LocalFlags) {
	c.Helper()
	c.setup = Setup{Masters: 1}
	c.local = newLocal(c, c.setup)
	c.local.whole = append([]string{"--agents", "1"}, flags...)
	c.useLocal()
	c.StartMesos()
}

// NewClusterOn starts a ZooKeeper server, unless the setup names one, and a Mesos with all its masters and agents, and
// no server yet.
func NewClusterOn(t testing.TB, bin Binaries, kind Kind, setup Setup) *Cluster {
	t.Helper()
	if kind == Real {
		mesosserver.Require(t)
	}
	c := newCluster(t, bin)
	if setup.ZooKeeper == nil {
		c.startZooKeepers(1)
	} else {
		c.ZooKeepers = make([]*zkserver.Server, 1)
		c.ZooKeepers[0], c.chroot = setup.ZooKeeper.Chroot(t)
		c.useZooKeepers()
	}
	setup.Masters = max(setup.Masters, 1)
	c.setup = setup
	if kind == Real {
		c.Mesos = newReal(c, setup)
	} else {
		c.setup.Masters = 1
		c.local = newLocal(c, setup)
		c.useLocal()
	}
	for n := 1; n <= c.setup.Masters; n++ {
		c.Mesos.StartMaster(n)
	}
	for n := 1; n <= setup.Agents; n++ {
		c.Mesos.StartAgent(n)
	}
	c.awaitMasters()
	c.AwaitAgents()
	return c
}

// useLocal has servers find the cluster/local, which has no election, by its address.
func (c *Cluster) useLocal() { c.Mesos, c.Masters = c.local, c.MesosURL() }

func newCluster(t testing.TB, bin Binaries, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{Machine: New(t, bin, args...), SessionTimeout: 2 * time.Second, servers: map[int]*server{}}
	t.Cleanup(c.end)
	return c
}

func (c *Cluster) startZooKeepers(n int) {
	c.Helper()
	if n == 1 {
		c.ZooKeepers = []*zkserver.Server{zkserver.Start(c)}
	} else {
		c.ZooKeepers = zkserver.StartEnsemble(c, n)
	}
	c.useZooKeepers()
}

func (c *Cluster) useZooKeepers() {
	c.ZK = zkserver.Connect(c.ZooKeepers...) + c.chroot
	c.Masters = "zk://" + c.ZK + "/mesos"
}

// registry are the flags that say where configuration and state are.
func (c *Cluster) registry() []string {
	if c.Database != nil {
		return []string{"--registry-lease", c.SessionTimeout.String()}
	}
	return []string{"--zk", c.ZK, "--zk-session-timeout", c.SessionTimeout.String()}
}

// mesos are the flags that say where jobs run, if that is a Mesos.
func (c *Cluster) mesos() (flags []string) {
	if c.Mesos == nil {
		return nil
	}
	if file := c.Mesos.CredentialsFile(); file != "" {
		flags = []string{"--mesos-credentials-file", file}
	}
	return append(flags, "--mesos", c.Masters)
}

// ServerCommand is the command line of server n, not started.
func (c *Cluster) ServerCommand(n int, args ...string) *exec.Cmd {
	all := slices.Concat(c.registry(), c.mesos(),
		[]string{"--data-dir", filepath.Join(c.Dir, "server-"+strconv.Itoa(n)),
			"--listen", "127.0.0.1:0", "--time-zone", "UTC"}, c.args, args)
	cmd := exec.Command(c.bin.Scheduler(), all...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "SECRET_OF_THE_SERVER=" + c.Canary,
		"MESOS_CANARY=" + c.Canary}
	cmd.Env = append(cmd.Env, asRoot(all)...)
	if c.Database != nil {
		cmd.Env = append(cmd.Env, "ELASTICJOB_REGISTRY="+c.Registry)
	}
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
	c.use(c.servers[n])
}

// ServerURL is the base of server n.
func (c *Cluster) ServerURL(n int) string { return c.servers[n].url }

// Runs reports whether server n was started and has not ended.
func (c *Cluster) Runs(n int) bool { return c.servers[n].runs() }

// ServerLog is what server n has logged since its start.
func (c *Cluster) ServerLog(n int) string { return c.servers[n].log.String() }

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
		c.use(nil)
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

// end ends servers, the Mesos, and what it left running.
func (c *Cluster) end() {
	c.use(nil)
	for n, s := range maps.Clone(c.servers) {
		if c.Failed() {
			c.Logf("the log of server %d ends:\n%s", n, s.log.tail())
		}
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
		if c.Runs(n) {
			c.StopServer(n)
		}
	}
	if c.local != nil {
		c.local.end()
	}
}
