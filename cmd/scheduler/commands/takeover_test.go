package commands

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// originalJob returns the document of a job as ElasticJob-Cloud 3.0.1 writes it, followed by the given lines.
func originalJob(name, lines string) string {
	return "appName: my_app\ncpuCount: 0.1\ncron: 0/5 * * * * ?\ndescription: ''\ndisabled: false\nfailover: false\n" +
		"jobExecutionType: TRANSIENT\njobName: " + name + "\njobParameter: ''\nmaxTimeDiffSeconds: 0\nmemoryMB: 64.0\n" +
		"misfire: true\nmonitorExecution: false\noverwrite: false\nreconcileIntervalMinutes: 0\n" + lines
}

func TestTakeoverCheck(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	conn := server.Client(t)
	write := func(path, value string) { writeNode(t, conn, path, value) }
	const root = "/elasticjob-cloud"
	const oneShard = "shardingItemParameters: ''\nshardingTotalCount: 1\n"
	write(root+"/config/app/my_app", "appCacheEnable: true\nappName: my_app\nappURL: http://host/a.tar.gz\n"+
		"bootstrapScript: bin\\start.sh\ncpuCount: 0.1\neventTraceSamplingCount: 0\nmemoryMB: 64.0\n")
	write(root+"/config/job/good", originalJob("good", oneShard))
	write(root+"/config/job/many",
		originalJob("many", "shardingItemParameters: 0=a=b,1=c,2=d,\nshardingTotalCount: 2\n"))
	write(root+"/config/job/mail",
		originalJob("mail", "jobErrorHandlerType: EMAIL\nprops:\n  email.host: h\n"+oneShard))
	write(root+"/config/job/off", originalJob("off", oneShard))
	write(root+"/config/job/resident", strings.Replace(originalJob("resident", oneShard), "TRANSIENT", "DAEMON", 1))
	write(root+"/state/disable/job/off", "off")
	write(root+"/state/ready/good", "2")
	write(root+"/state/running/resident/resident@-@0", "resident@-@0@-@READY@-@S0@-@1-2")
	write(root+"/ha/framework_id", "F-1")
	if _, err := conn.Create(root+"/ha/election", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.CreateProtectedEphemeralSequential(root+"/ha/election/lock-", []byte("old:8899"),
		zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) { return runTakeover(t, args...) }
	address := server.Address() + root
	out, err := run("--check", "--zk", address)
	for _, part := range []string{
		"ElasticJob-Cloud runs on old:8899: stop it", "app my_app: runs with these notes\n  - bootstrapScript bin\\start.sh is read as bin/start.sh\n",
		"job good: runs with these notes\n  - its waiting runs are taken over: 2\n",
		"job many: runs with these notes\n  - shardingItemParameters: parameters of shards that do not exist are ignored: 1\n",
		"job mail: runs with these notes\n  - jobErrorHandlerType EMAIL has no effect", "job off: stays disabled\n",
		"job resident: runs with these notes\n  - its 1 running task is ended first\n",
		"1 app, 5 jobs: 4 can run, 1 disabled, 0 FAULTY\n", "4 jobs run their app's start script", "framework id F-1",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q", part)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
	write(root+"/config/job/zero", originalJob("zero", "shardingItemParameters: ''\nshardingTotalCount: 0\n"))
	write(root+"/config/app/broken", "appName: other\n")
	write(root+"/config/job/of_broken", strings.Replace(originalJob("of_broken", oneShard), "my_app", "broken", 1))
	out, err = run("--check", "--zk", address)
	if err == nil || errors.Is(err, commandline.ErrUsage) ||
		!strings.Contains(err.Error(), "3 apps and jobs are FAULTY") ||
		!strings.Contains(out, "app broken: FAULTY: its appName") ||
		!strings.Contains(out, "job of_broken: FAULTY: its app broken is") ||
		!strings.Contains(out, "job zero: FAULTY: ") || !strings.Contains(out, "shardingTotalCount") {
		t.Errorf("%v\n%s", err, out)
	}
	if names, _, err := conn.Children(root); err != nil || len(names) != 3 {
		t.Errorf("the namespace was changed: %q, %v", names, err)
	}
	if _, err = run("--check", "--zk", server.Address()+"/nowhere"); err == nil ||
		!strings.Contains(err.Error(), "does not exist or is empty") {
		t.Error(err)
	}
	for _, args := range [][]string{{}, {"--check"}, {"--zk", address}, {"--check", "--zk", "h:2181"}, {"--check", "x"},
		{"--nothing"}} {
		if out, err := run(args...); !errors.Is(err, commandline.ErrUsage) {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

// TestTakeoverCheckOfTheDocument types the command of docs/migration.md, and looks for the lines that the document
// shows.
func TestTakeoverCheckOfTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh\nscheduler takeover ")
	line, block, _ := strings.Cut(block, "\n```\n```text\n")
	shown, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the document does not show the command and its output")
	}
	server := zkserver.Start(t)
	conn := server.Client(t)
	const root = "/elasticjob-cloud"
	const oneShard = "shardingItemParameters: ''\nshardingTotalCount: 1\n"
	writeNode(t, conn, root+"/config/app/my_app", "appName: my_app\nappURL: http://host/a.tar.gz\nbootstrapScript: bin/start.sh\ncpuCount: 0.1\nmemoryMB: 64.0\n")
	writeNode(t, conn, root+"/config/job/mail",
		originalJob("mail", "jobErrorHandlerType: EMAIL\nprops:\n  email.host: h\n"+oneShard))
	writeNode(t, conn, root+"/config/job/off", originalJob("off", oneShard))
	writeNode(t, conn, root+"/config/job/zero",
		originalJob("zero", "shardingItemParameters: ''\nshardingTotalCount: 0\n"))
	writeNode(t, conn, root+"/state/disable/job/off", "off")
	writeNode(t, conn, root+"/ha/election", "")
	if _, err := conn.CreateProtectedEphemeralSequential(root+"/ha/election/lock-", []byte("10.0.0.7:8899"),
		zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.ReplaceAll(line, "zk1.example.com:2181,zk2.example.com:2181", server.Address()))
	out, _ := runTakeover(t, args...)
	rest := out
	for want := range strings.Lines(shown) {
		want, _, _ = strings.Cut(strings.TrimSuffix(want, "\n"), "…")
		at := strings.Index(rest, want)
		if at < 0 {
			t.Fatalf("%q does not follow in\n%s", want, out)
		}
		rest = rest[at+len(want):]
	}
}

// writeNode writes a node in ZooKeeper, with the nodes above it.
func writeNode(t *testing.T, conn *zk.Conn, path, value string) {
	t.Helper()
	at := ""
	for _, part := range strings.Split(path[1:], "/") {
		at += "/" + part
		if _, err := conn.Create(at, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(at, err)
		}
	}
	if _, err := conn.Set(path, []byte(value), -1); err != nil {
		t.Fatal(path, err)
	}
}

// runTakeover runs the command, and returns what it writes.
func runTakeover(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := takeoverCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}
