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

	"github.com/elasticjob-go/elasticjob/internal/cgroup"
)

// peek returns the pid of a child that has ended, without reaping it. With WNOHANG it returns 0 if no child has
// ended.
func peek(options int) (int, error) {
	// childInfo begins like the C structure siginfo_t on 64-bit Linux; x/sys exports only the first three fields.
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

// orphans lists the children of the process's first thread: the processes that tasks left behind (see Serve).
func orphans() []int {
	return childrenIn("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
}

// children lists all children of this process.
func children() []int {
	files, _ := filepath.Glob("/proc/self/task/[0-9]*/children") // the pattern is valid
	return childrenIn(files...)
}

// childrenIn reads these files, each of which lists the children of one thread. If it can read none of them, it finds
// all children of this process in another way.
func childrenIn(files ...string) (all []int) {
	readAny := false
	for _, file := range files {
		data, err := os.ReadFile(file) // fails if the thread has ended
		readAny = readAny || err == nil
		for field := range bytes.FieldsSeq(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, pid)
			}
		}
	}
	if !readAny {
		return childrenByParent()
	}
	return all
}

// childrenByParent finds the children of this process among all processes, for kernels without lists of children.
func childrenByParent() []int {
	self := strconv.Itoa(os.Getpid())
	return slices.DeleteFunc(processes(), func(pid int) bool {
		stat := statOf(pid)
		return len(stat) < 2 || stat[1] != self
	})
}

// processes lists the pids of all processes in /proc.
func processes() []int { return numbersIn("/proc") }

// numbersIn lists the entries of a kernel folder whose names are numbers.
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

// statOf returns the fields of /proc/PID/stat that follow the process's name: its state, its parent and so on. The
// name may contain any character. It returns nil if there is no such process.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// nameOf returns the name of a process, but not its arguments, which may be secret. It returns "" if the process has
// ended.
func nameOf(pid int) string {
	if stat := statOf(pid); len(stat) == 0 || stat[0] == "Z" || stat[0] == "X" {
		return ""
	}
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// oomCounter counts the processes of this process's control group that the kernel has ended because memory was short.
// The zero value always counts zero.
type oomCounter struct{ file *os.File }

// newOOMCounter opens the counter of the control group that this process is in now.
func newOOMCounter() (c oomCounter) {
	if name := cgroup.EventsFile(os.DirFS("/")); name != "" {
		c.file, _ = os.Open("/" + name) // nil if it can't be opened
	}
	return c
}

// count returns how many processes the kernel has ended so far; 0 if it can't tell.
func (c oomCounter) count() int64 {
	if c.file == nil {
		return 0
	}
	text := make([]byte, 1024)
	n, _ := c.file.ReadAt(text, 0)
	kills, _ := cgroup.OOMKills(text[:n])
	return kills
}

// hasVariable reports whether a process was started with the variable (NAME=value).
func hasVariable(pid int, variable string) bool {
	if variable == "" {
		return false
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), variable)
}

// closeOnExec keeps tasks from inheriting this process's descriptors, such as the socket.
func closeOnExec() {
	for _, fd := range numbersIn("/proc/self/fd") {
		if fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
