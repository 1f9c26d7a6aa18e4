package kubernetes_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

var stormSeed = flag.Uint64("storm.seed", 0, "the seed of the storm's random choices; 0 for a new seed each time")

// TestOnKubernetesStorm runs two servers with a database. It kills and freezes the leader, the database and each part
// of the Kubernetes in random order, while crons fire and triggers arrive: every loss is reported, nothing runs
// twice, and no two runs overlap.
//
// Only the kill of a containerd can lose a shard: afterwards containerd does not know the container that it was just
// starting. The kubelet then reports that the container ended with status 255, or with another status without having
// started. Or the kubelet starts the container a second time, and that start does not run a task that had started. In
// each case the shard is lost, and reported as lost.
func TestOnKubernetesStorm(t *testing.T) {
	w, c := onOwnWithTwo(t, 1)
	seed := *stormSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("the seed is %d: -storm.seed %[1]d makes the same choices", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c.StartServers(2)
	leader := c.AwaitLeader()
	storm := system.NewStormEvery(c.Machine, 4, system.Doc{"memoryMB": 64})
	ask := func(key string) {
		t.Helper()
		c.Until("a trigger is accepted", func() string {
			if !storm.Ask(key) {
				return "not yet"
			}
			return ""
		})
	}
	pass := func(limit time.Duration) { // waits for a random time
		t.Helper()
		until := time.Now().Add(time.Duration(random.Float64() * float64(limit)))
		c.Until("some time has passed", func() string {
			if time.Now().Before(until) {
				return "not yet"
			}
			return ""
		})
	}
	type fault struct {
		name string
		do   func(key string)
	}
	faults := []fault{
		{"the leader is killed", func(string) { leader = c.KillLeader(leader) }},
		{"the leader is frozen", func(key string) { leader = c.FreezeLeader(leader, func() { ask(key) }) }},
		{"the database is killed", func(string) {
			c.Database.Kill()
			pass(3 * time.Second)
			c.Database.Restart(t)
		}},
		{"the database is frozen", func(string) {
			c.Database.Pause(t)
			c.AwaitNoLeader()
			c.Database.Resume(t)
		}},
	}
	addFault := func(part *kubernetesserver.Part, how string, start, end func(testing.TB), limit time.Duration) {
		faults = append(faults, fault{part.String() + " is " + how, func(key string) {
			storm.Ask(key)
			pass(time.Second) // during which the pod of the triggered run is started
			start(t)
			pass(limit)
			end(t)
		}})
	}
	containerd := w.k.Nodes[0].Containerd
	for _, part := range []*kubernetesserver.Part{w.k.API, w.k.Etcd, w.k.Controllers, w.k.Nodes[0].Kubelet, containerd,
		containerd, containerd} {
		frozen := 6 * time.Second
		if part == w.k.API || part == w.k.Etcd {
			frozen = 20 * time.Second // longer than a session with the cluster lasts without a message
		}
		addFault(part, "killed", func(testing.TB) { part.Kill() }, part.Restart, 3*time.Second)
		addFault(part, "frozen", part.Pause, part.Resume, frozen)
	}
	random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for i, f := range faults {
		storm.AwaitRunning()
		pass(2 * time.Second)
		began := time.Now()
		f.do(fmt.Sprint("in fault ", i))
		leader = c.AwaitLeader()
		ask(fmt.Sprint("after fault ", i))
		t.Logf("%s: a trigger was accepted %.1f s later", f.name, time.Since(began).Seconds())
	}
	t.Log(storm.SettleReported(3*system.ShardsAtOnce, "no longer knows how its container ended",
		"it is not known whether its container was started", "its container was started a second time"))
	storm.AskAgain()
}
