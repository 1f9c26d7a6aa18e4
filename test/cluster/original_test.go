package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// originals are nodes in a namespace of ElasticJob-Cloud 3.0.1, as it writes them; %PACKAGE% stands for the package's
// URL.
var originals = []struct{ path, value string }{
	{"/config/app/old_app", "appCacheEnable: true\nappName: old_app\nappURL: %PACKAGE%\nbootstrapScript: bin/start.sh\ncpuCount: 0.1\neventTraceSamplingCount: 0\nmemoryMB: 64.0\n"},
	{"/config/app/java_app", "appCacheEnable: true\nappName: java_app\nappURL: %PACKAGE%\nbootstrapScript: bin/java.sh\ncpuCount: 0.1\neventTraceSamplingCount: 0\nmemoryMB: 64.0\n"},
	{"/config/job/old_script", "appName: old_app\ncpuCount: 0.1\ncron: 0 0 3 * * ?\ndescription: ''\ndisabled: false\nfailover: true\njobExecutionType: TRANSIENT\njobName: old_script\njobParameter: ''\nmaxTimeDiffSeconds: 0\nmemoryMB: 32.0\nmisfire: false\nmonitorExecution: false\noverwrite: false\nprops:\n  script.command.line: bin/old.sh\nreconcileIntervalMinutes: 0\nshardingItemParameters: 0=Beijing,1=Shanghai\nshardingTotalCount: 2\n"},
	{"/config/job/old_ready", "appName: old_app\ncpuCount: 0.1\ncron: 0 0 3 * * ?\njobExecutionType: TRANSIENT\njobName: old_ready\nmemoryMB: 32.0\nmisfire: true\nprops:\n  script.command.line: bin/old.sh\nshardingTotalCount: 1\n"},
	{"/config/job/old_failover", "appName: old_app\ncpuCount: 0.1\ncron: 0 0 3 * * ?\nfailover: true\njobExecutionType: TRANSIENT\njobName: old_failover\nmemoryMB: 32.0\nprops:\n  script.command.line: bin/old.sh\nshardingTotalCount: 3\n"},
	{"/config/job/old_disabled", "appName: old_app\ncpuCount: 0.1\ncron: 0/1 * * * * ?\njobExecutionType: TRANSIENT\njobName: old_disabled\nmemoryMB: 32.0\nprops:\n  script.command.line: bin/old.sh\nshardingTotalCount: 1\n"},
	{"/config/job/old_json", `{"appName":"old_app","cpuCount":0.1,"cron":"0 0 3 * * ?","jobExecutionType":"TRANSIENT","jobName":"old_json","memoryMB":32.0,"props":{"script.command.line":"bin/old.sh"},"shardingTotalCount":1}`},
	{"/config/job/old_java", "appName: java_app\ncpuCount: 0.1\ncron: 0 0 3 * * ?\njobExecutionType: TRANSIENT\njobName: old_java\nmemoryMB: 32.0\nshardingTotalCount: 1\n"},
	{"/config/job/old_broken", "appName: old_app\n  cron: [\n"},
	{"/config/job/名字", "appName: old_app\ncpuCount: 0.1\ncron: 0 0 3 * * ?\njobExecutionType: TRANSIENT\njobName: 名字\nmemoryMB: 32.0\nshardingTotalCount: 1\n"},
	{"/state/disable/job/old_disabled", "old_disabled"},
	{"/state/ready/old_ready", "2"},
	{"/state/failover/old_failover/old_failover@-@1", "old_failover@-@1@-@READY@-@S0@-@0f8e2c64-0000-4000-8000-000000000000"},
	{"/ha/framework_id", "2a0d3f8c-1111-4222-8333-444444444444-0000"},
}

