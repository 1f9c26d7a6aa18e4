package agent

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// If a pid belongs to another process by now, that process is neither watched nor killed.
func TestOtherProcessIsLeftAlone(t *testing.T) {
	t.Parallel()
	other := exec.Command("sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	s, err := readStat(other.Process.Pid)
	if err != nil || s.session != s.pid {
		t.Fatalf("stat is %+v, %v", s, err)
	}
	earlier := process{PID: s.pid, Start: s.start - 1}
	if _, err := watch(earlier); !errors.Is(err, errGone) {
		t.Errorf("watch: %v", err)
	}
	if err := killSession(t.Context(), earlier); err != nil {
		t.Errorf("kill: %v", err)
	}
	if !alive(s.pid) {
		t.Fatal("another one's process was killed")
	}
	if err := killSession(t.Context(), process{PID: s.pid, Start: s.start}); err != nil || alive(s.pid) {
		t.Errorf("its own session: %v, alive %t", err, alive(s.pid))
	}
}

// A program that another process still has open for writing, such as a process that is being forked, is started as
// soon as it is closed.
func TestBusyProgramIsWaitedFor(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "program")
	content, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o755); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	p := program{path: name, argv: []string{name}}
	if _, err := start(p, &os.ProcAttr{}, newMark(), nil); !errors.Is(err, syscall.ETXTBSY) ||
		time.Since(begun) < busyTimeout {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = writer.Close() })
	child, err := start(p, &os.ProcAttr{}, newMark(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := child.Wait(); err != nil || !state.Success() {
		t.Errorf("it ended with %v, %v", state, err)
	}
}
