package mesos_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestQuickStart sends the quick start of the README in the form of ElasticJob-Cloud's documents: a cron with seven
// fields, and a trigger with the name as its body.
func TestQuickStart(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		const asJSON = "Content-type: application/json"
		c.Packages.Serve("/my-job.tar.gz",
			system.Tar(t, "my-job", only(`echo "shard $ELASTICJOB_SHARDING_ITEM of $ELASTICJOB_SHARDING_TOTAL_COUNT"`)))
		c.OK("POST", "/api/app", `{"appName":"my_app","appURL":"`+c.Packages.URL("/my-job.tar.gz")+
			`","cpuCount":0.1,"memoryMB":64.0,"bootstrapScript":"bin/start.sh","appCacheEnable":true,"eventTraceSamplingCount":0}`, asJSON)
		c.OK("POST", "/api/job/register",
			`{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","cron":"0/5 * * * * * ?","shardingTotalCount":3,"cpuCount":0.1,"memoryMB":64.0}`, asJSON)
		_, id, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(c.OK("POST", "/api/job/trigger", "my_job",
			asJSON)), `"}`), `":"`)

		e := c.Await(id, "FINISHED")
		if len(e.Shards) != 3 || e.Source != "TRIGGER" {
			t.Errorf("the triggered run is %+v", e)
		}
		x := c.Explain("my_job")
		if len(x.NextFires) == 0 || x.NextFires[0].Second()%5 != 0 {
			t.Errorf("explain: %+v", x)
		}
		c.Until("the cron has fired", func() string {
			if n := c.Metric("elasticjob_fires_total"); n == "0" {
				return "it has not"
			}
			return ""
		})
		for i, s := range e.Shards {
			if a := c.Call("GET", "/api/task/"+s.TaskID+"/logs", ""); a.Body != fmt.Sprintf("shard %d of 3\n", i) {
				t.Errorf("the output of shard %d is %d %q", i, a.Status, a.Body)
			}
		}
		c.OK("DELETE", "/api/app/my_app?jobs=true", "")
	})
}

// TestOutput reads the output of a task while it runs, after it has ended and after its executor has ended, on
// clusters with and without credentials.
func TestOutput(t *testing.T) {
	for _, credentials := range []bool{false, true} {
		t.Run(fmt.Sprint("credentials=", credentials), func(t *testing.T) {
			both(t, system.Setup{Agents: 1, Credentials: credentials}, func(t *testing.T, c *system.Cluster) {
				c.StartServers(1, "--executor-idle", "1s")
				path, release := c.Hold()
				c.App("a", only(`echo first; echo wrong >&2; while [ -e "$HOLD" ]; do sleep 0.05; done; echo "last ü"`), nil)
				c.Job("j", "a", system.Doc{"env": env("HOLD", path)})
				id := c.Trigger("j")
				task := c.AwaitShards(id, "RUNNING").Shards[0].TaskID
				logs := func(when, query, want string) {
					t.Helper()
					if a := c.Call("GET", "/api/task/"+task+"/logs?"+query, ""); a.Status != http.StatusOK ||
						a.Body != want {
						t.Errorf("%s, logs?%s: %d %q, want %q", when, query, a.Status, a.Body, want)
					}
				}
				logs("while it runs", "", "first\n")
				logs("while it runs", "stream=stderr", "wrong\n")
				logs("while it runs", "offset=2", "rst\n")
				logs("while it runs", "offset=100", "")
				if !t.Failed() {
					live := c.Stream("/api/task/" + task + "/logs?follow=true")
					defer func() { _ = live.Close() }()
					lines := bufio.NewReader(live)
					if line, err := lines.ReadString('\n'); line != "first\n" || err != nil {
						t.Errorf("live: %q, %v", line, err)
					}
					release()
					if rest, err := io.ReadAll(lines); string(rest) != "last ü\n" || err != nil {
						t.Errorf("live, the rest: %q, %v", rest, err)
					}
				} else {
					release()
				}
				c.Await(id, "FINISHED")
				logs("when it has ended", "", "first\nlast ü\n")
				c.Until("its executor has ended",
					func() string { return strings.Trim(fmt.Sprint(c.Executors()), "[]") })
				logs("when its executor has ended", "", "first\nlast ü\n")
				logs("when its executor has ended", "stream=stderr", "wrong\n")
				logs("when its executor has ended", "offset=6&follow=true", "last ü\n")
			})
		})
	}
}

// TestDisableKills: disabling a job kills its running shards, and after enabling it the job runs again.
func TestDisableKills(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1, "--kill-grace", "300ms")
		path, release := c.Hold()
		c.App("a", writes, nil)
		c.Job("j", "a", system.Doc{"shardingTotalCount": 2, "misfire": true, "env": env("HOLD", path)})
		runs, waits := c.Trigger("j"), c.Trigger("j")
		starts := c.AwaitStarts(runs, 2)
		c.OK("POST", "/api/job/j/disable", "")
		for _, id := range []string{runs, waits} {
			if e := c.Await(id, "KILLED"); e.Reason == "" {
				t.Errorf("%+v: want a reason", e)
			}
		}
		for _, s := range c.Execution(runs).Shards {
			if s.State != "KILLED" || !strings.Contains(s.FailureCause, "disabled") {
				t.Errorf("%+v: want KILLED, as disabled", s)
			}
		}
		for _, s := range starts {
			if c.Lives(s.PID) {
				t.Errorf("process %d of a killed task lives", s.PID)
			}
		}
		release()
		c.OK("POST", "/api/job/j/enable", "")
		c.Run("j", "FINISHED")
		c.Ran()
	})
}

// TestUpdatedPackage: after an update of the app the next run uses the new package, while a running one keeps the old
// package.
func TestUpdatedPackage(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		path, release := c.Hold()
		says := func(version string) system.Files {
			return only(`echo ` + version + ` >>"$SAID"; while [ -e "$HOLD" ]; do sleep 0.05; done; echo ` + version +
				` >>"$SAID"`)
		}
		said := t.TempDir() + "/said"
		c.App("a", says("old"), nil)
		c.Job("j", "a", system.Doc{"env": env("HOLD", path, "SAID", said)})
		first := c.Trigger("j")
		c.AwaitShards(first, "RUNNING")
		c.Packages.Serve("/a-2.tar", system.Tar(t, "", says("new")))
		c.OK("PUT", "/api/app", `{"appName":"a","appURL":"`+c.Packages.URL("/a-2.tar")+`"}`)
		second := c.Trigger("j")
		release()
		c.Await(first, "FINISHED")
		c.Await(second, "FINISHED")
		if got, want := strings.Fields(read(t, said)), []string{"old", "old", "new", "new"}; !slices.Equal(got, want) {
			t.Errorf("the runs said %v, want %v", got, want)
		}
	})
}