// TestOriginalNamespace starts servers on a namespace of ElasticJob-Cloud 3.0.1. They read its apps, jobs, marks and
// queues unchanged, its script jobs run, and jobs that cannot run say why (rule T8).
func TestOriginalNamespace(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	c.Packages.Serve("/old.tar", system.Tar(t, "", system.Files{
		"bin/start.sh": "#!/bin/sh\nexit 9\n",
		"bin/old.sh": "#!/bin/sh\nexport LEDGER=" + c.LedgerPath + "\n" + strings.TrimPrefix(system.Ledger,
			"#!/bin/sh\n"),
		"bin/java.sh": "#!/bin/sh\necho 'Exception in thread \"main\" java.lang.UnsatisfiedLinkError: no mesos in java.library.path' >&2\n" +
			"echo '\tat org.apache.mesos.MesosNativeLibrary.load(MesosNativeLibrary.java:159)' >&2\necho '\tat org.apache.shardingsphere.elasticjob.cloud.executor.JobBootstrap.execute' >&2\nexit 1\n",
	}))
	for _, node := range originals {
		c.Create(node.path, strings.ReplaceAll(node.value, "%PACKAGE%", c.Packages.URL("/old.tar")))
	}
	c.StartServers(2)
	c.AwaitLeader()

	// The queues contain two runs of old_ready, and shard 1 of old_failover.
	c.Until("what waited in the original's queues has run", func() string {
		n := map[string]int{}
		for _, e := range c.Ledger() {
			if e.What == "end" {
				job, _, _ := strings.Cut(e.Execution, "@")
				n[fmt.Sprint(job, " ", e.Item)]++
			}
		}
		if n["old_ready 0"] != 2 || n["old_failover 1"] != 1 || len(n) != 2 {
			return fmt.Sprint(n)
		}
		return ""
	})
	for _, path := range []string{"/state/ready/old_ready", "/state/failover/old_failover/old_failover@-@1"} {
		if c.Node(path) != "" {
			t.Errorf("%s is still there: it would be read again", path)
		}
	}
	if id := c.Node("/ha/framework_id"); id != "2a0d3f8c-1111-4222-8333-444444444444-0000" {
		t.Errorf("the framework id is now %s", id)
	}
	e := c.Run("old_script", "FINISHED")
	if len(e.Shards) != 2 {
		t.Errorf("old_script: %+v", e)
	}
	if e := c.Run("old_java", "FAILED"); !strings.Contains(e.Shards[0].FailureCause, "JobBootstrap") ||
		!strings.Contains(e.Shards[0].FailureCause, "script.command.line") {
		t.Errorf("a package that calls JobBootstrap: %+v", e)
	}
	c.Run("old_json", "FINISHED")
	if x := c.Explain("old_disabled"); x.State != "DISABLED" {
		t.Errorf("old_disabled: %+v", x)
	}
	if x := c.Explain("old_broken"); x.State != "FAULTY" ||
		!strings.Contains(fmt.Sprint(x.Notes), "/config/job/old_broken") {
		t.Errorf("old_broken: %+v", x)
	}
	log := c.ServerLog(c.AwaitLeader())
	for _, want := range []string{"/config/job/old_broken", "/config/job/名字"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not name %s", want)
		}
	}
	// For the way back, a changed document is written in the format of ElasticJob-Cloud.
	c.Update("old_script", system.Doc{"cron": "0 30 4 * * ?"})
	if now := c.Node("/config/job/old_script"); !strings.Contains(now, "cron: 0 30 4 * * ?\n") ||
		!strings.Contains(now, "shardingItemParameters: 0=Beijing,1=Shanghai\n") ||
		!strings.Contains(now, "  script.command.line: bin/old.sh\n") {
		t.Errorf("old_script is now stored as\n%s", now)
	}
	c.OK("POST", "/api/job/old_json/disable", "")
	if now := c.Node("/state/disable/job/old_json"); now != "old_json" {
		t.Errorf("the mark of old_json contains %q", now)
	}
}

// TestUnknownTasksEndFirst: with a framework id that another scheduler registered, the server launches nothing until
// the tasks that the other scheduler left running have ended (rule T8).
func TestUnknownTasksEndFirst(t *testing.T) {
	c := start(t, 1)
	hold, _ := c.Hold()
	c.App("left", writes, nil)
	c.Job("left", "left", system.Doc{"shardingTotalCount": 2, "env": env("HOLD", hold)})
	left := c.AwaitStarts(c.Trigger("left"), 2)
	c.KillServer(1)
	// Without its records in the registry, the server takes the id and the tasks for another scheduler's.
	c.RemoveNode("/registry")
	c.StartServer(1)
	c.AwaitLeader()
	c.Job("new", "left", nil)
	id := c.Trigger("new")
	c.Await(id, "FINISHED")
	for _, e := range left {
		if c.Machine.Lives(e.PID) {
			t.Errorf("a run was launched while process %d of %+v lived", e.PID, e)
		}
	}
}

