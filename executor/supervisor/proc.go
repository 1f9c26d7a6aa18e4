package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peek gives the pid of a child that has ended, and leaves it to be reaped. With
// WNOHANG it gives 0 if all of them run.
func peek(options int) (int, error) {
	// The C structure's first words on 64-bit Linux; x/sys hides all but the first three.
	type childInfo struct {
		signo, errno, code, _ int32
		pid                   int32
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	if err != nil {
		return 0, err
	}
	return int((*childInfo)(unsafe.Pointer(&info)).pid), nil
}

// orphans lists the children of the process's first thread: what tasks left behind.
func orphans() []int {
	self := strconv.Itoa(os.Getpid())
	data, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if err != nil {
		return childrenByParent()
	}
	return pids(data)
}

// children lists all children of this process.
func children() []int {
	files, err := filepath.Glob("/proc/self/task/[0-9]*/children")
	if err != nil || len(files) == 0 {
		return childrenByParent()
	}
	var all []int
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil { // the thread may be gone
			all = append(all, pids(data)...)
		}
	}
	return all
}

func pids(data []byte) []int {
	var list []int
	for _, field := range bytes.Fields(data) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// childrenByParent is for kernels without the list of children: it reads all of /proc.
func childrenByParent() []int {
	self := strconv.Itoa(os.Getpid())
	return slices.DeleteFunc(processes(), func(pid int) bool {
		stat := statOf(pid)
		return len(stat) < 2 || stat[1] != self
	})
}

// processes lists the pids of the machine.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// statOf gives the fields of /proc/PID/stat that follow the process's name, which may hold anything: its state, its parent
// and so on. There are none of a process that is gone.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// hasVariable reports whether a process was started with the variable (NAME=value).
func hasVariable(pid int, variable string) bool {
	if variable == "" {
		return false
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}

// closeOnExec keeps every descriptor that was inherited, the socket among them, from the tasks.
func closeOnExec() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
