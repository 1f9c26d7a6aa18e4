package kubernetes_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesQuickStart sends the quick start of the README in the form of ElasticJob-Cloud's documents, and
// checks the pods.
func TestOnKubernetesQuickStart(t *testing.T) {
	w := onShared(t)
	w.serve()
	const asJSON = "Content-type: application/json"
	w.Packages.Serve("/my-job.tar.gz", system.Tar(t, "my-job",
		only(`echo "shard $ELASTICJOB_SHARDING_ITEM of $ELASTICJOB_SHARDING_TOTAL_COUNT"`)))
	w.OK("POST", "/api/app", `{"appName":"my_app","appURL":"`+w.Packages.URL("/my-job.tar.gz")+
		`","cpuCount":0.1,"memoryMB":64.0,"bootstrapScript":"bin/start.sh","appCacheEnable":true,"eventTraceSamplingCount":0}`, asJSON)
	w.OK("POST", "/api/job/register", `{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","cron":"0/5 * * * * * ?","shardingTotalCount":3,"cpuCount":0.1,"memoryMB":64.0}`, asJSON)
	_, id, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(w.OK("POST", "/api/job/trigger", "my_job", asJSON)),
		`"}`), `":"`)
	e := w.Await(id, "FINISHED")
	if len(e.Shards) != 3 || e.Source != "TRIGGER" {
		t.Errorf("the triggered run is %+v", e)
	}
	for i, s := range e.Shards {
		if text := w.Logs(s.TaskID, ""); text != fmt.Sprintf("shard %d of 3\n", i) {
			t.Errorf("the output of shard %d is %q", i, text)
		}
		if s.ExitStatus == nil || *s.ExitStatus != 0 {
			t.Errorf("shard %d: %+v, want exit status 0", i, s)
		}
	}
	found := map[string]bool{}
	for _, p := range w.pods("my_job") {
		l := p.Metadata.Labels
		if l["elasticjob/job"] != "my_job" || l["elasticjob/framework"] == "" || l["elasticjob/attempt"] == "" ||
			!strings.HasPrefix(p.Metadata.Name, "my-job-"+l["elasticjob/item"]+"-") {
			t.Errorf("pod %s has the labels %v", p.Metadata.Name, l)
		}
		found[p.Metadata.Annotations["elasticjob/task-id"]] = true
	}
	for _, s := range e.Shards {
		if !found[s.TaskID] {
			t.Errorf("there is no pod of task %s among %v", s.TaskID, found)
		}
	}
	w.Until("the cron has fired", func() string {
		if w.Metric("elasticjob_fires_total") == "0" {
			return "it has not"
		}
		return ""
	})
	w.OK("DELETE", "/api/app/my_app?jobs=true", "")
}

// TestOnKubernetesImage runs apps with an image, with and without a package.
func TestOnKubernetesImage(t *testing.T) {
	w := onShared(t)
	w.serve()
	asUser := system.Doc{"spec": system.Doc{"securityContext": system.Doc{"runAsUser": 1000}}}
	w.OK("POST", "/api/app", w.json(system.Doc{"appName": "image", "image": kubernetesserver.Box.Name,
		"podTemplate": asUser, "bootstrapScript": "/bin/echo I am", "cpuCount": 0.1, "memoryMB": 64}))
	w.App("both", only("id -u; pwd"), system.Doc{"image": kubernetesserver.Box.Name, "podTemplate": asUser})
	for app, words := range map[string]string{"image": "I am\n", "both": "1000\n"} {
		w.job(app, app, nil)
		e := w.Run(app, "FINISHED")
		if text := w.Logs(e.Shards[0].TaskID, ""); !strings.HasPrefix(text, words) {
			t.Errorf("%s has written %q, want it to begin with %q", app, text, words)
		}
	}
}

