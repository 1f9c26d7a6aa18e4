package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// TestMain lets the test binary be the supervisor as well.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervisor" {
		if err := supervisor.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func launch(t testing.TB) *supervisor.Client {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	client, err := supervisor.Launch(nil, exe, "supervisor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func shell(dir, id, script string) supervisor.Spec {
	return supervisor.Spec{
		Path: "/bin/sh", Args: []string{"sh", "-c", script},
		Env: []string{"PATH=/usr/bin:/bin", "TASK=" + id}, Marker: "TASK=" + id, Dir: dir,
	}
}

// run starts a process whose output goes to the files x.out and x.err in its folder, where x is the value of its
// marker.
func run(client *supervisor.Client, spec supervisor.Spec, files ...*os.File) (*supervisor.Process, error) {
	_, id, _ := strings.Cut(spec.Marker, "=")
	var output []*os.File
	for _, end := range []string{".out", ".err"} {
		file, err := os.OpenFile(filepath.Join(spec.Dir, id+end), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return nil, err
		}
		output = append(output, file)
	}
	return client.Start(spec, append(output, files...)...)
}

func start(t testing.TB, client *supervisor.Client, spec supervisor.Spec) *supervisor.Process {
	t.Helper()
	process, err := run(client, spec)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

func wait(t testing.TB, process *supervisor.Process) supervisor.Exit {
	t.Helper()
	select {
	case <-process.Done():
	case <-time.After(20 * time.Second):
		t.Fatalf("process %d has not ended after 20 s", process.PID)
	}
	exit, ok := process.WaitExit()
	if !ok {
		t.Fatalf("the supervisor was lost")
	}
	return exit
}

// content waits until a file ends with a newline, and returns its content.
func content(t testing.TB, path string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(data), "\n") {
			return strings.TrimSpace(string(data))
		}
	}
	t.Fatalf("nothing in %s", path)
	return ""
}

func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func mustEnd(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); alive(pid); <-time.After(2 * time.Millisecond) {
			if time.Now().After(deadline) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Fatalf("process %d is left", pid)
			}
		}
	}
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestExit(t *testing.T) {
	t.Parallel()
	client := launch(t)
	for _, test := range []struct {
		script         string
		status, signal int
	}{
		{"exit 0", 0, 0},
		{"exit 7", 7, 0},
		{"kill -SEGV $$", -1, int(syscall.SIGSEGV)},
	} {
		exit := wait(t, start(t, client, shell(t.TempDir(), "t", test.script)))
		if exit.Status != test.status || exit.Signal != test.signal || exit.Killed {
			t.Errorf("%s: %+v", test.script, exit)
		}
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	client := launch(t)
	spec := shell(t.TempDir(), "t", "")
	spec.Path = "/nonexistent"
	_, err := client.Start(spec)
	var failed *supervisor.StartError
	if !errors.As(err, &failed) || failed.Op != "exec" || failed.Errno != syscall.ENOENT {
		t.Errorf("missing program: %v", err)
	}
}

// TestOutputBlocks: a task's output files block and are in append mode.
func TestOutputBlocks(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	wait(t, start(t, client, shell(dir, "flags",
		"grep ^flags /proc/self/fdinfo/1 >&2; grep ^flags /proc/self/fdinfo/2 >&2")))
	for line := range strings.Lines(content(t, filepath.Join(dir, "flags.err"))) {
		flags, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "flags:")), 8, 64)
		if err != nil || flags&syscall.O_NONBLOCK != 0 || flags&syscall.O_APPEND == 0 {
			t.Errorf("%q %v", line, err)
		}
	}
}

func TestTheEnvironmentOfTasks(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	wait(t, start(t, client, shell(dir, "t", "pwd; env; cat; exec ls /proc/self/fd")))
	out := content(t, filepath.Join(dir, "t.out"))
	want := dir + "\nPATH=/usr/bin:/bin\nTASK=t\nPWD=" + dir + "\n0\n1\n2\n3" // 3 is ls's own
	if sorted(out) != sorted(want) {
		t.Errorf("got %q", out)
	}
}

func sorted(lines string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(lines, "\n")), "\n")
}

func TestKill(t *testing.T) {
	t.Parallel()
	client := launch(t)
	t.Run("SIGTERM is enough", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		process := start(t, client, shell(dir, "k1",
			`trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done`))
		content(t, filepath.Join(dir, "k1.out"))
		if err := process.Kill(time.Minute); err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, process); exit.Status != 3 || !exit.Killed {
			t.Errorf("%+v", exit)
		}
	})
	t.Run("SIGTERM ignored", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		process := start(t, client, shell(dir, "k2",
			`trap '' TERM; sh -c 'trap "" TERM; echo $$; exec sleep 1000' & wait`))
		child := number(t, content(t, filepath.Join(dir, "k2.out")))
		begun := time.Now()
		if err := process.Kill(50 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, process); exit.Signal != 9 || !exit.Killed || time.Since(begun) < 50*time.Millisecond {
			t.Errorf("%+v after %v", exit, time.Since(begun))
		}
		mustEnd(t, process.PID, child)
	})
	t.Run("a child keeps the grace when its parent dies", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		process := start(t, client, shell(dir, "k3",
			`sh -c 'trap "sleep 0.1; echo saved; exit" TERM; echo up; while :; do sleep 0.01; done' & wait`))
		content(t, filepath.Join(dir, "k3.out"))
		if err := process.Kill(time.Minute); err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, process); exit.Signal != int(syscall.SIGTERM) {
			t.Errorf("%+v", exit)
		}
		if out := content(t, filepath.Join(dir, "k3.out")); !strings.Contains(out, "saved") {
			t.Errorf("got %q", out)
		}
	})
	t.Run("grace shortened", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		process := start(t, client, shell(dir, "k4", `trap '' TERM; echo up; while :; do sleep 0.01; done`))
		content(t, filepath.Join(dir, "k4.out"))
		for _, grace := range []time.Duration{time.Hour, 0} {
			if err := process.Kill(grace); err != nil {
				t.Fatal(err)
			}
		}
		if exit := wait(t, process); exit.Signal != 9 {
			t.Errorf("%+v", exit)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			process, err := run(client, shell(dir, strconv.Itoa(i), "exit "+strconv.Itoa(i%100)))
			if err != nil {
				t.Error(err)
				return
			}
			<-process.Done()
			if exit, ok := process.WaitExit(); !ok || exit.Status != i%100 {
				t.Errorf("%d: %+v %v", i, exit, ok)
			}
		})
	}
	all.Wait()
}

func BenchmarkRoundTrip(b *testing.B) {
	client, dir := launch(b), b.TempDir()
	spec := supervisor.Spec{Path: "/bin/true", Args: []string{"true"}, Env: []string{"T=1"}, Marker: "T=1", Dir: dir}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			<-start(b, client, spec).Done()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				process, err := run(client, spec)
				if err != nil {
					b.Error(err)
					return
				}
				<-process.Done()
			}
		})
	})
}

// TestTheKernelPrefersTasks: when memory runs out, the kernel ends a task before its executor and supervisor.
func TestTheKernelPrefersTasks(t *testing.T) {
	t.Parallel()
	score := func(pid int) int {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	client := launch(t)
	process := start(t, client, shell(t.TempDir(), "t", "exec sleep 1000"))
	if task, supervisor := score(process.PID), score(client.PID()); task <= supervisor && supervisor < 1000 {
		t.Errorf("the task's score is %d, and the supervisor's %d", task, supervisor)
	}
}
