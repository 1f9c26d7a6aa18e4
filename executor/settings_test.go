package executor_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

func arguments(args ...string) option {
	return func(c *exec.Cmd) { c.Args = append(c.Args, args...) }
}

// TestOutputIsKept: the output of the last tasks is kept, within the limits that were set; tasks that fail before
// they begin do not count.
func TestOutputIsKept(t *testing.T) {
	t.Parallel()
	a := newAgent(t, env("ELASTICJOB_OUTPUT_TASKS", "6"), env("ELASTICJOB_OUTPUT_BYTES", "1MiB"),
		env("ELASTICJOB_OUTPUT_FILE", "512KiB"))
	kept := func() []int {
		var numbers []int
		entries, err := os.ReadDir(filepath.Join(a.sandbox, "tasks"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			n, _ := strconv.Atoi(e.Name())
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		return numbers
	}
	run := func(times int, state mesos.TaskState, url string) {
		t.Helper()
		for range times {
			id := fmt.Sprint("task ", time.Now().UnixNano())
			a.launch(taskOf(id, url))
			a.await(id, state)
		}
	}
	small, large := script(t, `head -c 100000 /dev/zero`), script(t, `head -c 2000000 /dev/zero | tr '\0' y`)
	run(20, mesos.TASK_FINISHED, small)
	eventually(t, "6 tasks of 20 are kept", func() bool { return slices.Equal(kept(), []int{15, 16, 17, 18, 19, 20}) })
	run(3, mesos.TASK_FINISHED, large)
	eventually(t, "at most two large outputs are kept", func() bool {
		return len(kept()) <= 2 && diskUse(filepath.Join(a.sandbox, "tasks")) <= 1<<20+8<<10
	})
	before := kept()
	if before[len(before)-1] != 23 {
		t.Errorf("the output of the last task isn't kept, but of %v", before)
	}
	// The last removal of old output may still be in progress. A task that fails without output displaces no output.
	for range 3 {
		run(20, mesos.TASK_FAILED, "file:///no/such/package")
		after := kept()
		if slices.Equal(after, before) {
			return
		}
		if len(after) == 0 || !slices.Equal(after, before[len(before)-len(after):]) {
			break
		}
		before = after
	}
	t.Errorf("failed tasks have displaced output; kept is now that of %v", kept())
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"ELASTICJOB_PACKAGE_BYTES": "much", "ELASTICJOB_OUTPUT_BYTES": "-1", "ELASTICJOB_OUTPUT_TASKS": "0",
		"ELASTICJOB_PACKAGE_DOWNLOAD": "9999999999GiB", "ELASTICJOB_PACKAGE_STALL": "5",
		"ELASTICJOB_PACKAGE_FILES": "1e5",
	} {
		command := exec.Command(binary)
		command.Env = []string{"MESOS_AGENT_ENDPOINT=127.0.0.1:1", "MESOS_FRAMEWORK_ID=F", "MESOS_EXECUTOR_ID=E",
			"MESOS_SANDBOX=/tmp", name + "=" + value}
		out, _ := command.CombinedOutput()
		if command.ProcessState.ExitCode() != 2 ||
			!strings.Contains(string(out), fmt.Sprintf("%s is %q: ", name, value)) {
			t.Errorf("%s: status %d, %s", name, command.ProcessState.ExitCode(), out)
		}
	}
	for _, argument := range []string{"--package-bytes=much", "--package-bytes", "--package=1", "package-bytes=1",
		"start", "--output-tasks=0"} {
		command := exec.Command(binary, argument)
		command.Env = []string{"MESOS_AGENT_ENDPOINT=127.0.0.1:1", "MESOS_FRAMEWORK_ID=F", "MESOS_EXECUTOR_ID=E",
			"MESOS_SANDBOX=/tmp"}
		out, _ := command.CombinedOutput()
		name, _, _ := strings.Cut(argument, "=")
		if command.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), name) {
			t.Errorf("%s: status %d, %s", argument, command.ProcessState.ExitCode(), out)
		}
	}
}

