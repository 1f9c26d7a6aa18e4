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
	return childrenIn("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
}

// children lists all children of this process.
func children() []int {
	files, _ := filepath.Glob("/proc/self/task/[0-9]*/children") // the pattern is a good one
	return childrenIn(files...)
}

// childrenIn reads the kernel's lists of threads' children.
func childrenIn(files ...string) (all []int) {
	known := false
	for _, file := range files {
		data, err := os.ReadFile(file) // the thread may be gone
		known = known || err == nil
		for field := range bytes.FieldsSeq(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, pid)
			}
		}
	}
	if !known {
		return childrenByParent()
	}
	return all
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
func processes() []int { return numbersIn("/proc") }

// numbersIn lists the entries of a folder of the kernel's that are numbers.
func numbersIn(folder string) (list []int) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if number, err := strconv.Atoi(entry.Name()); err == nil {
			list = append(list, number)
		}
	}
	return list
}

// statOf gives the fields of /proc/PID/stat that follow the process's name, which may hold anything: its state, its
// parent and so on. There are none of a process that is gone.
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
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), variable)
}

// closeOnExec keeps every descriptor that was inherited, the socket among them, from the tasks.
func closeOnExec() {
	for _, fd := range numbersIn("/proc/self/fd") {
		if fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