// TestExternalEdit: a document that a user edits in ZooKeeper is applied if it is valid. Otherwise the last valid
// version stays in force, and the job's explanation reports the fault.
func TestExternalEdit(t *testing.T) {
	c := start(t, 2)
	c.App("edited", writes, nil)
	c.Job("edited", "edited", system.Doc{"cron": "0 0 3 * * ?"})
	checkNextFire := func(hour string) func() string {
		return func() string {
			x := c.Explain("edited")
			if len(x.NextFires) == 0 || x.NextFires[0].Format("15:04") != hour {
				return fmt.Sprintf("%+v", x)
			}
			return ""
		}
	}
	edit := func(from, to string) {
		text := c.Node("/config/job/edited")
		if !strings.Contains(text, from) {
			t.Fatalf("no %q in\n%s", from, text)
		}
		c.SetNode("/config/job/edited", strings.Replace(text, from, to, 1))
	}
	edit("0 0 3 * * ?", "0 0 4 * * ?")
	c.Until("the edit is applied", checkNextFire("04:00"))
	edit("0 0 4 * * ?", "0 0 61 * * ?")
	c.Until("explain reports the invalid edit, and the last valid version stays in force", func() string {
		x := c.Explain("edited")
		if !strings.Contains(fmt.Sprint(x.Notes), "/config/job/edited") {
			return fmt.Sprintf("%+v", x)
		}
		return checkNextFire("04:00")()
	})
	c.Run("edited", "FINISHED")
	edit("0 0 61 * * ?", "0 0 5 * * ?")
	c.Until("the corrected version is applied", checkNextFire("05:00"))
	if x := c.Explain("edited"); strings.Contains(fmt.Sprint(x.Notes), "/config/job/edited") {
		t.Errorf("the invalid edit is still reported: %+v", x)
	}
	c.Create("/state/disable/job/edited", "edited")
	c.Until("the job is disabled", func() string {
		if x := c.Explain("edited"); x.State != "DISABLED" {
			return fmt.Sprintf("%+v", x)
		}
		return ""
	})
	c.RemoveNode("/state/disable/job/edited")
	c.RemoveNode("/config/job/edited")
	c.Until("the job is gone", func() string {
		if a := c.Call("GET", "/api/job/edited/explain", ""); a.Status != 404 {
			return a.Body
		}
		return ""
	})
}

// TestAccessControl uses a ZooKeeper with digest ACLs, and a chroot in the connection string.
func TestAccessControl(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	if _, err := c.ZKClient().Create("/teams", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ZKClient().Create("/teams/a", nil, 0, zk.DigestACL(zk.PermAll, "ejob", "very-secret")); err != nil {
		t.Fatal(err)
	}
	c.ZK += "/teams/a"
	digest := c.Secret("zk-digest", "ejob:very-secret")
	c.StartServers(2, "--zk-digest-file", digest)
	c.AwaitLeader()
	c.App("a", writes, nil)
	c.Job("a", "a", nil)
	c.Run("a", "FINISHED")
	if _, _, err := c.ZKClient().Get("/teams/a/elasticjob-cloud/config/job/a"); err != zk.ErrNoAuth {
		t.Errorf("a client without the digest reads a job: %v", err)
	}
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no digest", nil, "--zk-digest-file"},
		{"a wrong digest", []string{"--zk-digest-file", c.Secret("wrong", "ejob:wrong-secret")}, "--zk-digest-file"},
	} {
		status, said := c.Fails(c.ServerCommand(9, test.args...))
		if status != 1 || !strings.Contains(said, test.want) || strings.Contains(said, "-secret") {
			t.Errorf("%s: status %d, %s", test.name, status, said)
		}
	}
}
