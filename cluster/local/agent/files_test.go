package agent

import (
	"encoding/json"
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

	"github.com/google/go-cmp/cmp"
)

// filesBench is an agent with one sandbox that nobody uses.
func filesBench(t *testing.T) (*bench, string) {
	t.Helper()
	b := startBench(t).ready()
	sandbox := b.sandboxOf("fw", "ex3", "c1")
	if err := b.sandboxes.create(sandbox); err != nil {
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

func TestFilesAreThoseOfMesos(t *testing.T) {
	t.Parallel()
	b, sandbox := filesBench(t)
	mtime := time.Unix(1795234602, 0)
	for _, name := range []string{"stdout", "stderr"} {
		if err := os.Chtimes(filepath.Join(sandbox, name), mtime, mtime); err != nil {
			t.Fatal(err)
		}
	}
	var recorded map[string]struct {
		Status int
		Body   string
	}
	data, err := os.ReadFile("testdata/files.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	const agent, framework = "000cf189-4b77-4a79-9ed1-b4a875b522e1-S0", "000cf189-4b77-4a79-9ed1-b4a875b522e1-0002"
	own := strings.NewReplacer("WORK_DIR", b.options.WorkDir, agent, b.id, framework, "fw")
	if uid := os.Getuid(); uid != 0 {
		own = strings.NewReplacer("WORK_DIR", b.options.WorkDir, agent, b.id, framework, "fw", `"root"`, fmt.Sprintf("%q", os.Getenv("USER")))
	}
	latest := "/frameworks/fw/executors/ex3/runs/latest"
	for situation, want := range recorded {
		verb, path, found := strings.Cut(own.Replace(situation), " ")
		var status int
		var got string
		switch {
		case situation == "read missing":
			status, got = b.get(t, "/files/read", "path", latest+"/no-such", "offset", "0")
		case situation == "read offset -1 (size)":
			status, got = b.get(t, "/files/read", "path", latest+"/stdout", "offset", "-1")
		case verb == "browse" && found:
			status, got = b.get(t, "/files/browse", "path", path)
		default:
			status, got = b.get(t, "/files/read", "path", strings.TrimPrefix(path, "stdout ")+"/stdout", "offset", "0")
		}
		if diff := cmp.Diff(own.Replace(want.Body), got); diff != "" || status != want.Status {
			t.Errorf("%s: status %d, want %d; (-want +got):\n%s", situation, status, want.Status, diff)
		}
	}
}

// TestFilesServesTheAttachedPathsOnly compares which paths are served with a recording of Mesos 1.12. Its
// answers were the same while the executor ran, after it had ended, after its framework was torn down, and after a
// restart of the agent.
func TestFilesServesTheAttachedPathsOnly(t *testing.T) {
	t.Parallel()
	b, _ := filesBench(t)
	var recorded map[string]struct {
		Status int
		Body   *string
	}
	data, err := os.ReadFile("testdata/files-attached.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("WORK_DIR", b.options.WorkDir, "CONTAINER", "c1",
		"000cf189-4b77-4a79-9ed1-b4a875b522e1-S0", b.id, "000cf189-4b77-4a79-9ed1-b4a875b522e1-0002", "fw")
	for situation, want := range recorded {
		verb, path, _ := strings.Cut(own.Replace(situation), " ")
		status, body := b.get(t, "/files/"+verb, "path", path, "offset", "0")
		if status != want.Status {
			t.Errorf("%s: status %d, want %d", situation, status, want.Status)
		}
		if want.Body == nil {
			continue
		}
		var got, wanted any
		if err := errors.Join(json.Unmarshal([]byte(body), &got), json.Unmarshal([]byte(own.Replace(*want.Body)), &wanted)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", situation, diff)
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
		{[]string{"offset", "65536"}, `{"data":"\"\\\n\u0001` + "\xff" + ` end","offset":65536}`},
		{[]string{"offset", "65537", "length", "1"}, `{"data":"\\","offset":65537}`},
		{[]string{"offset", "70000"}, `{"data":"","offset":70000}`},
		{[]string{"offset", "3", "length", "0"}, `{"data":"","offset":3}`},
		{[]string{"offset", "-1"}, `{"data":"","offset":65545}`},
		{nil, `{"data":"","offset":65545}`},
	} {
		if status, got := b.get(t, "/files/read", append([]string{"path", path}, c.query...)...); got != c.want || status != http.StatusOK {
			t.Errorf("%v: %d, %.80q", c.query, status, got)
		}
	}
	if status, got := b.get(t, "/files/download", "path", path); status != http.StatusOK || got != content {
		t.Errorf("download: %d, %d bytes", status, len(got))
	}
	for _, c := range []struct {
		path, want string
		query      []string
	}{
		{"/files/read", "Expecting 'path=value' in query.\n", nil},
		{"/files/browse", "Expecting 'path=value' in query.\n", nil},
		{"/files/read", "Cannot read a directory.\n", []string{"path", filepath.Dir(path)}},
		{"/files/download", "Cannot download a directory.\n", []string{"path", filepath.Dir(path)}},
		{"/files/read", "Negative offset provided: -2.\n", []string{"path", path, "offset", "-2"}},
		{"/files/read", "Failed to parse length: Failed to convert 'x' to number.\n", []string{"path", path, "length", "x"}},
	} {
		if status, got := b.get(t, c.path, c.query...); status != http.StatusBadRequest || got != c.want {
			t.Errorf("%s %v: %d %q", c.path, c.query, status, got)
		}
	}
}

// No way leads out of a sandbox: not by path, not by a link that a job made.
func TestFilesStayInSandboxes(t *testing.T) {
	t.Parallel()
	b, sandbox := filesBench(t)
	secret := filepath.Join(b.options.DataDir, "agent.json")
	beside := filepath.Join(b.options.WorkDir, "beside")
	if err := os.WriteFile(beside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"absolute": secret, "relative": "../../../../../../../../beside", "folder": "/", "up": "..", "self": "stdout", "loop": "loop",
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
	virtual := "/frameworks/fw/executors/ex3/runs/latest"
	for _, path := range []string{
		secret, beside, "/etc/passwd", b.options.WorkDir, "slaves", "",
		virtual + "/absolute", virtual + "/relative", virtual + "/folder/etc/passwd", virtual + "/up/c1/stdout", sandbox + "/up/c1/stdout", virtual + "/loop", virtual + "/pipe",
		virtual + "/../../../../../../../../beside", virtual + "/../c2/../../beside",
		sandbox + "/../../../../../../../../beside", sandbox + "/absolute",
		"/frameworks/fw/executors/ex3/runs/../../../../../../beside", "/frameworks/../frameworks/fw/executors/ex3/runs/nope/stdout",
		"/frameworks/fw/executors/ex3/runs/c1/stdout", "/frameworks/fw/executors/ex3/runs/c2/stdout", runs + "/c2/stdout", "/frameworks/fw/executors/ex3/runs", "/frameworks/fw/executors/ex3", "\x00",
	} {
		for _, verb := range []string{"read", "download"} {
			status, got := b.get(t, "/files/"+verb, "path", path, "offset", "0")
			if status != http.StatusNotFound && (path != "" || status != http.StatusBadRequest) {
				t.Errorf("%s %q: %d %.100q", verb, path, status, got)
			}
		}
	}
	if status, got := b.get(t, "/files/browse", "path", virtual+"/folder"); status != http.StatusNotFound {
		t.Errorf("browse through a link: %d %s", status, got)
	}
	status, got := b.get(t, "/files/browse", "path", virtual)
	if status != http.StatusOK || strings.Contains(got, "absolute") || strings.Contains(got, "relative") || !strings.Contains(got, "self") {
		t.Errorf("browse: %d %s", status, got)
	}
	if status, _ := b.get(t, "/files/read", "path", virtual+"/self", "offset", "0"); status != http.StatusOK {
		t.Errorf("a link within the sandbox: %d", status)
	}
}

func TestOldSandboxesGo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := startBench(t, func(o *Options) { o.KeepSandboxes, o.KeepFor = 2, time.Hour }).ready()
	paths := []string{}
	for i := range 4 {
		path := b.sandboxOf("fw", fmt.Sprintf("ex%d", i), "c1")
		if err := b.sandboxes.create(path); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for _, path := range paths[:3] {
		b.sandboxes.retired(path, now)
	}
	gone := func(path string) bool { _, err := os.Stat(path); return os.IsNotExist(err) }
	// With it go "latest" and the folders above it, the others stay.
	eventually(t, "the oldest to go", func() bool { return gone(filepath.Dir(filepath.Dir(paths[0]))) })
	if gone(paths[1]) || gone(paths[2]) || gone(paths[3]) {
		t.Error("a sandbox went too early")
	}
	old := now.Add(-2 * time.Hour)
	if err := os.Chtimes(paths[3], old, old); err != nil {
		t.Fatal(err)
	}
	// A later start knows what nobody uses by its time.
	b.again().ready()
	eventually(t, "the one that is too old to go", func() bool { return gone(paths[3]) })
	if gone(paths[1]) || gone(paths[2]) {
		t.Error("a sandbox went too early")
	}
}
