package supervisor_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipes creates two pipes: the ends for a process, and the other ends.
func pipes(t testing.TB) (theirs []*os.File, in, out *os.File) {
	t.Helper()
	ends := make([]*os.File, 4)
	for i := 0; i < 4; i += 2 {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		for j, fd := range fds {
			ends[i+j] = os.NewFile(uintptr(fd), "pipe")
			t.Cleanup(func() { _ = ends[i+j].Close() })
		}
	}
	return []*os.File{ends[0], ends[3]}, ends[1], ends[2]
}

// If many processes are started at once, each gets its own descriptors and no others.
func TestFiles(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	var all sync.WaitGroup
	for i := range 40 {
		theirs, in, out := pipes(t)
		all.Go(func() {
			process, err := run(client, shell(dir, strconv.Itoa(i),
				`read line <&3; echo "$line $$" >&4; exec ls /proc/self/fd`), theirs...)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(in, strconv.Itoa(i)+"\n")
			line, err := bufio.NewReader(out).ReadString('\n')
			if want := strconv.Itoa(i) + " " + strconv.Itoa(process.PID) + "\n"; line != want {
				t.Errorf("%d: got %q, want %q (%v)", i, line, want, err)
			}
			<-process.Done()
			if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
				t.Errorf("%d: then %q, %v", i, rest, err)
			}
		})
	}
	all.Wait()
	for i := range 40 {
		if got := content(t, filepath.Join(dir,
			strconv.Itoa(i)+".out")); sorted(got) != "0\n1\n2\n3\n4\n5" { // 5 is ls's own
			t.Errorf("%d has descriptors %q", i, got)
		}
	}
}

// A failed start leaves no descriptor in the supervisor, and the next process gets its own.
func TestFilesOfStartThatFails(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	open := func() int {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(client.PID()) + "/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	wait(t, start(t, client, shell(dir, "first", "exit 0")))
	before := open()
	spec := shell(dir, "t", "exit 0")
	spec.Path = "/nonexistent"
	theirs, _, out := pipes(t)
	if _, err := run(client, spec, theirs...); err == nil {
		t.Error("it started")
	}
	_ = out.SetReadDeadline(time.Now().Add(10 * time.Second))
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("the pipe has %q, %v", rest, err)
	}
	theirs, _, out = pipes(t)
	process, err := run(client, shell(dir, "last", "echo mine >&4"), theirs...)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(out); string(text) != "mine\n" || err != nil {
		t.Errorf("the next process wrote %q, %v", text, err)
	}
	wait(t, process)
	if now := open(); now != before {
		t.Errorf("the supervisor has %d descriptors open, and had %d", now, before)
	}
}