// TestPackageSettings: the limits that the environment sets apply, and a package that exceeds one fails its task in
// the phase of the limit.
func TestPackageSettings(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil { // a byte at a time, forever
			_, _ = w.Write([]byte("#"))
			_ = http.NewResponseController(w).Flush()
			<-time.After(5 * time.Millisecond)
		}
	}))
	defer server.Close()
	a := newAgent(t, env("ELASTICJOB_PACKAGE_DOWNLOAD", "100KiB"), env("ELASTICJOB_PACKAGE_BYTES", "10KiB"),
		env("ELASTICJOB_PACKAGE_FILES", "5"),
		env("ELASTICJOB_PACKAGE_PATH", "50"), env("ELASTICJOB_PACKAGE_DEPTH", "1000"),
		arguments("--package-depth=4", "--package-fetch-time=200ms"))
	archive := func(size int64, names ...string) string {
		var buffer bytes.Buffer
		w := tar.NewWriter(&buffer)
		for _, name := range names {
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: size}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return file(t, buffer.String())
	}
	for _, test := range []struct{ name, url, phase, cause string }{
		{"download", archive(200_000, "a"), "FETCH", "102400 are allowed"},
		{"bytes", archive(6_000, "a", "b"), "UNPACK", "more than 10240 bytes"},
		{"files", archive(0, "1", "2", "3", "4", "5", "6"), "UNPACK", "more than 5 files and folders"},
		{"path", archive(0, strings.Repeat("p", 51)), "UNPACK", "50 are allowed"},
		{"depth", archive(0, "a/b/c/d/e"), "UNPACK", "4 are allowed"},
		{"time", server.URL + "/job.sh", "FETCH", "not fetched within 200ms"},
		{"good", file(t, "#!/bin/sh\n"), "", ""},
	} {
		for _, cache := range []bool{true, false} {
			task := taskOf(fmt.Sprint(test.name, cache), test.url)
			task.Package.Cache = cache
			a.launch(task)
			if test.cause == "" {
				a.await(task.TaskID, mesos.TASK_FINISHED)
				continue
			}
			if _, status := a.await(task.TaskID, mesos.TASK_FAILED); status.Phase != test.phase ||
				!strings.Contains(status.Cause, test.cause) {
				t.Errorf("%s: %s %q", task.TaskID, status.Phase, status.Cause)
			}
		}
	}
	for _, left := range []string{filepath.Join(a.sandbox, "packages"),
		filepath.Join(a.sandbox, "../../../../../../../..", cacheName(), "tmp")} {
		eventually(t, "nothing in "+left, func() bool {
			entries, err := os.ReadDir(left)
			return err == nil && len(entries) == 0
		})
	}
}

// TestBombSettings: the limits that only a large package can reach also apply.
func TestBombSettings(t *testing.T) {
	t.Parallel()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	w := tar.NewWriter(zipped)
	const size = 80 << 20
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Mode: 0o644, Size: size}); err != nil {
		t.Fatal(err)
	}
	for range size >> 20 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	bomb := file(t, buffer.String())
	for _, test := range []struct {
		setting option
		cause   string
	}{
		{env("SOME", "thing"), "more than 250 times its size"},
		{env("ELASTICJOB_PACKAGE_RATIO", "20"), "more than 20 times its size"},
		{arguments("--package-unpack-time=1ms"), "not unpacked within 1ms"},
	} {
		a := newAgent(t, test.setting)
		a.launch(taskOf("bomb", bomb))
		if _, status := a.await("bomb", mesos.TASK_FAILED); status.Phase != "UNPACK" ||
			!strings.Contains(status.Cause, test.cause) {
			t.Errorf("%s %q, want %q", status.Phase, status.Cause, test.cause)
		}
		eventually(t, "the disk is freed",
			func() bool { return diskUse(filepath.Join(a.sandbox, "../../../../../../../..")) < 1<<20 })
	}
}
