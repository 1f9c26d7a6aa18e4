package agent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// filesBench returns an agent with one sandbox that is not in use.
func filesBench(t *testing.T) (*bench, string) {
	t.Helper()
	b := startBench(t).ready()
	sandbox := b.sandboxOf("fw", "ex3", "c1")
	if err := errors.Join(b.sandboxes.create(sandbox),
		os.WriteFile(filepath.Join(sandbox, "stdout"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return b, sandbox
}

func (b *bench) get(t *testing.T, path string, query ...string) (int, string) {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	response, err := http.Get(b.url(path + "?" + values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// An executor's run is served at its directory only.
func TestFilesServesRunsOnly(t *testing.T) {
	t.Parallel()
	b, sandbox := filesBench(t)
	if err := os.WriteFile(filepath.Join(sandbox, "stdout"), []byte("hi"), 0o600); err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(sandbox, b.sandboxes.options.WorkDir, "/slaves/before/work", 1)
	for path, want := range map[string]int{
		sandbox + "/stdout": 200, moved + "/stdout": 200, moved + "/../c2/stdout": 404,
		"/work" + sandbox[:9]: 404, sandbox + "/none": 404, "/stdout": 404,
		filepath.Dir(sandbox) + "/latest/stdout": 404, "/frameworks/fw/executors/ex3/runs/c1/stdout": 404,
	} {
		status, got := b.get(t, "/files/read", "path", path, "offset", "0")
		if status != want || want == 200 && got != `{"data":"hi","offset":0}` {
			t.Errorf("%s: %d %s, want %d", path, status, got, want)
		}
	}
}

func TestReadPages(t *testing.T) {
	t.Parallel()
	b, sandbox := filesBench(t)
	content := strings.Repeat("x", readLimit) + "\"\\\n\x01\xff end"
	if err := os.WriteFile(filepath.Join(sandbox, "stdout"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(sandbox, "stdout")
	for _, c := range []struct {
		query []string
		want  string
	}{
		{[]string{"offset", "0"}, `{"data":"` + content[:readLimit] + `","offset":0}`},
		{[]string{"offset", "0", "length", "999999999"}, `{"data":"` + content[:readLimit] + `","offset":0}`},
		{[]string{"offset", "65536"}, `{"data":"\"\\\u000A\u0001` + "\xff" + ` end","offset":65536}`},
		{[]string{"offset", "65537", "length", "1"}, `{"data":"\\","offset":65537}`},
		{[]string{"offset", "70000"}, `{"data":"","offset":70000}`},
		{[]string{"offset", "3", "length", "0"}, `{"data":"","offset":3}`},
		{[]string{"offset", "-1"}, `{"data":"","offset":65545}`},
		{nil, `{"data":"","offset":65545}`},
	} {
		if status, got := b.get(t, "/files/read", append([]string{"path", path}, c.query...)...); got != c.want ||
			status != http.StatusOK {
			t.Errorf("%v: %d, %.80q", c.query, status, got)
		}
	}
	for _, c := range []struct {
		path, want string
		query      []string
	}{
		{"/files/read", "Expecting 'path=value' in query.\n", nil},
		{"/files/read", "Cannot read a directory.\n", []string{"path", filepath.Dir(path)}},
		{"/files/read", "failed to parse offset: '-2' is not a number from -1 on", []string{"path", path, "offset", "-2"}},
		{"/files/read", "failed to parse length: 'x' is not a number from -1 on", []string{"path", path, "length", "x"}},
	} {
		if status, got := b.get(t, c.path, c.query...); status != http.StatusBadRequest || got != c.want {
			t.Errorf("%s %v: %d %q", c.path, c.query, status, got)
		}
	}
}

// Neither paths nor links that a job created lead out of a sandbox.
func TestFilesStayInSandboxes(t *testing.T) {
	t.Parallel()
	b, sandbox := filesBench(t)
	secret := filepath.Join(b.options.DataDir, "agent.json")
	beside := filepath.Join(b.options.WorkDir, "beside")
	if err := os.WriteFile(beside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"absolute": secret, "relative": "../../../../../../../../beside", "folder": "/", "up": "..", "self": "stdout",
		"loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(sandbox, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(sandbox, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := filepath.Dir(sandbox)
	if err := os.Symlink("../../../../../..", filepath.Join(runs, "c2")); err != nil {
		t.Fatal(err)
	}
	// Something that a job put in the place of a file is distinguished from a missing file.
	replaced := map[string]bool{}
	for _, name := range []string{"/absolute", "/relative", "/folder/etc/passwd", "/up/c1/stdout", "/loop", "/pipe"} {
		replaced[sandbox+name] = true
	}
	for _, path := range []string{
		secret, beside, "/etc/passwd", b.options.WorkDir, "slaves", "",
		sandbox + "/absolute", sandbox + "/relative", sandbox + "/folder/etc/passwd", sandbox + "/up/c1/stdout",
		sandbox + "/loop", sandbox + "/pipe",
		sandbox + "/../../../../../../../../beside", sandbox + "/../c2/../../beside",
		"/frameworks/fw/executors/ex3/runs/../../../../../../beside",
		"/frameworks/../frameworks/fw/executors/ex3/runs/nope/stdout",
		"/frameworks/fw/executors/ex3/runs/c1/stdout", "/frameworks/fw/executors/ex3/runs/c2/stdout",
		runs + "/c2/stdout", "/frameworks/fw/executors/ex3/runs", "/frameworks/fw/executors/ex3", "\x00",
	} {
		status, got := b.get(t, "/files/read", "path", path, "offset", "0")
		want := http.StatusNotFound
		switch {
		case path == "":
			want = http.StatusBadRequest
		case replaced[path]:
			want = http.StatusInternalServerError
		}
		if status != want {
			t.Errorf("%q: %d %.100q", path, status, got)
		}
	}
	if status, _ := b.get(t, "/files/read", "path", sandbox+"/self", "offset", "0"); status != http.StatusOK {
		t.Errorf("a link within the sandbox: %d", status)
	}
}

func TestOldSandboxesGo(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	paths := []string{}
	for i := range 3 {
		path := b.sandboxOf("fw", fmt.Sprintf("ex%d", i), "c1")
		at := time.Now().Add(time.Duration(i-3) * time.Minute)
		if err := errors.Join(b.sandboxes.create(path), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	b = b.again(func(o *Options) { o.KeepSandboxes, o.KeepFor = 2, time.Hour }).ready()
	gone := func(path string) bool { _, err := os.Stat(path); return os.IsNotExist(err) }
	// Its empty parent directories are removed with it; the other sandboxes stay.
	eventually(t, "the oldest to go", func() bool { return gone(filepath.Dir(filepath.Dir(paths[0]))) })
	if gone(paths[1]) || gone(paths[2]) {
		t.Error("a sandbox went too early")
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, path := range []string{paths[1], b.sandbox("ex1")} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	// A later run also decides by the directories' times, and leaves sandboxes in use alone.
	b = b.again().ready()
	if err := b.sandboxes.sweep(t.Context(), b.sandboxesInUse, time.Now()); err != nil || !gone(paths[1]) {
		t.Errorf("the one that is too old is gone: %v, %v", gone(paths[1]), err)
	}
	if gone(paths[2]) || gone(b.sandbox("ex1")) {
		t.Error("a sandbox went too early")
	}
}
