package cluster_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// points are failure points, at each of which a server kills itself; ":n" means when it gets there for the n-th time.
var points = []string{
	"before-commit:2", "after-commit:2", "before-accept", "after-accept", "before-ack:2", "after-ack",
	"before-kill", "config-committed", "term-begun", "before-subscribe", "after-subscribe",
}

// TestLeaderKilled kills the leader with SIGKILL 22 times while crons fire and triggers arrive: alternately at a
// random time, and at one of the steps of launch, update and commit (promises 1 to 3, rules T1-T7, F1-F5).
func TestLeaderKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := start(t, 1)
	storm := system.NewStorm(c.Machine)
	c.Job("victim", "storm", system.Doc{"env": env("TAKES", "60")})
	kills := 0
	var took []time.Duration
	leader := 1
	for round, point := range points {
		// The server that will lead next is armed, and kills itself when it leads; another standby follows it.
		armed, after := leader%3+1, (leader+1)%3+1
		cmd := c.ServerCommand(armed)
		cmd.Env = append(cmd.Env, "ELASTICJOB_FAILPOINT="+point)
		c.StartServerCommand(armed, cmd)
		c.Via(armed)
		c.Ready() // it knows the leader, and is now a candidate
		c.AwaitCandidates(2)
		c.StartServer(after)
		c.Via(leader)
		storm.Ask(fmt.Sprint("calm-", round))
		at := time.Now().Add(time.Duration(random.Float64() * float64(time.Second)))
		c.Until("the time of the kill has come", func() string {
			if time.Now().Before(at) {
				return "not yet"
			}
			return ""
		})
		late := c.Async("POST", "/api/job/asked/trigger", fmt.Sprint("Idempotency-Key: late-", round))
		c.KillServer(leader)
		<-late
		c.Via(armed)
		tries := 0
		c.Until("the next leader ends itself at "+point, func() string {
			if !c.Runs(armed) {
				return ""
			}
			// These requests make the leader reach each failure point; their results do not matter.
			tries++
			for _, r := range [][3]string{
				{"POST", "/api/job/asked/trigger", ""},
				{"PUT", "/api/job/update", fmt.Sprintf(`{"jobName":"victim","description":"%d"}`, tries)},
				{"POST", "/api/job/victim/trigger", ""},
				{"POST", "/api/job/victim/disable", ""},
				{"POST", "/api/job/victim/enable", ""},
			} {
				_, _ = c.Try(r[0], r[1], r[2])
			}
			return "it is still running"
		})
		ended := time.Now()
		c.Reap(armed)
		kills += 2
		leader = c.AwaitLeader()
		took = append(took, time.Since(ended))
		if leader != after {
			t.Fatalf("server %d leads, want %d", leader, after)
		}
	}
	for round := range points {
		c.Until("the trigger that was sent during the kill is accepted", func() string {
			if !storm.Ask(fmt.Sprint("late-", round)) {
				return "not yet"
			}
			return ""
		})
	}
	c.OK("POST", "/api/job/victim/disable", "")
	slices.Sort(took)
	t.Logf("%d leaders killed, %d of them at failure points; the next was ready after %v (median) and %v (longest), with a session timeout of %v: %s",
		kills, len(points), took[len(took)/2], took[len(took)-1], c.SessionTimeout, storm.Settle(false))
}

// TestHandOver: a leader that receives SIGTERM hands over at once. Runs continue, and the framework keeps its id and
// its tasks.
func TestHandOver(t *testing.T) {
	c := start(t, 2)
	storm := system.NewStorm(c.Machine)
	framework := c.Node("/ha/framework_id")
	var took []time.Duration
	for range 4 {
		leader := c.AwaitLeader()
		c.Until("a shard is running", func() string {
			if x := c.Explain("patient"); len(x.Running) == 0 {
				return fmt.Sprintf("%+v", x)
			}
			return ""
		})
		told := time.Now()
		c.SignalServer(leader, syscall.SIGTERM)
		c.AwaitLeader(leader)
		took = append(took, time.Since(told))
		if status := c.AwaitServer(leader); status != 0 {
			t.Errorf("after SIGTERM: status %d", status)
		}
		c.StartServer(leader)
	}
	if now := c.Node("/ha/framework_id"); now != framework || now == "" {
		t.Errorf("framework id %q, was %q", now, framework)
	}
	t.Logf("the next leader was ready after %v: %s", took, storm.Settle(false))
}

// TestFollowers: a follower answers every request, forwards writes, streams logs, and names the leader.
func TestFollowers(t *testing.T) {
	c := start(t, 3)
	leader := c.AwaitLeader()
	var said [4]system.LeaderView
	for n := 1; n <= 3; n++ {
		c.Via(n)
		c.Ready()
		c.Get("/api/leader", &said[n])
		if said[n].Self != (n == leader) {
			t.Errorf("server %d, leader %d: %+v", n, leader, said[n])
		}
		if said[n].Address != said[1].Address || said[n].Term != said[1].Term || !said[n].Since.Equal(said[1].Since) {
			t.Errorf("server %d says %+v, server 1 %+v", n, said[n], said[1])
		}
	}
	if "http://"+said[leader].Address != c.ServerURL(leader) {
		t.Errorf("the leader's address is %s, want %s", said[leader].Address, c.ServerURL(leader))
	}
	follower := leader%3 + 1
	c.Via(follower)
	followLog(t, c)
	// Errors are forwarded unchanged.
	c.Refused(http.StatusNotFound, "job_not_found", "GET", "/api/job/nobody/explain", "")
	// Without a leader the answer comes at once: 503, or 200 if the server has become the leader meanwhile.
	third := 6 - leader - follower
	c.KillServer(third)
	c.KillServer(leader)
	a := c.Call("GET", "/api/job/jobs", "")
	if a.Status == http.StatusOK && !strings.Contains(a.Body, "through") ||
		a.Status != http.StatusOK && a.Status != http.StatusServiceUnavailable {
		t.Errorf("with no leader: %d %s", a.Status, a.Body)
	}
	c.AwaitLeader()
	c.Run("through", "FINISHED")
}

// followLog runs a job, and follows its output to the end through the chosen server.
func followLog(t *testing.T, c *system.Cluster) {
	t.Helper()
	hold := t.TempDir() + "/hold"
	c.App("through", system.Files{"bin/start.sh": "#!/bin/sh\necho first\nuntil [ -e \"$HOLD\" ]; do sleep 0.05; done\necho last\n"}, nil)
	c.Job("through", "through", system.Doc{"env": env("HOLD", hold)})
	id := c.Trigger("through")
	e := c.AwaitShards(id, "RUNNING")
	stream := c.Stream("/api/task/" + e.Shards[0].TaskID + "/logs?follow=true")
	defer func() { _ = stream.Close() }()
	text := make([]byte, 6)
	if _, err := io.ReadFull(stream, text); err != nil || string(text) != "first\n" {
		t.Errorf("the log through a follower begins with %q, %v", text, err)
	}
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(stream); err != nil || string(rest) != "last\n" {
		t.Errorf("the log continues with %q, %v", rest, err)
	}
	c.Await(id, "FINISHED")
}
