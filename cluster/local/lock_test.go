package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLockOutlivesItsClusterForAMoment: a process that a killed cluster was about to start has a copy of the lock's
// descriptor for a moment. The next cluster waits for the end of that moment, but not for a cluster that runs.
func TestLockOutlivesItsClusterForAMoment(t *testing.T) {
	t.Parallel()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		pid    int
		locked bool
	}{
		"its cluster has ended": {ended.Process.Pid, false},
		"its cluster runs":      {os.Getpid(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "lock")
			if err := os.WriteFile(path, fmt.Appendln(nil, tc.pid), 0o600); err != nil {
				t.Fatal(err)
			}
			held, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			if tc.locked {
				defer func() { _ = held.Close() }()
			} else {
				time.AfterFunc(3*lockRetryInterval, func() { _ = held.Close() })
			}
			f, err := lockFolder(dir)
			if tc.locked {
				if err == nil || !strings.Contains(err.Error(), fmt.Sprint("pid ", tc.pid)) {
					t.Errorf("%v, want the pid that holds it", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := unlockFolder(f); err != nil {
				t.Error(err)
			}
		})
	}
}
