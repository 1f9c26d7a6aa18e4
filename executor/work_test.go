package executor_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// published returns a package of files, on a server that counts how often it sends the package.
func published(t testing.TB, files map[string]string) (url string, sent *atomic.Int32) {
	t.Helper()
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	sent = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		_, _ = w.Write(buffer.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL + "/app.tar", sent
}

// ran launches a task that must finish, and returns its output and its status.
func (a *fakeAgent) ran(task wire.Task) (string, wire.Status) {
	a.t.Helper()
	a.launch(task)
	_, status := a.await(task.TaskID, mesos.TASK_FINISHED)
	return a.read(status.Dir + "/stdout"), status
}

// TestEachAttemptHasItsOwnFolder: attempts find the package in their working folder and write there, at its top and
// in its folders. They do not see what other attempts write, and leave nothing for later ones.
func TestEachAttemptHasItsOwnFolder(t *testing.T) {
	t.Parallel()
	const run = `#!/bin/sh
set -e
cd "$(dirname "$0")/.."
test "$(pwd)" = "$ELASTICJOB_WORK_DIR"
cat conf/settings
test ! -e state; test ! -e logs/log
echo $$ >state; echo $$ >>logs/log; mkdir -p out/deep; echo $$ >out/deep/file
ln -sf /nowhere conf/settings; rm bin/other
while [ -e "$WAIT" ]; do sleep 0.01; done
test "$(cat state logs/log out/deep/file | sort -u)" = $$
test ! -e "$ELASTICJOB_PACKAGE_DIR/state"; test ! -w "$ELASTICJOB_PACKAGE_DIR/bin/run.sh" -o $(id -u) = 0
echo fine
`
	for _, cache := range []bool{true, false} {
		t.Run(fmt.Sprint("cache ", cache), func(t *testing.T) {
			t.Parallel()
			url, sent := published(t, map[string]string{"app/bin/run.sh": run, "app/bin/other": "",
				"app/conf/settings": "set\n", "app/logs/.keep": ""})
			a := newAgent(t)
			wait := filepath.Join(t.TempDir(), "wait")
			if err := os.WriteFile(wait, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			task := func(id string) wire.Task {
				task := taskOf(id, url)
				task.Command, task.Package.Cache, task.Env = []string{"bin/run.sh"}, cache,
					map[string]string{"WAIT": wait}
				return task
			}
			for i := range 3 { // concurrently
				a.launch(task(fmt.Sprint("together ", i)))
			}
			for i := range 3 {
				a.await(fmt.Sprint("together ", i), mesos.TASK_RUNNING)
			}
			if err := os.Remove(wait); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				a.await(fmt.Sprint("together ", i), mesos.TASK_FINISHED)
			}
			for i := range 3 { // one after the other
				out, status := a.ran(task(fmt.Sprint("after ", i)))
				if out != "set\nfine\n" || status.PackageNote != "" {
					t.Errorf("wrote %q, %+v", out, status)
				}
			}
			if n := sent.Load(); cache && n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// TestJobThatChangesItsPackage: changes that a job makes to its package, as the owner of the files, reach no later
// run, and the next run reports them.
func TestJobThatChangesItsPackage(t *testing.T) {
	t.Parallel()
	url, sent := published(t, map[string]string{"run.sh": "#!/bin/sh\necho good\n", "lib/helper": ""})
	a := newAgent(t)
	task := taskOf("good", url)
	task.Command = []string{"run.sh"}
	a.ran(task)
	for i, test := range []struct {
		attack string
		own    bool // it reaches only the working folder
	}{
		{`chmod +w run.sh; echo 'echo evil' >run.sh`, false},
		{`echo evil >new; mv new run.sh`, true},
		{`echo evil >lib/.hidden; rm lib/helper`, true},
		{`cd $ELASTICJOB_PACKAGE_DIR; chmod +w run.sh; echo 'echo evil' >run.sh`, false},
		{`cd $ELASTICJOB_PACKAGE_DIR; printf '#!/bin/sh\necho evil\n' >x; chmod 755 x; touch -r run.sh x; mv x run.sh`, false},
		{`echo evil >$ELASTICJOB_PACKAGE_DIR/lib/.hidden`, false},
		{`rm -rf $ELASTICJOB_PACKAGE_DIR`, false},
		{`d=$ELASTICJOB_PACKAGE_DIR; mv $d $d.old; mkdir $d; printf '#!/bin/sh\necho evil\n' >$d/run.sh; chmod 755 $d/run.sh; rm -rf $d.old`, false},
		{`d=$(pwd); cd /; chmod 0 $d; mv $d $d.old; ln -s $TMPDIR $d`, true},
		{`cd /; rm -rf $ELASTICJOB_WORK_DIR/..; ln -s $TMPDIR $(dirname $ELASTICJOB_WORK_DIR)`, true},
	} {
		bad := taskOf(fmt.Sprint("bad ", i), url)
		bad.Command = []string{"sh", "-c", test.attack}
		before := sent.Load()
		a.launch(bad)
		a.await(bad.TaskID, mesos.TASK_FINISHED)
		task.TaskID = fmt.Sprint("good ", i)
		out, status := a.ran(task)
		if out != "good\n" {
			t.Errorf("after %s: %q", test.attack, out)
		}
		if sent.Load() > before == test.own {
			t.Errorf("after %s: sent %d times", test.attack, sent.Load()-before)
		}
		if told := strings.Contains(status.PackageNote,
			"the package in the cache was changed after it was unpacked"); told == test.own {
			t.Errorf("after %s: told %q", test.attack, status.PackageNote)
		}
	}
}

// TestStatusHasTheChecksum: each attempt's status has the checksum of its package, even if the content of the URL
// changes.
func TestStatusHasTheChecksum(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "job.sh")
	a := newAgent(t, env("ELASTICJOB_PACKAGE_CHECK", "1ns"))
	for i, text := range []string{"#!/bin/sh\necho one\n", "#!/bin/sh\necho two, longer\n"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, cache := range []bool{true, false} {
			task := taskOf(fmt.Sprint(i, cache), "file://"+path)
			task.Package.Cache = cache
			out, status := a.ran(task)
			if !strings.Contains(text, "echo "+out) ||
				status.PackageSHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(text))) {
				t.Errorf("%q wrote %q, with %s", text, out, status.PackageSHA256)
			}
		}
	}
}

// TestKeepFailed: the working folders of the newest failed tasks are kept, as many as configured, and no others. If a
// job has its own number, only its tasks count for that. The cause says where the folder is.
func TestKeepFailed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		executor string
		job      int
		want     string
	}{{"", 0, ""}, {"0", 0, ""}, {"2", 0, "3 5"}, {"", 1, "5"}, {"1", 2, "3 5"}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, env("ELASTICJOB_KEEP_FAILED", test.executor))
			url := script(t, `echo $ELASTICJOB_TASK_ID >state; case $ELASTICJOB_TASK_ID in failed*) exit 1;; killed*|timed*) exec sleep 1000;; esac`)
			for _, id := range []string{"failed 1", "finished 2", "timed-out 3", "killed 4", "failed 5"} {
				task := taskOf(id, url)
				task.KeepFailed, task.TimeoutMillis = test.job, 3_600_000
				kind, number, _ := strings.Cut(id, " ")
				if kind == "timed-out" {
					task.TimeoutMillis = 1
				}
				a.launch(task)
				switch kind {
				case "failed", "timed-out":
					ends := mesos.TASK_FAILED
					if kind == "timed-out" {
						ends = mesos.TASK_KILLED
						a.await(id, mesos.TASK_RUNNING)
						a.kill(id)
					}
					_, status := a.await(id, ends)
					place := "its working directory is kept on the agent: " + a.sandbox + "/kept/" + number
					if told := strings.Contains(status.Cause, place); told != (test.want != "") {
						t.Errorf("unexpected cause %q", status.Cause)
					}
				case "finished":
					a.await(id, mesos.TASK_FINISHED)
				default:
					a.await(id, mesos.TASK_RUNNING)
					a.kill(id)
					a.await(id, mesos.TASK_KILLED)
				}
			}
			a.event(mesosexec.Event{Type: mesosexec.Event_SHUTDOWN})
			a.exit()
			var kept []string
			found, _ := os.ReadDir(filepath.Join(a.sandbox, "kept"))
			for _, e := range found {
				kept = append(kept, e.Name())
				want := map[string]string{"3": "timed-out 3\n", "5": "failed 5\n"}[e.Name()]
				if got := a.read("kept/" + e.Name() + "/state"); got != want {
					t.Errorf("folder %s is that of %q", e.Name(), got)
				}
			}
			if got := strings.Join(kept, " "); got != test.want {
				t.Errorf("kept %q; want %q", got, test.want)
			}
			left, err := filepath.Glob(filepath.Join(a.sandbox, "work", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left %q, %v", left, err)
			}
		})
	}
}
