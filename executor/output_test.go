package executor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func newTestOutputs(t *testing.T, limits OutputLimits) *outputs {
	t.Helper()
	o := newOutputs(t.TempDir(), limits, nil, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var watcher sync.WaitGroup
	watcher.Go(func() { o.watch(ctx) })
	t.Cleanup(func() {
		stop()
		watcher.Wait()
	})
	return o
}

func (o *outputs) write(t *testing.T, number, stream, text string) {
	t.Helper()
	path := o.file(number, stream)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestOutputIsRotatedWhileItGrows(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, OutputLimits{File: 1000, Tasks: 10, Bytes: 10_000, Every: time.Millisecond})
	end := o.add("1")
	o.write(t, "1", "stdout", strings.Repeat("a", 1500)+strings.Repeat("b", 1000))
	path := o.file("1", "stdout")
	for deadline := time.Now().Add(10 * time.Second); sizeOf(path) > 0; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not rotated")
		}
	}
	o.write(t, "1", "stdout", "new")
	old, err := os.ReadFile(path + ".1")
	if err != nil || string(old) != strings.Repeat("b", 1000) {
		t.Errorf("stdout.1 has %d bytes: %v", len(old), err)
	}
	end()
	if text, _ := os.ReadFile(path); string(text) != "new" {
		t.Errorf("stdout: %q", text)
	}
}

// TestOutputByDefault: whoever sets nothing keeps the output of the last 1,000 tasks, and at most 1 GiB.
func TestOutputByDefault(t *testing.T) {
	t.Parallel()
	c, err := FromEnvironment(func(name string) string {
		return map[string]string{"MESOS_AGENT_ENDPOINT": "h:1", "MESOS_FRAMEWORK_ID": "F", "MESOS_EXECUTOR_ID": "E", "MESOS_SANDBOX": "/s"}[name]
	})
	if err != nil || c.Output.Tasks != 1000 || c.Output.Bytes != 1<<30 {
		t.Errorf("%+v, %v", c.Output, err)
	}
}

func TestOutputOfEndedTasksIsBounded(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, OutputLimits{File: 100_000, Tasks: 3, Bytes: 250_000, Every: time.Hour})
	kept := func() string {
		entries, err := os.ReadDir(filepath.Join(o.sandbox, "tasks"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	for i := range 5 {
		number := strconv.Itoa(i)
		end := o.add(number)
		o.write(t, number, "stderr", "x")
		o.write(t, number, "stdout", "")
		end()
	}
	// 0 and 1 may be used again, and are until then still there.
	if got := kept(); got != "0 1 2 3 4" {
		t.Errorf("kept %s", got)
	}
	if dir, err := o.folder("5"); err != nil || sizeOf(filepath.Join(dir, "stderr")) != 0 || kept() != "1 2 3 4 5" {
		t.Errorf("kept %s, %v", kept(), err)
	}
	if _, err := o.folder("6"); err != nil || kept() != "2 3 4 5 6" {
		t.Errorf("kept %s, %v", kept(), err)
	}
	for _, number := range []string{"5", "6", "7"} {
		end := o.add(number)
		o.write(t, number, "stdout", strings.Repeat("a", 5000)+strings.Repeat("b", 100_000))
		end()
		if text, _ := os.ReadFile(o.file(number, "stdout")); string(text) != strings.Repeat("b", 100_000) {
			t.Errorf("of ended task %s: %d bytes", number, len(text))
		}
	}
	if got := kept(); got != "2 3 4 6 7" {
		t.Errorf("kept %s", got)
	}
}

// TestOutputFolderIsNew: what a task put where a later one's folder will be goes, and
// a link or pipe in the place of a folder is neither followed nor waited for.
func TestOutputFolderIsNew(t *testing.T) {
	t.Parallel()
	o := newTestOutputs(t, OutputLimits{File: 1000, Tasks: 1, Bytes: 10_000, Every: time.Hour})
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte(strings.Repeat("x", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	put := []func(path string) error{
		func(path string) error { return os.Symlink(filepath.Dir(precious), path) },
		func(path string) error { return syscall.Mkfifo(path, 0o644) },
		func(path string) error { return os.WriteFile(path, nil, 0o644) },
		func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, "a"), 0o755), syscall.Mkfifo(filepath.Join(path, "stdout"), 0o644))
		},
	}
	if err := os.Mkdir(filepath.Join(o.sandbox, tasksFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, put := range put {
		before, during := o.file(strconv.Itoa(2*i), ""), o.file(strconv.Itoa(2*i+1), "")
		if err := put(before); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{before, during} {
			dir, err := o.folder(filepath.Base(path))
			if err != nil || dir != path {
				t.Fatal(dir, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("%d: %v, %v", i, entries, err)
			}
			end := o.add(filepath.Base(path))
			if path == during {
				if err := errors.Join(os.Remove(path), put(path)); err != nil {
					t.Fatal(err)
				}
			}
			end()
		}
	}
	if text, err := os.ReadFile(precious); err != nil || len(text) != 5000 {
		t.Errorf("behind the link: %d bytes, %v", len(text), err)
	}
	if found := o.contentsOf(filepath.Dir(precious)); found.bytes == 0 {
		t.Error("nothing is counted")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(precious), link); err != nil {
		t.Fatal(err)
	}
	if found := o.contentsOf(link); found.bytes != 0 || found.plain {
		t.Errorf("behind a link: %+v", found)
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":               "plain\ttext",
		"\x1b[1;31mred\x1b[0m \x1b=x": "red x",
		"a\x00b\x07c\r\nd":            "abc\nd",
		"bad\xff byte":                "bad\ufffd byte",
		strings.Repeat("ä", 20):       "…" + strings.Repeat("ä", 6),
		"\x1b":                        "",
	} {
		if got := readable(text, 13); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"15mins": 15 * time.Minute, "2secs": 2 * time.Second, "1.5days": 36 * time.Hour, "250ms": 250 * time.Millisecond,
		"3us": 3 * time.Microsecond, "1weeks": 7 * 24 * time.Hour, "0ns": 0,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "secs", "-1secs", "1 secs", "1e400secs", "5m"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAgentSandboxIsThePathOnItsHost: an executor in a container with a file system of its own sees its sandbox at another
// path than the agent, whose files API takes the agent's.
func TestAgentSandboxIsThePathOnItsHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ directory, want string }{{"/var/lib/mesos/runs/R", "/var/lib/mesos/runs/R"}, {"", "/mnt/mesos/sandbox"}} {
		config, err := FromEnvironment(func(name string) string {
			return map[string]string{
				"MESOS_AGENT_ENDPOINT": "h:1", "MESOS_FRAMEWORK_ID": "F", "MESOS_EXECUTOR_ID": "E",
				"MESOS_SANDBOX": "/mnt/mesos/sandbox", "MESOS_DIRECTORY": test.directory,
			}[name]
		})
		if err != nil || config.Sandbox != "/mnt/mesos/sandbox" || config.AgentSandbox != test.want {
			t.Errorf("MESOS_DIRECTORY=%q: %q and %q, %v", test.directory, config.Sandbox, config.AgentSandbox, err)
		}
	}
}
