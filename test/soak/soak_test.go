//go:build soak

package soak_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var (
	seed     = flag.Uint64("soak.seed", 0, "seed of the random choices; 0 for another one each time")
	duration = flag.Duration("soak.duration", 10*time.Minute, "how long things are broken")
	kind     = flag.String("soak.on", "mesos",
		"mesos, local-cluster (cluster/local as processes) or local (one server with --local)")
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 1)) }

// soak is a storm of long duration.
type soak struct {
	*system.Machine
	random *rand.Rand
	storm  *system.Storm
	until  time.Time
	did    map[string]int
	asked  int
	faults []happened
}

// happened is a fault, with the size of the ledger before and after it.
type happened struct {
	name     string
	from, to int64
}

func begin(m *system.Machine) *soak {
	m.Helper()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	m.Logf("seed %d", *seed)
	fmt.Fprintf(os.Stderr, "soak: seed %d, %v on %s\n", *seed, *duration, *kind)
	return &soak{
		Machine: m, random: rand.New(rand.NewPCG(*seed, 0)), until: time.Now().Add(*duration), did: map[string]int{},
		// With failover, shards that are lost with an executor run again.
		storm: system.NewStorm(m, system.Doc{"failover": true}),
	}
}

// executorKilled is the name of the only fault after which a shard that has come to its end may run again.
const executorKilled = "executor killed"

// fault breaks something, and repairs it before it returns.
type fault struct {
	name string
	do   func()
}

// run causes random faults until the time is up, and then checks the ledger.
func (s *soak) run(faults []fault) {
	s.Helper()
	reported := time.Now()
	for round := 0; time.Now().Before(s.until); round++ {
		s.storm.Ask(fmt.Sprint("trigger-", s.asked))
		s.asked++
		s.wait(5 * time.Second)
		f := faults[s.random.IntN(len(faults))]
		from := s.ledgerSize()
		f.do()
		s.faults = append(s.faults, happened{f.name, from, s.ledgerSize()})
		s.did[f.name]++
		if time.Since(reported) > time.Minute {
			reported = time.Now()
			fmt.Fprintf(os.Stderr, "soak: %v to go; so far %v\n", time.Until(s.until).Round(time.Second), s.did)
		}
	}
	said := s.storm.Settle(true)
	starts, ends := s.Ran()
	asked := map[string]bool{}
	for part := range starts {
		if ends[part] == 0 {
			s.Errorf("promise 1: %+v never ended", part)
		}
		if ends[part] > 1 {
			s.wantUnreported(part)
		}
		if !asked[part.Execution] {
			asked[part.Execution] = true
			s.wantFinished(part.Execution)
		}
	}
	fmt.Fprintf(os.Stderr, "soak: seed %d: %v: %s\n", *seed, s.did, said)
}

// wantUnreported checks a shard whose process came to its end more than once: between each end and the next entry, the
// executor must have been killed. Only then can the end be unreported, so that the shard counts as lost and runs again.
func (s *soak) wantUnreported(part system.Part) {
	s.Helper()
	var end *system.Entry
	for _, e := range s.Ledger() {
		switch {
		case e.Execution != part.Execution || e.Item != part.Item:
		case e.What == "end":
			end = &e
		case end != nil:
			meanwhile := map[string]bool{}
			for _, f := range s.faults {
				if f.from <= e.Offset && f.to >= end.Offset {
					meanwhile[f.name] = true
				}
			}
			if !meanwhile[executorKilled] {
				s.Errorf("promise 2: %+v came to its end and was run again, as %+v; meanwhile: %v", *end, e, meanwhile)
			}
		}
	}
}

// ledgerSize is the size of the ledger in bytes.
func (s *soak) ledgerSize() int64 {
	info, err := os.Stat(s.LedgerPath)
	if err != nil {
		return 0 // nothing has run yet
	}
	return info.Size()
}

// wantFinished checks that an execution has finished. An execution that the servers have forgotten counts as
// finished: of each job they keep the last 20 that finished, and the last 100 that failed.
func (s *soak) wantFinished(id string) {
	s.Helper()
	if e, found := s.FindExecution(id); found && e.State != "FINISHED" {
		s.Errorf("%+v: want FINISHED", e)
	}
}

// wait waits for a random time of up to limit.
func (s *soak) wait(limit time.Duration) {
	<-time.After(time.Duration(s.random.Float64() * float64(limit)))
}

// killExecutor kills one of the executors with SIGKILL, or all of them.
func (s *soak) killExecutor() {
	s.Helper()
	all := s.Executors()
	if len(all) > 0 && s.random.IntN(2) == 0 {
		one := s.random.IntN(len(all))
		all = all[one : one+1]
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			s.Fatal(err)
		}
	}
	s.did["executors that ended with it"] += len(all)
}

// TestSoak breaks a cluster, or a single server with --local, at random.
func TestSoak(t *testing.T) {
	on, known := map[string]system.Kind{"mesos": system.Real, "local-cluster": system.Local, "local": ""}[*kind]
	if !known {
		t.Fatalf("-soak.on %q: want mesos, local-cluster or local", *kind)
	}
	if on == "" {
		single(t)
		return
	}
	c := system.NewClusterOn(t, bin, on, system.Setup{Masters: 3, Agents: 3})
	c.StartServers(2)
	leader := c.AwaitLeader()
	s := begin(c.Machine)
	agent := func() int { return 1 + s.random.IntN(3) }
	s.run([]fault{
		{"server killed", func() {
			c.KillServer(leader)
			next := c.AwaitLeader(leader)
			c.StartServer(leader)
			leader = next
		}},
		{"server frozen", func() {
			c.SignalServer(leader, syscall.SIGSTOP)
			c.Via(3 - leader)
			next := c.AwaitLeader(leader)
			c.SignalServer(leader, syscall.SIGCONT)
			leader = next
		}},
		{"master killed", func() {
			n := c.LeadingMaster()
			c.Mesos.KillMaster(n)
			c.ReplaceMaster(n)
		}},
		{"master frozen", func() {
			n := c.LeadingMaster()
			c.Mesos.SignalMaster(n, syscall.SIGSTOP)
			s.wait(10 * time.Second) // a session ends after 4 s
			c.Mesos.SignalMaster(n, syscall.SIGCONT)
			s.wait(time.Second)
			c.LeadingMaster()
			c.RestartMasters() // a master that has lost its leadership ends itself
		}},
		{"agent killed", func() {
			n := agent()
			c.Mesos.KillAgent(n)
			s.wait(6 * time.Second) // it is unreachable after 3 s
			c.Mesos.StartAgent(n)
		}},
		{"agent frozen", func() {
			n := agent()
			c.Mesos.SignalAgent(n, syscall.SIGSTOP)
			s.wait(8 * time.Second)
			c.Mesos.SignalAgent(n, syscall.SIGCONT)
		}},
		{executorKilled, s.killExecutor},
	})
}

// single breaks one server with --local.
func single(t *testing.T) {
	m := system.New(t, bin)
	m.Start()
	s := begin(m)
	s.run([]fault{
		{"server killed", func() { m.Kill(); s.wait(3 * time.Second); m.Start() }},
		{"server killed at its start", func() {
			m.Kill()
			m.StartAndKill(time.Duration(s.random.Float64() * float64(time.Second)))
			m.Start()
		}},
		{"server stopped", func() { m.Stop(); m.Start() }},
		{executorKilled, s.killExecutor},
	})
}
