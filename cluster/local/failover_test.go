package local

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire forwards connections to another address. It can be cut, and it can delay data like a network that loses packets.
type wire struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup

	mu      sync.Mutex
	isCut   bool
	flowing chan struct{} // closed unless data is held back
	ends    []net.Conn
}

// hold holds data back until release is called.
func (c *wire) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	flowing := make(chan struct{})
	c.flowing = flowing
	return func() { close(flowing) }
}

// direction is one direction of a connection.
type direction struct {
	c  *wire
	to net.Conn
}

func (d direction) Write(p []byte) (int, error) {
	d.c.mu.Lock()
	flowing := d.c.flowing
	d.c.mu.Unlock()
	<-flowing
	return d.to.Write(p)
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &wire{listener: listener, to: to, flowing: make(chan struct{})}
	close(c.flowing)
	c.work.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			c.work.Go(func() { c.join(from) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		c.cut()
		c.work.Wait()
	})
	return c
}

func (c *wire) url() string { return "http://" + c.listener.Addr().String() }

func (c *wire) join(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp4", c.to)
	if err != nil {
		return
	}
	defer to.Close()
	c.mu.Lock()
	if c.isCut {
		c.mu.Unlock()
		return
	}
	c.ends = append(c.ends, from, to)
	c.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(direction{c, from}, to)
		from.Close()
	})
	_, _ = io.Copy(direction{c, to}, from)
	to.Close()
	back.Wait()
}

// cut closes all connections, and those that are opened until repair is called.
func (c *wire) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, end := range c.ends {
		end.Close()
	}
	c.ends = nil
}

func (c *wire) repair() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = false
}

// startWith starts a cluster without credentials.
func startWith(t *testing.T, opts Options) *Cluster {
	t.Helper()
	opts.NoCredentials, opts.Logger = true, slog.New(slog.DiscardHandler)
	opts.CPUs, opts.MemoryMB = 4, 1024
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startMaster starts a master that is quick to notice unreachable agents, without an agent.
func startMaster(t *testing.T, dir string, change ...func(*Options)) *Cluster {
	t.Helper()
	opts := Options{DataDir: dir, Agents: -1, AgentPingTimeout: 50 * time.Millisecond, MaxAgentPingTimeouts: 4}
	for _, c := range change {
		c(&opts)
	}
	return startWith(t, opts)
}

func awaitReady(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

func endAll(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := c.EndExecutors(ctx); err != nil {
		t.Error(err)
	}
	end(t, c)
}

// The agent and its executor continue while the master is down. The updates that the framework then gets depend on what
// the next master remembers.
func TestMasterIsRestarted(t *testing.T) {
	t.Parallel()
	for name, forgets := range map[string]bool{"with its memory": false, "without its memory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			memory := func(o *Options) { o.InMemoryRegistry = forgets }
			m := startMaster(t, dir, memory)
			between := newWire(t, m.address.String())
			a := startWith(t, Options{DataDir: t.TempDir(), Join: between.url()})
			defer endAll(t, a)
			awaitReady(t, a)
			s := subscribe(t, m.MasterURL())
			s.launch(custom(t, "one", "run"))
			s.update("one", "TASK_RUNNING")
			between.cut()
			end(t, m)

			m = startMaster(t, dir, memory)
			defer end(t, m)
			s = subscribe(t, m.MasterURL())
			s.next("SUBSCRIBED")
			between.repair()
			if forgets {
				s.awaitRunning("one", "REASON_AGENT_REREGISTERED")
			}
			s.next("OFFERS")
			s.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "one"}}}})
			s.awaitRunning("one", "REASON_RECONCILIATION")
		})
	}
}

// awaitRunning waits for an update that a task runs, with this reason. Before it, the agent may repeat the executor's
// update, if its acknowledgement was lost with the master.
func (s *subscriber) awaitRunning(task, reason string) {
	s.t.Helper()
	reported := s.update(task, "TASK_RUNNING")
	for reported["source"] == "SOURCE_EXECUTOR" && reported["reason"] == nil {
		reported = s.update(task, "TASK_RUNNING")
	}
	if reported["reason"] != reason {
		s.t.Errorf("reported %v, want it for %s", reported, reason)
	}
}

func TestAgentIsCutOff(t *testing.T) {
	t.Parallel()
	m := startMaster(t, t.TempDir())
	defer end(t, m)
	between := newWire(t, m.address.String())
	a := startWith(t, Options{DataDir: t.TempDir(), Join: between.url(), AgentIP: netip.MustParseAddr("127.0.0.2")})
	defer endAll(t, a)
	s := subscribe(t, m.MasterURL())
	s.launch(custom(t, "sh", "kill"))
	s.next("OFFERS")
	s.update("sh", "TASK_RUNNING")

	between.cut()
	s.next("RESCIND")
	s.update("sh", "TASK_UNREACHABLE")
	s.next("FAILURE")
	between.repair()
	if reported := s.update("sh", "TASK_RUNNING"); reported["reason"] != "REASON_AGENT_REREGISTERED" {
		t.Errorf("reported %v", reported)
	}
	s.next("OFFERS")

	// Both sides detect a network that is silent.
	release := between.hold()
	s.update("sh", "TASK_UNREACHABLE")
	release()
	s.update("sh", "TASK_RUNNING")
	s.next("OFFERS")
}

// An agent that is killed and started again recovers its executor, and the master still knows it.
func TestOneOfTwoAgentsIsRestarted(t *testing.T) {
	t.Parallel()
	m := startMaster(t, t.TempDir())
	defer end(t, m)
	dir := t.TempDir()
	a := startWith(t, Options{DataDir: dir, Agents: 2, Join: m.MasterURL()})
	s := subscribe(t, m.MasterURL())
	s.launch(custom(t, "one", "run"))
	s.update("one", "TASK_RUNNING")
	end(t, a)
	a = startWith(t, Options{DataDir: dir, Agents: 2, Join: m.MasterURL()})
	defer endAll(t, a)
	awaitReady(t, a)
	s.call("RECONCILE", object{"tasks": []any{object{"task_id": object{"value": "one"}}}})
	for state := any(""); state != "TASK_RUNNING"; {
		state = s.nextUpdate("one")["state"]
		if state != "TASK_RUNNING" && state != "TASK_UNREACHABLE" { // unreachable if the restart was slow
			t.Fatalf("after the restart it is %v", state)
		}
	}
	if at := a.members[1].url; !strings.HasPrefix(at, "http://127.0.0.2:") {
		t.Errorf("the second agent is at %s", at)
	}
}

func TestAgentThatTheMasterRefuses(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	m, err := Start(t.Context(), Options{DataDir: t.TempDir(), Agents: -1, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, m)
	a, err := Start(t.Context(), Options{DataDir: t.TempDir(), CPUs: 1, MemoryMB: 64, Join: m.MasterURL(),
		Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, a)
	select {
	case err := <-a.Failed():
		if !strings.Contains(err.Error(), "--credentials") {
			t.Errorf("error %v does not say what to do", err)
		}
	case <-time.After(deadline):
		t.Fatal("the agent continues")
	}
}