// TestOnKubernetesOutput reads a task's output while it runs and after it has ended.
func TestOnKubernetesOutput(t *testing.T) {
	w := onShared(t)
	w.serve()
	path, release := w.Hold()
	w.App("a", only(`echo first; while [ -e "$HOLD" ]; do sleep 0.05; done; echo "last ü"`), nil)
	w.job("j", "a", system.Doc{"env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	task := w.AwaitShards(id, "RUNNING").Shards[0].TaskID
	w.Until("there is output", func() string {
		if text := w.Logs(task, ""); text != "first\n" {
			return fmt.Sprintf("it is %q", text)
		}
		return ""
	})
	live := w.Stream("/api/task/" + task + "/logs?follow=true")
	defer func() { _ = live.Close() }()
	lines := bufio.NewReader(live)
	if line, err := lines.ReadString('\n'); line != "first\n" || err != nil {
		t.Errorf("live: %q, %v", line, err)
	}
	release()
	if rest, err := io.ReadAll(lines); string(rest) != "last ü\n" || err != nil {
		t.Errorf("live, the rest: %q, %v", rest, err)
	}
	w.Await(id, "FINISHED")
	if text := w.Logs(task, "offset=6"); text != "last ü\n" {
		t.Errorf("the output ends with %q", text)
	}
}

// TestOnKubernetesKeptPods: the server keeps the pods, and so the output, of as many runs of a job as --keep-pods says.
func TestOnKubernetesKeptPods(t *testing.T) {
	w := onShared(t)
	w.serve("--keep-pods", "finished=1,failed=2")
	w.App("good", only("echo said"), nil)
	w.App("bad", only("echo said; exit 3"), nil)
	w.job("good", "good", nil)
	w.job("bad", "bad", nil)
	kept := func(job, end string, limit int) (tasks []string) {
		for range limit + 2 {
			tasks = append(tasks, w.Run(job, end).Shards[0].TaskID)
		}
		gone, tasks := tasks[0], tasks[2:]
		w.Until(fmt.Sprintf("%d pods of %s are kept", limit, job), func() string {
			pods := w.pods(job)
			if len(pods) != limit {
				return fmt.Sprintf("there are %d", len(pods))
			}
			return ""
		})
		if a := w.Call("GET", "/api/task/"+gone+"/logs", ""); a.Status != http.StatusGone {
			t.Errorf("the output of a pod that was deleted: %d %s", a.Status, a.Body)
		}
		return tasks
	}
	for _, task := range append(kept("good", "FINISHED", 1), kept("bad", "FAILED", 2)...) {
		if text := w.Logs(task, ""); text != "said\n" {
			t.Errorf("the output of %s is %q", task, text)
		}
	}
}

// TestOnKubernetesKill kills a run: its processes and its pods end.
func TestOnKubernetesKill(t *testing.T) {
	w := onShared(t)
	w.serve("--kill-grace", "1s")
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"shardingTotalCount": 2, "env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.AwaitStarts(id, 2)
	w.OK("POST", "/api/execution/"+id+"/kill", "")
	w.Await(id, "KILLED")
	w.Until("no pod runs", func() string {
		for _, p := range w.pods("j") {
			if p.Status.Phase == "Running" {
				return fmt.Sprintf("%+v does", p)
			}
		}
		return ""
	})
	for _, p := range w.pods("j") {
		w.awaitEvent(p.Metadata.Name, "Launched", "triggered by a request, placed on node ")
		w.awaitEvent(p.Metadata.Name, "Killed", "its end was requested: ")
	}
	release()
	w.Run("j", "FINISHED")
	_, ends := w.Ran() // a surviving process would have ended long before those that were started after its release
	for part := range ends {
		if part.Execution == id {
			t.Errorf("a killed shard has ended by itself: %+v", part)
		}
	}
}

// TestOnKubernetesNames runs jobs whose names are no DNS labels, or have the maximum length.
func TestOnKubernetesNames(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	names := []string{"0", "A_Job.of-Many...", strings.Repeat("x", 100), strings.Repeat("y", 62) + "-",
		"a" + strings.Repeat("_", 62)}
	for _, name := range names {
		w.job(name, "a", system.Doc{"shardingTotalCount": 2})
	}
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = w.Trigger(name)
	}
	for _, name := range names {
		w.Await(ids[name], "FINISHED")
		if pods := w.pods(name); len(pods) != 2 {
			t.Errorf("%s has %d pods, want 2", name, len(pods))
		}
	}
	w.OnceEach()
}

// TestOnKubernetesDaemon: a daemon runs each fire once, even while the server is killed and restarted.
func TestOnKubernetesDaemon(t *testing.T) {
	w := onShared(t)
	w.serve()
	d := w.Daemon("tick", system.Doc{"shardingTotalCount": 2, "memoryMB": 64})
	d.AwaitRuns(3, nil)
	w.Kill()
	d.AwaitFires(2)
	w.serve()
	before := d.Runs()
	d.AwaitRuns(len(before)/2+2, nil)
	w.Until("the server knows of runs", func() string {
		for _, s := range d.Standing().Shards {
			if s.Daemon == nil || s.Daemon.Runs == 0 {
				return fmt.Sprintf("%+v", s)
			}
		}
		return ""
	})
	d.EachFireOnce()
	w.OK("POST", "/api/job/tick/disable", "")
}
