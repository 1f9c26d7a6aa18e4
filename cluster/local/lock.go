package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// If a cluster is killed while it starts a process, that process holds the cluster's lock until it executes its
// program. The next cluster waits up to lockTimeout for that.
const (
	lockTimeout       = 10 * time.Second
	lockRetryInterval = 10 * time.Millisecond
)

// lockFolder locks the folder until unlockFolder or the end of this process, so that no second cluster uses it. It
// returns an error if another cluster that still runs has the lock.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockRetryInterval) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		pid, _ := os.ReadFile(path) // empty if the holder has not written its pid yet
		if time.Now().After(deadline) || !hasEnded(pid) {
			err = fmt.Errorf("another local cluster uses this folder: pid %s; end it, or use another folder",
				bytes.TrimSpace(pid))
			break
		}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// hasEnded reports whether the process whose pid is in the lock file's text has ended. It reports false if the text is
// no pid.
func hasEnded(text []byte) bool {
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// unlockFolder releases the lock. Closing the file alone would not: a process that is being started may have a copy of
// the descriptor, which keeps the lock.
func unlockFolder(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
