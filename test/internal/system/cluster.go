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

	"github.com/elasticjob-go/elasticjob/test/internal/network"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
	"github.com/elasticjob-go/elasticjob/test/mesosserver"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// Cluster is several servers, of which one leads, with ZooKeeper servers or a database, and a Mesos. All of them are
// separate processes. The methods of its Machine send requests to the server chosen with Via, at first to the one that
// was started first.
type Cluster struct {
	*Machine
	// ZooKeepers is the ensemble, which a test may break unless it is shared. ZK is the ensemble's address in the
	// servers' flags; a test may replace it by a proxy's.
	ZooKeepers []*zkserver.Server
	ZK         string
	// Database is the database with the registry; nil if the registry is in ZooKeeper. Registry is the database's
	// address in the servers' environment.
	Database *mariadb.Server
	Registry string
	// Mesos is the cluster that jobs run on; nil for another kind of cluster. Masters is its address in the servers'
	// flags; a test may replace it by a proxy's.
	Mesos   Mesos
	Masters string
	// CAFile, if not empty, names the file with the certificates that processes of cluster/local trust from their next
	// start.
	CAFile string
	// SessionTimeout is the timeout of the servers' ZooKeeper sessions, or the lease in the database.
	SessionTimeout time.Duration

	zk      *zk.Conn // for reading nodes; created when it is first needed
	chroot  string   // the path above all nodes of the test; empty if the ensemble is not shared
	setup   Setup
	local   *localMesos // the Mesos, if it is cluster/local
	servers map[int]*server
	// networks are those of the agents, by number, with Setup.Networks.
	networks map[int]*network.Network
}

// Kind returns the kind of the cluster's Mesos.
func (c *Cluster) Kind() Kind {
	if c.local != nil {
		return Local
	}
	return Real
}

// LocalFlags are additional flags of the local-cluster process.
type LocalFlags []string

// NewCluster starts ZooKeeper servers and a cluster/local, with an agent in the master's process unless the flags say
// otherwise. It starts no server.
func NewCluster(t testing.TB, bin Binaries, zooKeepers int, flags LocalFlags) *Cluster {
	t.Helper()
	c := newCluster(t, bin)
	c.startZooKeepers(zooKeepers)
	c.startLocal(flags)
	return c
}

// NewClusterInSQL is NewCluster with a database for the registry instead of ZooKeeper.
func NewClusterInSQL(t testing.TB, bin Binaries, db *mariadb.Server, flags LocalFlags) *Cluster {
	t.Helper()
	c := NewServersInSQL(t, bin, db)
	c.startLocal(flags)
	return c
}

// NewServersInSQL returns a cluster without a Mesos whose registry is in a database. It starts no server. args are
// flags for every server, which must say where jobs run.
func NewServersInSQL(t testing.TB, bin Binaries, db *mariadb.Server, args ...string) *Cluster {
	t.Helper()
	c := newCluster(t, bin, args...)
	c.Database, c.Registry = db, db.Database(t)
	return c
}

func (c *Cluster) startLocal(flags LocalFlags) {
	c.Helper()
	c.setup = Setup{Masters: 1}
	c.local = newLocalMesos(c, c.setup)
	c.local.combined = append([]string{"--agents", "1"}, flags...)
	c.useLocal()
	c.StartMesos()
}

// NewClusterOn starts a ZooKeeper server, unless the setup names one, and a Mesos with all its masters and agents. It
// starts no server.
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
		c.Mesos = newRealMesos(c, setup)
	} else {
		c.setup.Masters = 1
		c.local = newLocalMesos(c, setup)
		c.useLocal()
	}
	for n := 1; n <= c.setup.Masters; n++ {
		c.Mesos.StartMaster(n)
	}
	for n := 1; n <= setup.Agents; n++ {
		c.Mesos.StartAgent(n)
	}
	c.awaitMasters(func(int) {})
	c.AwaitAgents()
	return c
}

// useLocal makes servers connect to the cluster/local by its address, because its only master takes part in no
// election.
func (c *Cluster) useLocal() { c.Mesos, c.Masters = c.local, c.MesosURL() }

func newCluster(t testing.TB, bin Binaries, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{Machine: New(t, bin, args...), SessionTimeout: 2 * time.Second, servers: map[int]*server{},
		networks: map[int]*network.Network{}}
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

// registryFlags returns the flags for the location of the registry.
func (c *Cluster) registryFlags() []string {
	if c.Database != nil {
		return []string{"--registry-lease", c.SessionTimeout.String()}
	}
	return []string{"--zk", c.ZK, "--zk-session-timeout", c.SessionTimeout.String()}
}

// mesosFlags returns the flags for the location of the Mesos, if there is one.
func (c *Cluster) mesosFlags() (flags []string) {
	if c.Mesos == nil {
		return nil
	}
	if file := c.Mesos.CredentialsFile(); file != "" {
		flags = []string{"--mesos-credentials-file", file}
	}
	return append(flags, "--mesos", c.Masters)
}

// ServerCommand returns the command line of server n without starting it.
func (c *Cluster) ServerCommand(n int, args ...string) *exec.Cmd {
	all := slices.Concat(c.registryFlags(), c.mesosFlags(),
		[]string{"--data-dir", filepath.Join(c.Dir, "server-"+strconv.Itoa(n)),
			"--listen", "127.0.0.1:0", "--time-zone", "UTC"}, c.args, args)
	cmd := exec.Command(c.bin.Scheduler(), all...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "SECRET_OF_THE_SERVER=" + c.Canary,
		"MESOS_CANARY=" + c.Canary}
	cmd.Env = append(cmd.Env, runAsRoot(all)...)
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

// StartServerCommand starts server n with this command line.
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

// StartServers starts servers 1 to n and waits until each knows a leader.
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

// Via chooses the server that receives requests.
func (c *Cluster) Via(n int) {
	c.Helper()
	if c.servers[n] == nil {
		c.Fatalf("server %d doesn't run", n)
	}
	c.use(c.servers[n])
}

// ServerURL returns the base URL of server n.
func (c *Cluster) ServerURL(n int) string { return c.servers[n].url }

// Runs reports whether server n was started and has not ended.
func (c *Cluster) Runs(n int) bool { return c.servers[n].runs() }

// ServerLog returns the log of server n since its start.
func (c *Cluster) ServerLog(n int) string { return c.servers[n].log.String() }

// SignalServer sends a signal to server n.
func (c *Cluster) SignalServer(n int, sig syscall.Signal) {
	c.Helper()
	c.signal(fmt.Sprintf("server %d", n), c.servers[n], sig)
}

// AwaitServer waits until server n has ended and returns its exit status, -1 after a signal.
func (c *Cluster) AwaitServer(n int) int {
	c.Helper()
	s := c.servers[n]
	delete(c.servers, n)
	if c.server == s {
		c.use(nil)
	}
	return c.await(fmt.Sprintf("server %d", n), s)
}

// KillServer kills server n with SIGKILL, and reports whether it was still running.
func (c *Cluster) KillServer(n int) (wasRunning bool) {
	c.Helper()
	err := c.servers[n].cmd.Process.Kill()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.Fatalf("kill -9 server %d: %v", n, err)
	}
	c.AwaitServer(n)
	return err == nil
}

// Reap forgets server n and returns true, if the server was started and has ended.
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

// end ends the servers and the cluster/local. The cleanups of Apache Mesos and of the Machine end the rest.
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
