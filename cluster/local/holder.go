package local

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFolder keeps a second cluster off the folder until unlockFolder or the end of
// the process.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		content, _ := os.ReadFile(path) // who holds it may be unknown
		err = fmt.Errorf("another local cluster runs on this folder: %s; end it, or use another folder", process(strings.TrimSpace(string(content))))
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

// unlockFolder lets the next cluster in. Closing alone would not do when a process that is just
// being started still has a copy of the descriptor.
func unlockFolder(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// process is "pid 17 (command line)".
func process(pid string) string {
	if pid == "" {
		return "a process that is not known"
	}
	line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	if err != nil {
		return "pid " + pid
	}
	return fmt.Sprintf("pid %s (%s)", pid, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
}

// holder says who listens on a port: its pid and command line, as far as this
// user may know.
func holder(port int) string {
	inodes := listening(port)
	if len(inodes) == 0 {
		return "an unknown process"
	}
	fds, err := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	if err != nil {
		return "an unknown process"
	}
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil {
			continue // ended, or another user's
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if ok && inodes[strings.TrimSuffix(inode, "]")] {
			return process(strings.Split(fd, "/")[2])
		}
	}
	return "a process of another user"
}

// listening are the inodes of the sockets that listen on a port, of any address.
func listening(port int) map[string]bool {
	const stateListen = "0A"
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != stateListen {
				continue
			}
			_, hex, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseUint(hex, 16, 16); err == nil && int(n) == port {
				inodes[fields[9]] = true
			}
		}
		_ = f.Close() // it was only read
	}
	return inodes
}
